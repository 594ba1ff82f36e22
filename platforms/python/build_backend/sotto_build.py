"""Builds the wheel: the package and the library, with the tag of its platform.

The library is the one that SOTTO_LIBRARY names, or is compiled from the sources in a source distribution. This is a PEP
517 backend without dependencies, so building a wheel installs nothing:
    SOTTO_LIBRARY=../../build/release/lib/libsotto.so python3 -m pip wheel --no-deps .
"""
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "amalgamation"  # sotto.h and sotto.cpp, in source distributions only
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
MACHINES = {3: "i686", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # of ELF files
WINDOWS_MACHINES = {0x8664: "win_amd64", 0xAA64: "win_arm64"}


def project():
    """Returns the strings of the [project] table. Each is on one line, so no TOML reader is needed."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return dict(re.findall(r'^([a-z-]+) = "(.*)"$', text[text.index("[project]"):], flags=re.M))


def platform_tag(library):
    """Returns the tag of an ELF file: machine and newest glibc that it requires; of a DLL: its machine. Elsewhere
    Python's own tag."""
    if library[:2] == b"MZ":
        header = struct.unpack_from("<I", library, 0x3C)[0]
        return WINDOWS_MACHINES[struct.unpack_from("<H", library, header + 4)[0]]
    if library[:4] != b"\x7fELF":
        return re.sub(r"[-.]", "_", sysconfig.get_platform())
    order = "<" if library[5] == 1 else ">"
    machine = MACHINES[struct.unpack_from(order + "H", library, 18)[0]]
    versions = [tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", library)]
    if not versions:
        return f"linux_{machine}"
    major, minor = max(versions)
    return f"manylinux_{major}_{max(minor, 17)}_{machine}"


def metadata():
    about = project()
    lines = ["Metadata-Version: 2.1", f"Name: {about['name']}", f"Version: {about['version']}",
             f"Summary: {about['description']}", f"License: {about['license']}",
             f"Requires-Python: {about['requires-python']}", "Description-Content-Type: text/markdown", "",
             (ROOT / "README.md").read_text(encoding="utf-8")]
    return "\n".join(lines).encode()


def wheel_metadata(tag):
    return f"Wheel-Version: 1.0\nGenerator: sotto_build\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()


def package_files():
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted((ROOT / "sotto").rglob("*"))
            if path.suffix == ".py" or path.name == "py.typed"}


def compiled_library():
    """Compiles the two files of the source distribution. Without exceptions, the library needs no C++ library."""
    compiler = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O2", "-fPIC", "-fno-exceptions"]
    compiler += shlex.split(os.environ.get("CXXFLAGS", ""))
    linker = [*shlex.split(os.environ.get("CC", "cc")), "-shared", *shlex.split(os.environ.get("LDFLAGS", ""))]
    with tempfile.TemporaryDirectory() as directory:
        parts = [pathlib.Path(directory) / name for name in ("sotto.o", "libsotto")]
        for command in ([*compiler, "-c", "sotto.cpp", "-o", parts[0]], [*linker, parts[0], "-o", parts[1], "-lm"]):
            try:
                subprocess.run(command, cwd=SOURCES, check=True)
            except (OSError, subprocess.CalledProcessError) as failure:
                raise SystemExit(f"compiling Sotto needs GCC 12 or Clang 14, which CC and CXX may name: {failure}")
        return parts[1].read_bytes()


def library_bytes(settings):
    named = (settings or {}).get("library") or os.environ.get("SOTTO_LIBRARY")
    if named:
        return pathlib.Path(named).read_bytes()
    if not SOURCES.is_dir():
        raise SystemExit("SOTTO_LIBRARY must name the libsotto.so that goes into the wheel")
    return compiled_library()


def record(files, name):
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for path, data in files.items()]
    return ("\n".join(rows + [f"{name},,"]) + "\n").encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = library_bytes(config_settings)
    about = project()
    info = f"{about['name']}-{about['version']}.dist-info"
    tag = f"py3-none-{platform_tag(library)}"
    files = package_files()
    names = {b"MZ": "sotto.dll", b"\x7fE": "libsotto.so"}
    files[f"sotto/{names.get(library[:2], 'libsotto.dylib')}"] = library
    for licence in (ROOT / "LICENSE", ROOT.parent.parent / "LICENSE"):  # in a source distribution, in a checkout
        if licence.exists():
            files[f"{info}/licenses/LICENSE"] = licence.read_bytes()
    files[f"{info}/METADATA"] = metadata()
    files[f"{info}/WHEEL"] = wheel_metadata(tag)
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    name = f"{about['name']}-{about['version']}-{tag}.whl"
    pathlib.Path(wheel_directory).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, TIMESTAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    if not SOURCES.is_dir():
        raise SystemExit("platforms/packages/release.py makes source distributions, which contain the library's sources")
    about = project()
    top = f"{about['name']}-{about['version']}"
    files = {**package_files(), "PKG-INFO": metadata()}
    for path in ("pyproject.toml", "README.md", "LICENSE", "build_backend/sotto_build.py", "amalgamation/sotto.cpp",
                 "amalgamation/sotto.h"):
        files[path] = (ROOT / path).read_bytes()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path, text in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    (pathlib.Path(sdist_directory) / f"{top}.tar.gz").write_bytes(gzip.compress(data.getvalue(), mtime=0))
    return f"{top}.tar.gz"


if __name__ == "__main__":
    print(build_wheel(sys.argv[1] if len(sys.argv) > 1 else "."))
