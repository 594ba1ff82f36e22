"""Builds the library as a part of another project, once per build type, and runs a program that uses it.

At every level of optimization, the objects must not need symbols of the C++ library (check_symbols.py in tests/abi),
and every build must generate the same text. Release is omitted, because all other tests use it.
"""
import argparse
import os
import pathlib
import subprocess
import sys

# Pairs of CMAKE_BUILD_TYPE and the way of the project to include Sotto.
BUILDS = [("Debug", "FetchContent"), ("MinSizeRel", "add_subdirectory"), ("", "FetchContent")]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(args, build_type, way):
    directory = args.output / (build_type.lower() or "no-type")
    run("cmake", "-G", "Ninja", "-S", args.root / "tests/consumer", "-B", directory, f"-DCMAKE_BUILD_TYPE={build_type}",
        f"-DUSE_FETCH_CONTENT={way == 'FetchContent'}", f"-DSOTTO_SOURCE_DIR={args.root}",
        f"-DSOTTO_DEPS_DIR={args.deps}", *os.environ.get("SOTTO_CMAKE_OPTIONS", "").split())
    run("cmake", "--build", directory, "--parallel", os.cpu_count())
    abi = args.root / "tests/abi"
    lib = directory / "lib"
    run(sys.executable, "-B", abi / "check_symbols.py", "--nm", "nm", "--readelf", "readelf", "--local-names", "1",
        "--symbols", args.root / "capi/symbols.txt", "--allowed", abi / "undefined_symbols.txt",
        "--shared", lib / "libsotto.so", "--static", lib / "libsotto.a",
        "--own", lib / "libsotto_capi.a", lib / "libsotto_runtime.a", lib / "libsotto_kernels.a")
    model = args.root / "platforms/models/demo.sotto"
    return [run(directory / program, model, "Once upon a time") for program in ["uses_shared", "uses_static"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory of the builds")
    parser.add_argument("--deps", type=pathlib.Path, required=True, help="SOTTO_DEPS_DIR, shared with other builds")
    args = parser.parse_args()
    args.root, args.output, args.deps = (path.resolve() for path in (args.root, args.output, args.deps))
    texts = set()
    for build_type, way in BUILDS:
        texts.update(build(args, build_type, way))
        print(f"{build_type or 'no build type'} by {way}: built and run", flush=True)
    if len(texts) != 1:
        raise SystemExit(f"the builds generate {len(texts)} different texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
