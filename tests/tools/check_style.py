"""Checks formatting, runs the static analysis and builds the API reference:

    check_style.py ROOT [--format PROGRAM] [--tidy PROGRAM --build DIRECTORY] [--doxygen PROGRAM --output DIRECTORY]

A check runs if its option is given. --format: clang-format 14 must not change any file. --tidy: clang-tidy 14 must have
no findings in the files of DIRECTORY/compile_commands.json that belong to the product. --doxygen: every public
declaration must be documented. Exit status 1 if a check fails.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

PRODUCT = ("runtime/", "kernels/", "capi/", "converters/", "platforms/")
SUFFIXES = (".c", ".h", ".cpp", ".hpp")
# Tables are formatted by their generators; released headers stay as they were released.
NOT_FORMATTED = re.compile(r"_tables\.cpp$|/generated/|^tests/abi/released/|truncation_goldens\.h$")


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


def tracked(root):
    listed = run(["git", "-C", root, "ls-files", "-z"]).stdout.split("\0")
    return [path for path in listed if path.endswith(SUFFIXES)]


def check_format(root, program):
    version = run([program, "--version"]).stdout
    if " 14." not in version:
        return [f"{program}: clang-format 14 is required, this is {version.strip()}"]
    paths = [path for path in tracked(root) if not NOT_FORMATTED.search(path)]
    done = run([program, "--dry-run", "--Werror", *paths], cwd=root)
    return sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, flags=re.M)))


def tidy_one(program, build, path):
    done = run([program, "--quiet", "-p", build, path])
    return [line for line in done.stdout.splitlines() if re.search(r": (warning|error): ", line)]


def check_tidy(root, program, build):
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = sorted({entry["file"] for entry in commands
                    if os.path.relpath(entry["file"], root).startswith(PRODUCT) and entry["file"].endswith((".c", ".cpp"))})
    findings = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, found in enumerate(pool.map(lambda path: tidy_one(program, build, path), paths), 1):
            findings += found
            print(f"\rclang-tidy: {number} of {len(paths)} files", end="", file=sys.stderr)
    print(file=sys.stderr)
    return sorted(set(findings))


def check_reference(root, program, output):
    output.mkdir(parents=True, exist_ok=True)
    done = run([program, root / "capi/Doxyfile"], cwd=root, env={**os.environ, "SOTTO_REFERENCE": str(output)})
    findings = [line for line in done.stderr.splitlines() if line.strip()]
    return findings if findings or done.returncode == 0 else [f"doxygen ended with {done.returncode}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--format")
    parser.add_argument("--tidy")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--doxygen")
    parser.add_argument("--output", type=pathlib.Path)
    args = parser.parse_args()
    root = args.root.resolve()

    findings = {}
    if args.format:
        findings["clang-format"] = check_format(root, args.format)
    if args.tidy:
        findings["clang-tidy"] = check_tidy(root, args.tidy, args.build.resolve())
    if args.doxygen:
        findings["doxygen"] = check_reference(root, args.doxygen, args.output.resolve())
    for name, lines in findings.items():
        for line in lines:
            print(f"{name}: {line}")
        print(f"{name}: {len(lines)} findings")
    return 1 if any(findings.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
