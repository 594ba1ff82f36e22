"""Makes the packages of all channels from the last commit: `release.py OUTPUT`. README.md in this directory lists them.

Each package contains the library as the two files that platforms/amalgamation writes, or a library compiled from them.
The same commit gives the same bytes, because times are those of the commit and archives are sorted.
"""
import argparse
import concurrent.futures
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import sbom

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = "github.com/sotto-runtime/sotto/platforms/go"
GROUP, JVM_ARTIFACT = "io/github/sotto", "sotto-jvm"
# Zig's names of the targets, with the oldest glibc and macOS. Its compiler has the headers and libraries for all.
TARGETS = {"linux-x86_64": "x86_64-linux-gnu.2.17", "linux-aarch64": "aarch64-linux-gnu.2.17",
           "linux-armv7": "arm-linux-gnueabihf.2.17", "windows-x86_64": "x86_64-windows-gnu",
           "windows-arm64": "aarch64-windows-gnu", "macos-x86_64": "x86_64-macos.12.0",
           "macos-arm64": "aarch64-macos.12.0"}
LANGUAGE_TARGETS = ("linux-x86_64", "linux-aarch64", "windows-x86_64")  # of the wheels and the jar
SHARED_LIBRARIES = {"linux": "libsotto.so", "macos": "libsotto.dylib", "windows": "sotto.dll"}


