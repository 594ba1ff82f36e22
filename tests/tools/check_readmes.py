"""Runs the commands and programs that README.md and the READMEs of the bindings print, against a fresh installation of a
build. Blocks in a language whose tools are missing are skipped. A new block of commands must be added here."""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

PROMPT = '"Once upon a time"'
# Blocks of shell commands that are not run, by their first word or words, and why.
NOT_RUN = {
    "platforms/java/README.md": {"python3 platforms/java/make_aar.py": "the test java.aar does it"},
}

GUIDE = r"""
#include <sotto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
static void check(sotto_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s\n", error.status == status ? error.message : sotto_status_text(status));
  exit(1);
}
static void* block(size_t size) {
  return aligned_alloc(SOTTO_MEMORY_ALIGNMENT, (size + 63) / 64 * 64);
}
static int32_t print(void* stream, const sotto_piece* piece) {
  fwrite(piece->text, 1, piece->text_size, stream);
  return 0;
}
int main(int argc, char** argv) {
  size_t size, count, file_size;
  char* file = block(8 << 20);
  FILE* input = fopen(argv[argc - 1], "rb");
  if (input == NULL) return 1;
  file_size = fread(file, 1, 8 << 20, input);
  sotto_model* model;
  check(sotto_model_memory_size(file, file_size, NULL, &size, &error));
  check(sotto_model_init(file, file_size, NULL, block(size), size, &model, &error));
BODY
  puts("");
  return 0;
}
"""


