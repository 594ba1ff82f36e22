"""Installs the build into a temporary directory, then builds and runs a C program against it in every way:
the archive by hand, pkg-config, find_package, the last two shared and static. The tree is moved first, so
that a path of the build in it would be noticed."""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect_version(program, environment=None):
    output = run(program, env=environment)
    if not output.startswith("sotto 1."):
        raise SystemExit(f"{program} printed {output!r}")
    print(f"{program.name}: {output.strip()}")


def main():
    parser = argparse.ArgumentParser()
    for name in ["--build", "--consumer"]:
        parser.add_argument(name, type=pathlib.Path, required=True)
    for name in ["--cmake", "--generator", "--compiler", "--libdir", "--threads"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--pkg-config", default="")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        run(args.cmake, "--install", args.build, "--prefix", work / "installed")
        prefix = (work / "installed").rename(work / "moved here")
        libdir = prefix / args.libdir
        shared = {**os.environ, "LD_LIBRARY_PATH": str(libdir)}
        main_c = args.consumer / "main.c"

        # The archive needs no C++ library.
        by_hand = work / "by_hand"
        libraries = ["-lm", "-lpthread"] if args.threads.upper() == "ON" else ["-lm"]
        run(args.compiler, main_c, "-I", prefix / "include", libdir / "libsotto.a", *libraries, "-o", by_hand)
        expect_version(by_hand)

        if args.pkg_config and not args.pkg_config.endswith("NOTFOUND"):
            environment = {**os.environ, "PKG_CONFIG_PATH": str(libdir / "pkgconfig")}
            flags = shlex.split(run(args.pkg_config, "--cflags", "--libs", "sotto", env=environment))
            run(args.compiler, main_c, *flags, "-o", work / "pkg_config_shared")
            expect_version(work / "pkg_config_shared", shared)
            static = shlex.split(run(args.pkg_config, "--static", "--cflags", "--libs", "sotto", env=environment))
            static = [str(libdir / "libsotto.a") if flag == "-lsotto" else flag for flag in static]
            run(args.compiler, main_c, *static, "-o", work / "pkg_config_static")
            expect_version(work / "pkg_config_static")

        run(args.cmake, "-G", args.generator, "-S", args.consumer, "-B", work / "consumer", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={args.compiler}")
        run(args.cmake, "--build", work / "consumer")
        expect_version(work / "consumer" / "uses_shared")
        expect_version(work / "consumer" / "uses_static")

        build = str(args.build)
        for path in prefix.rglob("*"):
            if path.suffix in {".cmake", ".pc", ".h"} and build in path.read_text():
                raise SystemExit(f"{path.name} names the build directory")


if __name__ == "__main__":
    sys.exit(main())
