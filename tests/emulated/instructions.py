"""Prints the number of instructions that an ARM build executes per token of a text and of a prompt, for each instruction
set. A plugin of qemu-user counts them.

    ninja -C build/rpi-aarch64 stream_tokens
    python3 tests/emulated/instructions.py build/rpi-aarch64/bin/stream_tokens platforms/models/demo.sotto

--other PROGRAM also counts those of another build, such as one with SOTTO_XNNPACK=OFF, and prints the ratios.

For 32-bit ARM, in build/rpi-armv7: --qemu qemu-arm --sysroot /usr/arm-linux-gnueabihf --isa reference.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Two runs, each as tokens of the prompt and of the text, whose difference are tokens of one kind.
RUNS = {"text": ((4, 8), (4, 40)), "prompt": ((128, 1), (256, 1))}
HERE = pathlib.Path(__file__).parent
ISAS = re.findall(r'"(neon\w*)"', (HERE / "../../kernels/generated/isa.h").read_text())


def count(command):
    """Returns the number of instructions that `command` executes, and its output."""
    done = subprocess.run(command, capture_output=True, check=True)
    return int(done.stderr.decode().split("instructions ")[1].split()[0]), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qemu", default="qemu-aarch64", help="of the package qemu-user; a static one loads no plugin")
    parser.add_argument("--sysroot", default="/usr/aarch64-linux-gnu")
    parser.add_argument("--isa", action="append", help=f"default: {', '.join(ISAS)}")
    parser.add_argument("--other", help="the program stream_tokens of another build")
    parser.add_argument("program")
    parser.add_argument("model")
    args = parser.parse_args()
    programs = [args.program, *([args.other] if args.other else [])]
    texts = {}
    with tempfile.TemporaryDirectory() as directory:
        plugin = pathlib.Path(directory) / "count_instructions.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, HERE / "count_instructions.c"], check=True)
        emulator = [args.qemu, "-plugin", str(plugin), "-L", args.sysroot]
        for isa in args.isa or ISAS:
            for kind, runs in RUNS.items():
                per_token = []
                for program in programs:
                    counts = []
                    for prompt, tokens in runs:
                        instructions, text = count([*emulator, program, args.model, isa, str(prompt), str(tokens)])
                        texts.setdefault((prompt, tokens), set()).add(text)
                        counts.append(instructions)
                    per_token.append((counts[1] - counts[0]) / (sum(runs[1]) - sum(runs[0])))
                line = f"{isa:13} {kind:7} {per_token[0] / 1e6:8.3f} million instructions per token"
                if args.other:
                    line += f", the other {per_token[1] / 1e6:8.3f}: {per_token[1] / per_token[0]:.3f} times as many"
                print(line, flush=True)
    if any(len(same) != 1 for same in texts.values()):
        print("the instruction sets stream different texts")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