class Readmes:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.prefix, self.tree = work / "prefix", work / "tree"
        self.run(f"{shlex.quote(args.cmake)} --install {shlex.quote(str(args.build))} --prefix prefix", work)
        libdir = self.prefix / args.libdir
        for name, folder in (("CPATH", self.prefix / "include"), ("LIBRARY_PATH", libdir), ("LD_LIBRARY_PATH", libdir),
                             ("PKG_CONFIG_PATH", libdir / "pkgconfig")):
            os.environ[name] = str(folder)
        os.environ["CMAKE_PREFIX_PATH"] = str(self.prefix)
        self.copy_tree()

    def copy_tree(self):
        """Creates a tree with writable directories of the bindings."""
        source = self.args.source / "platforms"
        (self.tree / "build").mkdir(parents=True)
        (self.tree / "build/release").symlink_to(self.args.build)
        for folder in ("cpp", "go", "java", "models", "python", "rust"):
            shutil.copytree(source / folder, self.tree / "platforms" / folder,
                            ignore=shutil.ignore_patterns("target", "__pycache__", "dist"))
        shutil.copy(self.args.source / "LICENSE", self.tree)
        shutil.copy(source / "models/demo.sotto", self.work / "demo.sotto")

    def blocks(self, readme, language):
        text = (self.args.source / readme).read_text(encoding="utf-8")
        found = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)
        return [block for block in found if not any(block.startswith(words) for words in NOT_RUN.get(readme, {}))]

    def run(self, commands, cwd, **environment):
        done = subprocess.run(["sh", "-euc", commands], cwd=cwd, capture_output=True, text=True,
                              env={**os.environ, **environment})
        if done.returncode != 0:
            raise SystemExit(f"{commands}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def expect_text(self, what, commands, cwd, **environment):
        text = self.run(commands, cwd, **environment)
        if len(text) < 20:
            raise SystemExit(f"{what}: {commands}\nprinted only {text!r}")
        print(f"{what}: {text.strip().splitlines()[-1][:60]}")

    def expect_too_long(self, program, cwd):
        done = subprocess.run([program, "demo.sotto", "word " * 600], cwd=cwd, capture_output=True, text=True)
        if done.returncode != 1 or "602 tokens do not fit a context of 512" not in done.stderr:
            raise SystemExit(f"{program} ended with {done.returncode} and {done.stderr!r} for a prompt that does not fit")

    def program(self, readme, language, name):
        """Writes the program of a README to a file."""
        [block] = self.blocks(readme, language)
        (self.work / name).write_text(block, encoding="utf-8")
        return block

    def main_page(self):
        [commands] = self.blocks("README.md", "sh")
        # run.sh builds the tree, and CHECKPOINT stands for a file of the reader's.
        lines = [line for line in commands.splitlines() if "run.sh" not in line and "CHECKPOINT" not in line]
        self.expect_text("README.md, commands", "\n".join(lines), self.tree)
        block = self.program("README.md", "c", "generate.c")
        command = re.match(r"/\* C11 or C\+\+: (.*) \*/\n", block)[1]
        self.expect_text("README.md, C", command, self.work)
        self.expect_too_long("./generate", self.work)
        for options in ("-std=c11", "-x c++ -std=c++17"):
            self.run(f"cc {options} -Wall -Wextra -pedantic -Werror -fsyntax-only generate.c", self.work)
        self.program("README.md", "python", "stream.py")
        self.expect_text("README.md, Python", "python3 stream.py", self.work,
                         PYTHONPATH=str(self.tree / "platforms/python"))

    def guide(self):
        """The blocks of C in the guide are one program, after helpers and a model."""
        body = "".join(self.blocks("capi/GUIDE.md", "c"))
        (self.work / "guide.c").write_text(GUIDE.replace("BODY", body), encoding="utf-8")
        self.expect_text("capi/GUIDE.md", "cc -std=c11 -Wall -Wextra -Werror guide.c -lsotto -o guide\n./guide demo.sotto",
                         self.work)

    def cpp(self):
        self.program("platforms/cpp/README.md", "cpp", "main.cpp")
        self.program("platforms/cpp/README.md", "cmake", "uses.cmake")
        (self.work / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(program LANGUAGES C CXX)\n"
                                                  "add_executable(program main.cpp)\ninclude(uses.cmake)\n")
        self.expect_text("platforms/cpp", f"cmake -S . -B cpp >&2; cmake --build cpp >&2; cpp/program demo.sotto {PROMPT}",
                         self.work)
        self.expect_too_long("cpp/program", self.work)

    def python(self):
        readme, folder = "platforms/python/README.md", self.tree / "platforms/python"
        [commands] = self.blocks(readme, "sh")
        self.expect_text(readme, commands, folder)
        [_, streaming] = self.blocks(readme, "python")
        body = "".join(f"    {line}\n" for line in streaming.splitlines())
        program = ("import asyncio, sotto\nsession = sotto.Model.open('demo.sotto').session()\nasync def main():\n"
                   f"{body}asyncio.run(main())\n")
        (self.work / "astream.py").write_text(program)
        self.run(f"python3 -m zipfile -e {folder}/dist/*.whl installed", self.work)
        self.expect_text(f"{readme}, asyncio", "python3 astream.py", self.work, PYTHONPATH="installed", LD_LIBRARY_PATH="")

    def rust(self):
        [commands] = self.blocks("platforms/rust/README.md", "sh")
        command, _, tests = commands.partition("\n")
        if tests.strip() != "cargo test":
            raise SystemExit(f"platforms/rust/README.md has other commands than this test knows:\n{commands}")
        self.expect_text("platforms/rust", command, self.tree / "platforms/rust", CARGO_NET_OFFLINE="true",
                         SOTTO_LIB_DIR=os.environ["LIBRARY_PATH"],
                         CARGO_TARGET_DIR=str(self.args.build / "platforms/rust/target"))

    def go(self):
        [commands] = self.blocks("platforms/go/README.md", "sh")
        [block, grammar] = self.blocks("platforms/go/README.md", "go")
        folder = self.work / "go"
        folder.mkdir()

        def expect_text(what, body, commands):
            (folder / "main.go").write_text('package main\n\nimport (\n"context"\n"fmt"\n"os"\n'
                                            'sotto "github.com/sotto-runtime/sotto/platforms/go"\n)\n\n'
                                            f"func main() {{\n{body}}}\n\n"
                                            "func check(err error) {\nif err != nil {\npanic(err)\n}\n}\n")
            self.expect_text(what, f"{commands}\ngo run . ../demo.sotto {PROMPT}", folder, SOTTO=str(self.tree),
                             GOPROXY="off")

        expect_text("platforms/go", block, f"go mod init program\n{commands}")
        schema = json.dumps({"properties": {"text": {"type": "string", "minLength": 20}}, "required": ["text"]})
        head, stream = block.split("for text", 1)
        exports = commands[commands.index("export"):]
        expect_text("platforms/go, grammar", f"{head}schema := `{schema}`\n{grammar}for text{stream}", exports)

    def java(self):
        [commands] = self.blocks("platforms/java/README.md", "sh")
        self.expect_text("platforms/java", commands, self.tree)


def version_of(command):
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--source", "--build"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--libdir", default="lib")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        readmes = Readmes(args, pathlib.Path(temporary))
        readmes.main_page()
        readmes.guide()
        readmes.cpp()
        readmes.python()
        for name, is_here in (("rust", version_of(["cargo", "--version"]) >= (1, 63)),
                              ("go", version_of(["go", "env", "GOVERSION"]) >= (1, 23)),
                              ("java", (args.build / "platforms/java/sotto.jar").exists())):
            if is_here:
                getattr(readmes, name)()
            else:
                print(f"platforms/{name}: skipped")


if __name__ == "__main__":
    main()
