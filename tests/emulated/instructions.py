"""Prints the number of instructions that an ARM build executes per token, for each instruction set. A plugin of
qemu-user counts them.

    ninja -C build/rpi-aarch64 stream_tokens
    python3 tests/emulated/instructions.py build/rpi-aarch64/bin/stream_tokens platforms/models/demo.sotto

For 32-bit ARM, in build/rpi-armv7: --qemu qemu-arm --sysroot /usr/arm-linux-gnueabihf --isa reference.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

FEW, MANY = 8, 40
HERE = pathlib.Path(__file__).parent


def count(command):
    """Returns the number of instructions that `command` executes, and its output."""
    done = subprocess.run(command, capture_output=True, check=True)
    return int(done.stderr.decode().split("instructions ")[1].split()[0]), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qemu", default="qemu-aarch64", help="of the package qemu-user; a static one loads no plugin")
    parser.add_argument("--sysroot", default="/usr/aarch64-linux-gnu")
    parser.add_argument("--isa", action="append", help="default: neon, neon_dotprod and neon_i8mm")
    parser.add_argument("--at-least", type=float, help="fail unless the dot product divides the count by so much")
    parser.add_argument("program")
    parser.add_argument("model")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        plugin = pathlib.Path(directory) / "count_instructions.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, HERE / "count_instructions.c"], check=True)
        emulator = [args.qemu, "-plugin", str(plugin), "-L", args.sysroot]
        per_token, texts = {}, set()
        for isa in args.isa or ["neon", "neon_dotprod", "neon_i8mm"]:
            few, _ = count([*emulator, args.program, args.model, isa, str(FEW)])
            many, text = count([*emulator, args.program, args.model, isa, str(MANY)])
            per_token[isa] = (many - few) / (MANY - FEW)
            texts.add(text)
            print(f"{isa:13} {per_token[isa] / 1e6:8.3f} million instructions a token")
    if len(texts) != 1:
        print("the instruction sets stream different texts")
        return 1
    if args.at_least and per_token["neon"] < args.at_least * per_token["neon_dotprod"]:
        print(f"the dot product divides the count by less than {args.at_least}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
