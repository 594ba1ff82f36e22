"""Installs the build into a temporary directory, then builds and runs a C and a C++ program against it in every
supported way: with the static library by path, with pkg-config and with find_package, the last two shared and static.
The installed tree is moved first, which reveals absolute paths of the build in it."""
import argparse
import os
import pathlib
import re
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


def check_layout(prefix, libdir):
    """Returns the installed files. Distributions make packages of them."""
    expected = [libdir / name for name in ["libsotto.a", "libsotto.so", "libsotto.so.1", "libsotto_posix.a",
                                           "libsotto_signature.a", "pkgconfig/sotto.pc", "pkgconfig/sotto_posix.pc",
                                           "pkgconfig/sotto_signature.pc",
                                           "cmake/sotto/sotto-config.cmake", "cmake/sotto/sotto-config-version.cmake"]]
    expected += [prefix / "include" / name for name in ["sotto.h", "sotto_grammar.h", "sotto.hpp", "sotto/session.hpp"]]
    expected += [prefix / "share/doc/sotto" / name for name in ["LICENSE", "licenses/flatbuffers.txt"]]
    missing = [str(path.relative_to(prefix)) for path in expected if not path.exists()]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}")
    for name in ["libsotto.so", "libsotto.so.1"]:
        if not (libdir / name).is_symlink():
            raise SystemExit(f"{name} is not a symbolic link")
    program = prefix / "bin/sotto"
    if program.exists():  # a build with tools
        commands = re.findall(r"^  (\w+)  ", run(program, "--help").split("Commands:")[1], flags=re.M)
        page = (prefix / "share/man/man1/sotto.1").read_text()
        missing = [name for name in commands if f".B {name}\n" not in page]
        if missing or len(commands) < 5:
            raise SystemExit(f"sotto.1 does not mention {', '.join(missing)}")
        for program in sorted((prefix / "bin").iterdir()):
            check_documentation(prefix, program)


def check_documentation(prefix, program):
    """Every program has a manual page, and completions with every option of its help."""
    name = program.name
    if f".TH {name.upper().replace('-', chr(92) + '-')} 1 " not in (prefix / f"share/man/man1/{name}.1").read_text():
        raise SystemExit(f"{name}.1 is not the manual page of {name}")
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", run(program, "--help").split("\nOptions:")[1], flags=re.M)
    for path in ["bash-completion/completions/" + name, "zsh/site-functions/_" + name,
                 f"fish/vendor_completions.d/{name}.fish"]:
        script = (prefix / "share" / path).read_text()
        prefixes = "-l " if path.endswith("fish") else "--"
        missing = [option for option in options if prefixes + option[2:] not in script]
        if missing or not options:
            raise SystemExit(f"share/{path} lacks {', '.join(missing)}")


def main():
    parser = argparse.ArgumentParser()
    for name in ["--build", "--consumer"]:
        parser.add_argument(name, type=pathlib.Path, required=True)
    for name in ["--cmake", "--generator", "--compiler", "--cxx-compiler", "--libdir", "--threads"]:
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
        main_cpp = args.consumer / "main.cpp"
        check_layout(prefix, libdir)

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
            run(args.cxx_compiler, "-std=c++17", main_cpp, *flags, "-o", work / "pkg_config_cpp")
            expect_version(work / "pkg_config_cpp", shared)
            flags = shlex.split(run(args.pkg_config, "--cflags", "--libs", "sotto_posix", env=environment))
            run(args.compiler, main_c, "-DUSES_POSIX", *flags, "-o", work / "pkg_config_posix")
            expect_version(work / "pkg_config_posix", shared)
            # The verifier of signatures does not need the library.
            verifier = work / "verifier.c"
            verifier.write_text("#include <sotto_signature.h>\nint main(void) { return sotto_signature_size(1) != 184; }\n")
            flags = shlex.split(run(args.pkg_config, "--cflags", "--libs", "sotto_signature", env=environment))
            run(args.compiler, verifier, *flags, "-o", work / "pkg_config_signature")
            run(work / "pkg_config_signature")
            if "-lsotto" in flags:
                raise SystemExit("sotto_signature.pc links libsotto")
            static = shlex.split(run(args.pkg_config, "--static", "--cflags", "--libs", "sotto", env=environment))
            static = [str(libdir / "libsotto.a") if flag == "-lsotto" else flag for flag in static]
            run(args.compiler, main_c, *static, "-o", work / "pkg_config_static")
            expect_version(work / "pkg_config_static")

        run(args.cmake, "-G", args.generator, "-S", args.consumer, "-B", work / "consumer", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={args.compiler}", f"-DCMAKE_CXX_COMPILER={args.cxx_compiler}")
        run(args.cmake, "--build", work / "consumer")
        for language in ["c", "cpp"]:
            expect_version(work / "consumer" / f"uses_shared_{language}")
            expect_version(work / "consumer" / f"uses_static_{language}")

        build = str(args.build)
        for path in prefix.rglob("*"):
            if path.suffix in {".cmake", ".pc", ".h", ".hpp"} and build in path.read_text():
                raise SystemExit(f"{path.name} names the build directory")


if __name__ == "__main__":
    sys.exit(main())
