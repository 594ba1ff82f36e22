"""Runs sotto.exe and sotto-convert.exe as a user of Windows would, under an emulator.

The commands of the programs' READMEs must print what these show, as on Linux. Names of files, prompts and output may
contain any character of Unicode. Bytes pass through pipes unchanged.
"""
import argparse
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

UNICODE = "Es war einmal … Ægir, 東京, 🙂"


class Programs:
    def __init__(self, directory, emulator, folder):
        self.directory, self.emulator, self.folder = directory, emulator, folder

    def run(self, program, *arguments, stdin=b"", exit_code=0):
        done = subprocess.run([*self.emulator, str(self.directory / f"{program}.exe"), *map(str, arguments)],
                              cwd=self.folder, input=stdin, capture_output=True)
        if done.returncode != exit_code:
            sys.exit(f"{program} {shlex.join(map(str, arguments))} ended with {done.returncode} instead of {exit_code}\n"
                     f"{done.stdout}\n{done.stderr.decode()}")
        return done.stderr if exit_code else done.stdout


def expect(actual, expected):
    if actual != expected:
        sys.exit(f"expected {expected!r}, got {actual!r}")


def check_text(programs, model):
    """Text in arguments, files and pipes is UTF-8, and its bytes stay as they are."""
    for text in (UNICODE.encode(), b"a\nb\r\n\x1ac"):  # in a text file of DOS, Ctrl-Z is the end
        ids = programs.run("sotto", "tokenize", "-m", model, stdin=text)
        expect(programs.run("sotto", "tokenize", "-m", model, "--decode", stdin=ids), text)
    expect(programs.run("sotto", "tokenize", "-m", model, UNICODE),
           programs.run("sotto", "tokenize", "-m", model, stdin=UNICODE.encode()))


def check_files(programs, source):
    """Paths may contain every character, and a new file replaces an old one."""
    model = programs.folder / "modèle 東京.sotto"
    shutil.copy(source / "platforms/models/demo.sotto", model)
    generate = ["generate", "-p", "Once upon a time", "--seed", "0", "-n", "8", "-q"]
    text = programs.run("sotto", *generate, "-m", "demo.sotto")
    expect(programs.run("sotto", *generate, "-m", model.name, "--threads", "2"), text)
    message = programs.run("sotto", *generate, "-m", "fehlt 東京.sotto", exit_code=1).decode()
    expect(message, "sotto: fehlt 東京.sotto: No such file or directory\n")
    state = programs.folder / "état.state"
    for _ in range(2):
        programs.run("sotto", *generate, "-m", "demo.sotto", "--save-state", state.name)
        if not state.is_file():
            sys.exit(f"{state} is missing")
        programs.run("sotto-convert", source / "tests/golden/data/head8_three_tokens", "-o", "neu 東京.sotto")
    programs.run("sotto", "inspect", "neu 東京.sotto")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the directory of the programs")
    parser.add_argument("emulator", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(args.source / "platforms/models/demo.sotto", folder)
        programs = Programs(args.programs, args.emulator, folder)
        check_text(programs, "demo.sotto")
        check_files(programs, args.source)
        wrapper = folder / "bin/sotto"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([*args.emulator, str(args.programs / "sotto.exe")])} "$@"\n')
        wrapper.chmod(0o755)
        subprocess.run([sys.executable, "-B", args.source / "tests/cli/check_readme.py", wrapper, args.source], check=True)


if __name__ == "__main__":
    main()
