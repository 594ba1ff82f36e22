"""Checks the syntax of the library's sources with Clang for systems whose toolchains are not installed.

The C and C++ headers of this machine replace the missing system headers. This works because the sources use few of
them. The check cannot find names that only the other system lacks, nor errors of linking.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMON = ["kernels/*.cpp", "kernels/linear/*.cpp", "kernels/reference/*.cpp", "runtime/base/*.cpp",
          "runtime/generated/*.cpp", "runtime/session/session.cpp", "runtime/model/*.cpp", "capi/*.cpp"]
# Directories of kernels whose files and flags kernels/CMakeLists.txt lists per instruction set.
ARM64 = ("arm/", "xnnpack/")
X86 = ("x86/avx2/",)
# triple: directories of its own files, and whether the files that all targets share are checked for it as well. These
# do not depend on the processor or on running in a simulator.
TARGETS = {
    "arm64-apple-macos12": (ARM64, True),
    "arm64-apple-ios15": (ARM64, True),
    "arm64-apple-ios15-simulator": (ARM64, False),
    "aarch64-linux-android24": (ARM64, True),
    "x86_64-linux-android24": (X86, False),
    "aarch64-linux-musl": (ARM64, False),
}


def sources(root, own, with_common):
    """Returns pairs of path and flags. Every directory and every pattern must have a file."""
    pairs = []
    build = (root / "kernels/CMakeLists.txt").read_text()
    compiled = re.findall(r"sotto_compile_for\((\w+)\s(?:FLAGS\s([^)]*?)\s)?SOURCES\s([^)]*)\)", build)
    for directory in own:
        found = [(root / "kernels" / name, [f"-DSOTTO_ISA={isa}", *flags.split()])
                 for isa, flags, names in compiled for name in names.split() if name.startswith(directory)]
        if not found:
            raise SystemExit(f"kernels/CMakeLists.txt names no file in {directory}")
        pairs += found
    for pattern in ["kernels/dispatch/*.cpp", *(COMMON if with_common else [])]:
        paths = sorted(root.glob(pattern))
        if not paths:
            raise SystemExit(f"{pattern} finds no file")
        pairs += [(path, []) for path in paths]
    return pairs


def system_includes(compiler):
    """Returns where this machine's C++ compiler finds headers, except its own intrinsics."""
    done = subprocess.run([compiler, "-x", "c++", "-E", "-v", os.devnull], capture_output=True, text=True, check=True)
    lines = done.stderr.split("#include <...> search starts here:")[1].split("End of search list")[0].split()
    paths = [os.path.realpath(line) for line in lines]
    return [path for path in paths if "/lib/gcc" not in path]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", default="clang++")
    parser.add_argument("--compiler", default="c++", help="whose standard headers to use")
    parser.add_argument("--include", action="append", default=[], help="generated headers, FlatBuffers'")
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--target", action="append", help="default: all")
    parser.add_argument("root", type=pathlib.Path)
    args = parser.parse_args()
    stand_in = tempfile.TemporaryDirectory()
    # The headers of other systems that are used. Headers of this machine that test for x86 find none.
    texts = {"android/api-level.h": "", "TargetConditionals.h": "", "gnu/stubs-32.h": "",
             "sys/sysctl.h": "#include <stddef.h>\n"
                             "extern \"C\" int sysctlbyname(const char*, void*, size_t*, void*, size_t);\n",
             "bits/wordsize.h": "#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 0\n"}
    for name, text in texts.items():
        header = pathlib.Path(stand_in.name) / name
        header.parent.mkdir(exist_ok=True)
        header.write_text(text)
    # Names that the headers of glibc and libstdc++ need, and a name of Clang for Apple that glibc also uses.
    system = ["-D_GNU_SOURCE", "-U__nonnull", "-D__regparm__(count)=", "-isystem", stand_in.name]
    paths = system_includes(args.compiler)
    system += [option for path in paths for option in ("-isystem", path)]
    ours = [f"-I{args.root}", f"-I{args.root}/capi/include"]
    ours += [option for path in args.include if os.path.realpath(path) not in paths
             for option in ("-isystem", path)]
    defined = ["SOTTO_THREADS=1", "SOTTO_HAS_INT4=1", "SOTTO_HAS_GRAMMAR=1", "SOTTO_HAS_SEARCH=1",
               "SOTTO_HAS_SPECULATION=1", "SOTTO_HAS_ALL_SAMPLERS=1", "SOTTO_HAS_WATERMARK=1"]
    ours += [f"-D{name}" for name in args.define + defined]

    def check(job):
        target, path, flags = job
        arm64 = int(not target.startswith("x86_64"))
        flags = [*flags, f"-DSOTTO_ARM64={arm64}", f"-DSOTTO_X86_64={1 - arm64}", f"-DSOTTO_XNNPACK={arm64}",
                 "-DSOTTO_WASM32=0"]
        command = [args.clang, f"--target={target}", "-fsyntax-only", "-nostdlibinc", "-nostdinc++", "-std=c++20",
                   "-fno-exceptions", "-fno-rtti", "-w", *flags, *ours, *system, str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        return target, path, done.returncode, done.stderr

    jobs = [(target, path, flags) for target in args.target or TARGETS
            for path, flags in sources(args.root, *TARGETS[target])]
    failures, counts = 0, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for target, path, code, messages in pool.map(check, jobs):
            counts[target] = counts.get(target, 0) + 1
            if code != 0:
                failures += 1
                print(f"{target} {path}\n{messages[:2000]}")
    for target, count in counts.items():
        print(f"{target:30} {count} files")
    return 1 if failures or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
