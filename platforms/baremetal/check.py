"""Checks firmware: the functions of the C library that it uses, the sizes of its sections, and the tokens that it
streams under QEMU. The tokens must be those of all other machines."""
import argparse
import pathlib
import re
import subprocess
import sys

# Functions of the compiler's support library.
COMPILER_NAMES = re.compile(r"__aeabi_\w+$|__(ctz|popcount)[sd]i2$")
FORBIDDEN = re.compile(r"_?(malloc|calloc|realloc|free|sbrk|printf|vprintf|fopen|fwrite|setlocale|pthread_\w+|abort)(_r)?$"
                       r"|__cxa_\w+$|_Unwind_\w+$|_Zn[wa]\w+$")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needs(args):
    allowed = set(args.allowed.read_text().split())
    names = {line.split()[-1] for line in run(args.nm, "-u", args.library).splitlines() if line.startswith(" ")}
    yield from (f"the library needs {name}" for name in sorted(names - allowed) if not COMPILER_NAMES.match(name))
    linked = {line.split()[-1] for line in run(args.nm, args.firmware).splitlines()}
    yield from (f"the firmware contains {name}" for name in sorted(linked) if FORBIDDEN.match(name))


def sizes(args):
    """Returns the sizes in bytes of the sections that occupy memory."""
    found = re.findall(r"\] (\.\w+)\s+\w+\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", run(args.readelf, "-S", "-W", args.firmware))
    return {name: int(size, 16) for name, size in found if name in (".text", ".data", ".bss", ".model")}


def expected_tokens(golden):
    cases = dict(block.split("\n", 1) for block in golden.read_text().split("\ncase ")[1:])
    for name in ["greedy", "sampled"]:
        yield re.search(r"^tokens (.*)$", cases[name], flags=re.M).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["--nm", "--readelf", "--qemu", "--library"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--allowed", type=pathlib.Path, required=True)
    parser.add_argument("--golden", type=pathlib.Path, required=True)
    parser.add_argument("firmware")
    args = parser.parse_args()
    failures = list(needs(args))
    print(", ".join(f"{name} {size}" for name, size in sizes(args).items()), "bytes")
    if not pathlib.Path(args.qemu).exists():
        print("\n".join(failures) or "skipped: qemu-system-arm is not installed")
        return 1 if failures else 77
    done = subprocess.run([args.qemu, "-M", "mps2-an500", "-nographic", "-monitor", "none", "-serial", "none",
                           "-semihosting-config", "enable=on,target=native", "-kernel", args.firmware],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=500)
    text = (done.stdout + done.stderr).decode(errors="replace")
    print(text)
    if done.returncode != 0:
        failures.append(f"the firmware ended with {done.returncode}")
    if re.findall(r"^tokens (.*?)\r?$", text, flags=re.M) != list(expected_tokens(args.golden)):
        failures.append(f"the tokens differ from {args.golden.name}")
    print("\n".join(failures) or "the tokens equal the tokens of all other machines")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
