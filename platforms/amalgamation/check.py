"""Checks the amalgamation as a user would use it: with only a compiler, in an otherwise empty directory.

Two runs of amalgamate.py must write the same bytes. The README's example must stream the README's text. The hash of the
demo model's logits must equal that of the CMake build with every instruction set, and so must the golden figures of the
bindings (tests/golden). A second copy in the same program, with static functions, must not affect the first one.
"""
import argparse
import filecmp
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
MODEL = ROOT / "platforms/models/demo.sotto"
PROMPT = "Once upon a time"
UNAVAILABLE = 77  # exit status of model_hash for an instruction set that the CPU does not have

# One program with two copies: shared_copy.cpp uses the public one in sotto.o, private_copy.cpp contains a static one.
SHARED_COPY = """\
#define main generate_shared
#include "generate.c"
"""
PRIVATE_COPY = """\
#define SOTTO_API static
#define SOTTO_NAMESPACE private_copy
#include "sotto.cpp"
#define main generate_private
#include "generate.c"
#undef main
int generate_shared(int argc, char** argv);
int main(int argc, char** argv) { return generate_shared(argc, argv) | generate_private(argc, argv); }
"""


def run(directory, *command):
    done = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_text(text):
    """Ends the program unless `text`, the output of generate.c, begins as README.md shows it."""
    expected = re.search(rf"^{PROMPT}(.*) \.\.\.$", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    if not text.startswith(expected):
        raise SystemExit(f"the example streams {text!r} instead of {expected!r}")


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--flags", default="-O1", help="options of the compiler, separated by spaces")
    parser.add_argument("--syntax", action="store_true", help="check only that the file has no errors, such as names "
                        "that clash; takes seconds")
    parser.add_argument("--emulator", default="", help="a program that runs the compiled programs")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/amalgamation")
    args = parser.parse_args()
    cxx = [*args.cxx.split(), "-std=c++20", *args.flags.split()]
    emulator = args.emulator.split()
    args.output = args.output.resolve()

    for name in ("first", "second"):
        run(ROOT, sys.executable, "-B", "platforms/amalgamation/amalgamate.py", "--build", args.output, "--output",
            args.output / name)
    for name in ("sotto.h", "sotto.cpp"):
        if not filecmp.cmp(args.output / "first" / name, args.output / "second" / name, shallow=False):
            raise SystemExit(f"{name} differs between two runs")
    if args.syntax:
        run(args.output / "first", *cxx, "-fsyntax-only", "sotto.cpp")
        return
    with tempfile.TemporaryDirectory() as empty:
        directory = pathlib.Path(empty)
        for path in (*args.output.glob("first/sotto.*"), ROOT / "capi/examples/generate.c"):
            shutil.copy(path, directory)
        (directory / "shared_copy.cpp").write_text(SHARED_COPY)
        (directory / "private_copy.cpp").write_text(PRIVATE_COPY)
        # At once, because each takes a core for a long time.
        private = subprocess.Popen([*cxx, "-O0", "-I.", "-c", "private_copy.cpp"], cwd=directory)
        before = cpu_seconds()
        run(directory, *cxx, "-c", "sotto.cpp")
        print(f"compiled by {' '.join(cxx)} in {cpu_seconds() - before:.0f} CPU s")
        if private.wait() != 0:
            raise SystemExit("private_copy.cpp does not compile")

        run(directory, *cxx, "-I.", "-x", "c++", "generate.c", "-x", "none", "sotto.o", "-o", "generate")
        text = run(directory, *emulator, "./generate", MODEL, PROMPT)
        check_text(text)

        run(directory, *cxx, "-O0", "-I.", "shared_copy.cpp", "private_copy.o", "sotto.o", "-o", "two_copies")
        if run(directory, *emulator, "./two_copies", MODEL, PROMPT) != 2 * text:
            raise SystemExit("two copies in one program disturb each other")
        print("two copies in one program stream the same text")

        known = re.search(r"COMMAND model_hash \S+ (\w+)\)", (GOLDEN / "CMakeLists.txt").read_text())[1]
        run(directory, *cxx, f"-I{ROOT}", GOLDEN / "model_hash.cpp", "sotto.o", "-o", "model_hash")
        for name in re.findall(r"^  SOTTO_ISA_(\w+) =", (directory / "sotto.h").read_text(), re.MULTILINE):
            command = [*emulator, "./model_hash", MODEL, known, name.lower()]
            status = subprocess.run(command, cwd=directory, stdout=subprocess.DEVNULL).returncode
            if status not in (0, UNAVAILABLE):
                raise SystemExit(f"{' '.join(map(str, command))} ended with {status}")
            print(f"{name.lower()}: {'not available' if status else 'the same logits'}")
        run(directory, *cxx, f"-I{ROOT}", GOLDEN / "bindings_golden.cpp", "sotto.o", "-o", "bindings_golden")
        run(directory, *emulator, "./bindings_golden", MODEL, GOLDEN / "data/bindings.txt")
        print("the figures of the bindings are the same")


if __name__ == "__main__":
    main()
