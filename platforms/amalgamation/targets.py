"""Compiles the amalgamation and the README's C example for many systems with Zig's compiler: `targets.py [TARGET...]`.

Where this machine can run the program, natively or by an emulator, the program must stream the README's text. Prints a
table in Markdown.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from check import MODEL, PROMPT, ROOT, check_text, cpu_seconds, run

# Zig's name of each target, the libraries that it needs, and what runs its programs: None if nothing does here.
MATH = ["-lm", "-lpthread"]
TARGETS = {
    "x86_64-linux-gnu.2.17": (MATH, []),
    "x86_64-linux-musl": (MATH, []),
    "x86-linux-musl": (MATH, []),
    "aarch64-linux-gnu.2.17": (MATH, ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "aarch64-linux-musl": (MATH, ["qemu-aarch64"]),
    "arm-linux-gnueabihf.2.17": (MATH, ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]),
    "arm-linux-musleabihf": (MATH, ["qemu-arm"]),
    "riscv64-linux-musl": (MATH, ["qemu-riscv64"]),
    "x86_64-windows-gnu": ([], ["wine"]),
    "aarch64-windows-gnu": ([], None),
    "x86_64-macos": ([], None),
    "aarch64-macos": ([], None),
    "wasm32-wasi": ([], [sys.executable, str(ROOT / "platforms/cmake/toolchains/run_wasi.py")]),  # wasmtime
}


def runner(emulator):
    """Returns the command before a program, or None if the emulator or its libraries are missing."""
    if emulator and (shutil.which(emulator[0]) is None or
                     any(word.startswith("/") and not pathlib.Path(word).exists() for word in emulator)):
        return None
    return emulator


def check(target, directory):
    """Returns the row of a target. The two files and generate.c are in `directory`."""
    libraries, emulator = TARGETS[target]
    zig = [sys.executable, "-m", "ziglang"]
    before = cpu_seconds()
    run(directory, *zig, "c++", "-target", target, "-std=c++20", "-O2", "-fno-exceptions", "-c", "sotto.cpp", "-o",
        "sotto.o")
    seconds = cpu_seconds() - before
    program = directory / "generate.exe"  # the ending of Windows, which disturbs no other system
    run(directory, *zig, "cc", "-target", target, "-O2", "-s", "-I.", "generate.c", "sotto.o", *libraries, "-o",
        program)
    size = program.stat().st_size
    emulator = runner(emulator)
    if emulator is None:
        outcome = "linked"
    else:
        check_text(run(directory, *emulator, program, MODEL, PROMPT))
        name = "wasmtime" if target.startswith("wasm") else next(iter(emulator), "")
        outcome = "the README's text" + (f", by {name}" if name else "")
    return f"| {target} | {seconds:.0f} | {size / 1e6:.2f} | {outcome} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="*", help="by default all")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/amalgamation")
    args = parser.parse_args()
    unknown = [target for target in args.target if target not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; the targets are {', '.join(TARGETS)}")
    run(ROOT, sys.executable, "-B", "platforms/amalgamation/amalgamate.py", "--build", args.output, "--output",
        args.output)
    os.environ.update(WINEDEBUG="-all", WINEPREFIX=str(ROOT / "build/tools/wine"))
    print("| Target | CPU s | Program, MB | Result |\n|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as empty:
        directory = pathlib.Path(empty)
        for path in (*args.output.glob("sotto.*"), ROOT / "capi/examples/generate.c"):
            shutil.copy(path, directory)
        for target in args.target or TARGETS:
            print(check(target, directory), flush=True)


if __name__ == "__main__":
    main()