def run(command, cwd=None, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files_in(directory):
    return {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*")) if path.is_file()}


def write_tar(path, top, files, seconds):
    """Writes {name: (contents, mode)} as a compressed archive. Contents that are a string are a symbolic link's."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, (contents, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.mtime, entry.mode = seconds, mode
            if isinstance(contents, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, contents
                archive.addfile(entry)
            else:
                entry.size = len(contents)
                archive.addfile(entry, io.BytesIO(contents))
    path.write_bytes(gzip.compress(data.getvalue(), mtime=0))


def write_zip(path, files, seconds):
    """Writes [(name, contents)] in this order."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, contents in files:
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, contents)


class Release:
    def __init__(self, output, work, zig):
        self.output, self.work, self.zig = output, work, zig
        self.tree, self.sources = work / "tree", work / "amalgamation"
        self.seconds = int(run(["git", "log", "-1", "--format=%ct"], ROOT))
        self.tree.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", self.tree], input=archive.stdout, check=True)
        self.version = (self.tree / "capi/VERSION").read_text().strip()
        self.licence = self.tree / "LICENSE"
        run([sys.executable, "-B", self.tree / "platforms/amalgamation/amalgamate.py", "--build", work / "headers",
             "--output", self.sources])

    def channel(self, name):
        directory = self.output / name
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def compilers(self, target):
        """Returns the commands of the C and the C++ compiler."""
        if self.zig:
            return [[self.zig, "-m", "ziglang", name, "-target", TARGETS[target]] for name in ("cc", "c++")]
        return [os.environ.get("CC", "cc").split(), os.environ.get("CXX", "c++").split()]

    def targets(self):
        return TARGETS if self.zig else ["linux-" + os.uname().machine]

    def filled(self, path, **more):
        """Returns the contents of a template, whose places for values are @NAME@."""
        described = re.search(r'DESCRIPTION "(.*)"', (self.tree / "CMakeLists.txt").read_text())[1]
        text = path.read_text()
        for name, value in {"VERSION": self.version, "DESCRIPTION": described, "PROJECT_VERSION": self.version,
                            "PROJECT_DESCRIPTION": described, **more}.items():
            text = text.replace(f"@{name}@", value)
        return text.encode()

    def source_package(self):
        """Writes the two files with manifests for CMake, Conan, SwiftPM, ESP-IDF, Zephyr, Arduino and PlatformIO, which
        is also the tree of a repository for SwiftPM, and the port of vcpkg that downloads it."""
        manifests = self.tree / "platforms/packages/source"
        swift = self.tree / "platforms/swift/Sources/Sotto"
        files = {name: self.filled(path) for name, path in files_in(manifests).items() if not name.startswith("vcpkg/")}
        files.update({f"src/{name}": path.read_bytes() for name, path in files_in(self.sources).items()})
        files.update({f"Sources/Sotto/{name}": path.read_bytes() for name, path in files_in(swift).items()})
        files["LICENSE"] = self.licence.read_bytes()
        files["sbom.spdx.json"] = self.bill_of_materials().encode()
        files["test_package/generate.c"] = (self.tree / "capi/examples/generate.c").read_bytes()
        files["test_package/demo.sotto"] = (self.tree / "platforms/models/demo.sotto").read_bytes()
        top = f"sotto-{self.version}"
        archive = self.channel("source") / f"{top}.tar.gz"
        write_tar(archive, top, {name: (contents, 0o644) for name, contents in files.items()}, self.seconds)
        port = self.channel("vcpkg") / "ports/sotto"
        port.mkdir(parents=True)
        for name, path in files_in(manifests / "vcpkg").items():
            (port / name).write_bytes(self.filled(path, SHA512=hashlib.sha512(archive.read_bytes()).hexdigest()))

    def bill_of_materials(self):
        """Returns the SBOM of the amalgamation."""
        return sbom.document(f"sotto-{self.version}", self.version, self.seconds,
                             (self.tree / "platforms/dependencies.txt").read_text(),
                             self.work / "headers/x86_64/host-headers")

    def source_archive(self):
        files = {name: (path.read_bytes(), 0o644) for name, path in files_in(self.sources).items()}
        files["LICENSE"] = (self.licence.read_bytes(), 0o644)
        files["sbom.spdx.json"] = (self.bill_of_materials().encode(), 0o644)
        files["generate.c"] = ((self.tree / "capi/examples/generate.c").read_bytes(), 0o644)
        top = f"sotto-{self.version}-amalgamation"
        write_tar(self.channel("archives") / f"{top}.tar.gz", top, files, self.seconds)

    def rust(self):
        workspace = self.tree / "platforms/rust"
        shutil.copytree(self.sources, workspace / "sotto-sys/amalgamation")
        for crate in ("sotto-sys", "sotto"):
            shutil.copy(self.licence, workspace / crate)
        run(["cargo", "package", "--workspace", "--no-verify", "--offline", "--allow-dirty", "--target-dir",
             self.work / "cargo"], workspace)
        for crate in ("sotto-sys", "sotto"):
            name = f"{crate}-{self.version}.crate"
            shutil.copy(self.work / "cargo/package" / name, self.channel("crates"))

    def go(self):
        """Writes the module in the layout of a module proxy."""
        version = f"v{self.version}"
        directory = self.channel("go") / MODULE / "@v"
        directory.mkdir(parents=True, exist_ok=True)
        source = self.tree / "platforms/go"
        files = {name: path.read_bytes() for name, path in files_in(source).items()
                 if name not in ("CMakeLists.txt", "go.sh")}
        files["LICENSE"] = self.licence.read_bytes()
        files["sotto.h"] = (self.sources / "sotto.h").read_bytes()
        files["sotto.cpp"] = b"//go:build !sotto_system\n\n" + (self.sources / "sotto.cpp").read_bytes()
        write_zip(directory / f"{version}.zip",
                  [(f"{MODULE}@{version}/{name}", data) for name, data in sorted(files.items())], self.seconds)
        shutil.copyfile(source / "go.mod", directory / f"{version}.mod")
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.seconds))
        (directory / f"{version}.info").write_text(json.dumps({"Version": version, "Time": moment}) + "\n")
        (directory / "list").write_text(version + "\n")

    def library(self, target):
        """Compiles the two files for a target. Returns the object and the shared library. For Windows, the import library
        is in the same directory."""
        directory = self.work / "native" / target
        directory.mkdir(parents=True)
        cc, cxx = self.compilers(target)
        system = target.partition("-")[0]
        library, shared = directory / "sotto.o", directory / SHARED_LIBRARIES[system]
        flags = ["-std=c++20", "-O2", "-g0", "-fno-exceptions", *([] if system == "windows" else ["-fPIC"])]
        run([*cxx, *flags, "-c", "sotto.cpp", "-o", library], self.sources)
        names = (self.tree / "capi/symbols.txt").read_text().split()
        major = self.version.partition(".")[0]
        exports = directory / "sotto.def"
        if system == "windows":
            exports.write_text("\n".join(["EXPORTS", *names]) + "\n")
            options = [exports, f"-Wl,--out-implib,{directory / 'libsotto.dll.a'}"]
        elif system == "macos":
            options = [f"-Wl,-install_name,@rpath/libsotto.{major}.dylib"]
        else:
            exports.write_text(f"SOTTO_{major} {{ global: {'; '.join(names)}; local: *; }};\n")
            options = [f"-Wl,--version-script,{exports}", f"-Wl,-soname,libsotto.so.{major}", "-lm", "-lpthread"]
        run([*cc, "-shared", "-s", library, *options, "-o", shared])
        return library, shared

    def archive(self, target, library, shared):
        """Writes a library for a target with its headers and the files for CMake and pkg-config."""
        system = target.partition("-")[0]
        static = shared.parent / "libsotto.a"
        archiver = [self.zig, "-m", "ziglang", "ar"] if self.zig else ["ar"]
        run([*archiver, "rcsD", static, library])
        files = {f"include/{name}": path.read_bytes() for directory in ("capi/include", "platforms/cpp/include")
                 for name, path in files_in(self.tree / directory).items()}
        files["lib/libsotto.a"] = static.read_bytes()
        if system == "windows":
            place = "bin/sotto.dll"
            files["lib/libsotto.dll.a"] = (shared.parent / "libsotto.dll.a").read_bytes()
        else:
            major = self.version.partition(".")[0]
            stem, _, suffix = shared.name.partition(".")
            numbered = [f"{stem}.{number}.{suffix}" if system == "macos" else f"{shared.name}.{number}"
                        for number in (self.version, major)]
            place = f"lib/{numbered[0]}"
            files[f"lib/{numbered[1]}"], files[f"lib/{shared.name}"] = numbered
        files[place] = shared.read_bytes()
        libraries = "-lm -pthread" if system == "linux" else ""
        for name, path in files_in(self.tree / "platforms/packages/archive").items():
            files[f"lib/cmake/sotto/{name}"] = self.filled(path, SHARED=place, LIBRARIES=libraries.replace(" ", ";"))
        files["lib/pkgconfig/sotto.pc"] = self.filled(
            self.tree / "platforms/cmake/sotto.pc.in", pkg_config_to_prefix="../..", CMAKE_INSTALL_LIBDIR="lib",
            CMAKE_INSTALL_INCLUDEDIR="include", pkg_config_private_libs=libraries)
        files["LICENSE"] = self.licence.read_bytes()
        files["sbom.spdx.json"] = self.bill_of_materials().encode()
        top = f"sotto-{self.version}-{target}"
        if system == "windows":
            write_zip(self.channel("archives") / f"{top}.zip",
                      [(f"{top}/{name}", contents) for name, contents in sorted(files.items())], self.seconds)
        else:
            write_tar(self.channel("archives") / f"{top}.tar.gz", top,
                      {name: (contents, 0o644) for name, contents in files.items()}, self.seconds)

    def python(self, libraries):
        package = self.tree / "platforms/python"
        output = self.channel("python")
        shutil.copytree(self.sources, package / "amalgamation")
        shutil.copy(self.licence, package)
        code = "import sys; sys.path.insert(0, 'build_backend'); import sotto_build; sotto_build.build_{}(sys.argv[1])"
        run([sys.executable, "-B", "-c", code.format("sdist"), output], package)
        for _, library in libraries.values():
            run([sys.executable, "-B", "-c", code.format("wheel"), output], package, SOTTO_LIBRARY=str(library))

    def java(self, libraries):
        """Writes the classes and the JNI libraries as one artifact of a Maven repository."""
        source = self.tree / "platforms/java"
        classes = self.work / "classes"
        java_files = [*files_in(source / "src/main/java").values(), *files_in(source / "generated/java").values()]
        run(["javac", "--release", "11", "-encoding", "UTF-8", "-d", classes, *java_files])
        files = {name: path.read_bytes() for name, path in files_in(classes).items()}
        for target, (library, _) in libraries.items():
            native = self.jni_library(target, library)
            files[f"{GROUP}/native/{target}/{native.name}"] = native.read_bytes()
        files["META-INF/LICENSE"] = self.licence.read_bytes()
        artifact = f"{JVM_ARTIFACT}-{self.version}"
        output = self.channel("maven") / GROUP / JVM_ARTIFACT / self.version
        output.mkdir(parents=True, exist_ok=True)
        write_zip(output / f"{artifact}.jar", [("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"),
                                               *sorted(files.items())], self.seconds)
        sources = {path.relative_to(source / top).as_posix(): path.read_bytes()
                   for top in ("src/main/java", "generated/java") for path in files_in(source / top).values()}
        write_zip(output / f"{artifact}-sources.jar", sorted(sources.items()), self.seconds)
        sys.path.insert(0, str(source))
        import make_aar
        (output / f"{artifact}.pom").write_text(make_aar.POM.format(artifact=JVM_ARTIFACT, version=self.version,
                                                                    packaging="jar"))
        for path in list(output.iterdir()):
            path.with_name(path.name + ".sha1").write_text(hashlib.sha1(path.read_bytes()).hexdigest())

    def jni_library(self, target, library):
        java = self.tree / "platforms/java"
        posix = self.tree / "platforms/posix"
        home = pathlib.Path(shutil.which("javac")).resolve().parents[1]
        directory = library.parent / "jni"
        directory.mkdir()
        cc, cxx = self.compilers(target)
        includes = [f"-I{path}" for path in (self.tree, self.sources, posix, home / "include", home / "include/linux")]
        sources = [*sorted(java.glob("jni/*.cpp")), *sorted(java.glob("jni/generated/*.cpp"))]
        windows = target.startswith("windows")
        # jni_md.h of Linux suits Windows, too, but for the exported names.
        flags = ["-O2", "-fvisibility=hidden", *(["-DJNIEXPORT=__declspec(dllexport)"] if windows else ["-fPIC"]), *includes]
        for source in sources:
            run([*cxx, "-std=c++20", *flags, "-fno-exceptions", "-fno-rtti", "-c", source, "-o", f"{source.stem}.o"], directory)
        run([*cc, *flags, "-c", posix / "sotto_posix.c", "-o", "sotto_posix.o"], directory)
        output = directory / ("sotto_jni.dll" if windows else "libsotto_jni.so")
        run([*cc, "-shared", "-s", *sorted(directory.glob("*.o")), library, "-o", output,
             *([] if windows else ["-lm", "-lpthread"])])
        return output

    def javascript(self):
        """Compiles the modules with CMake, because the two files have no kernels for WebAssembly."""
        if not self.zig:
            print("The npm package needs Zig's compiler: left out", file=sys.stderr)
            return
        ziglang = run([self.zig, "-c", "import ziglang; print(ziglang.__path__[0])"]).strip()
        build = self.work / "wasm32"
        run(["cmake", "--preset", "wasm32", "-B", build, f"-DSOTTO_ZIG={ziglang}/zig", "-DSOTTO_BUILD_TESTS=OFF"], self.tree)
        run(["cmake", "--build", build, "--target", "npm_package"])
        run(["npm", "pack", "--silent", "--pack-destination", self.channel("npm"), build / "npm/node_modules/sotto"], build)

    def checksums(self):
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in
                 files_in(self.output).items() if name != "SHA256SUMS"]
        (self.output / "SHA256SUMS").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path, help="a directory that does not exist or is empty")
    parser.add_argument("--zig", help="a Python that has the package ziglang; without it, libraries are compiled for "
                        "this machine only")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    if any(args.output.iterdir()):
        raise SystemExit(f"{args.output} is not empty")
    with tempfile.TemporaryDirectory() as work:
        release = Release(args.output.resolve(), pathlib.Path(work), args.zig and os.path.abspath(args.zig))
        release.source_archive()
        release.source_package()
        release.rust()
        release.go()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
            libraries = dict(zip(release.targets(), executor.map(release.library, release.targets())))
        for target, parts in libraries.items():
            release.archive(target, *parts)
        libraries = {target: parts for target, parts in libraries.items() if target in LANGUAGE_TARGETS}
        release.python(libraries)
        release.java(libraries)
        release.javascript()
        release.checksums()


if __name__ == "__main__":
    main()
