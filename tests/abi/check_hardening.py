"""Checks the hardening of the shared library and the programs: relocations are bound at start and then read-only
(RELRO, BIND_NOW), the stack is not executable, and addresses are not fixed. Programs also need stack protectors and
fortified library functions."""
import argparse
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def undefined_names(readelf, path):
    """Returns the names that a file imports, without versions."""
    rows = (line.split() for line in run(readelf, "--dyn-syms", "-W", path).splitlines())
    return {row[7].split("@")[0] for row in rows if len(row) > 7 and row[6] == "UND"}


def linking_faults(readelf, path):
    dynamic, segments = run(readelf, "-d", "-W", path), run(readelf, "-l", "-h", "-W", path)
    if not re.search(r"BIND_NOW|\bNOW\b", dynamic):
        yield "functions are bound lazily, not at start (-z now)"
    if "GNU_RELRO" not in segments:
        yield "relocations stay writable (-z relro)"
    if not re.search(r"GNU_STACK .* RW +0x", segments):
        yield "the stack is executable (-z noexecstack)"
    if not re.search(r"Type:\s+DYN", segments):
        yield "it has a fixed address (PIE)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readelf", required=True)
    parser.add_argument("--fortified", action="store_true", help="the build is optimized and its C library has checks")
    parser.add_argument("--shared", required=True)
    parser.add_argument("--programs", nargs="*", default=[])
    args = parser.parse_args()
    faults = [f"{path}: {fault}" for path in [args.shared, *args.programs] for fault in linking_faults(args.readelf, path)]
    for path in args.programs:
        names = undefined_names(args.readelf, path)
        if "__stack_chk_fail" not in names:
            faults.append(f"{path}: no function has a stack protector")
        if args.fortified and not any(name.endswith("_chk") for name in names):
            faults.append(f"{path}: no library function is fortified")
    print("\n".join(faults) or "all files are hardened")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
