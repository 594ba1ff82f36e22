"""Writes the version of capi/VERSION into the manifests and READMEs of the bindings.

The rest of these files is written by hand, and the tools that read them need a literal version. The emitter therefore
replaces only the version. CMakeLists.txt reads capi/VERSION itself, and emit_c_headers.py writes the version into the
header.
"""
import re

import tables as t

# Files, and the text before the version, which may occur several times.
PLACES = [
    ("platforms/java/README.md", r"sotto[-:]"),
    ("platforms/java/aar_test.py", r'(?:sotto-|"aar", ")'),
    ("platforms/java/kotlin/pom.xml", r"<artifactId>sotto[\w-]*</artifactId>\s*<version>"),
    ("platforms/java/make_aar.py", r'"--version", default="'),
    ("platforms/python/pyproject.toml", r'\nversion = "'),
    ("platforms/rust/Cargo.lock", r'name = "sotto(?:-sys)?"\nversion = "'),
    ("platforms/rust/sotto-sys/Cargo.toml", r'\nversion = "'),
    ("platforms/rust/sotto/Cargo.toml", r'(?:\n|path = "\.\./sotto-sys", )version = "'),
]


def emit(tables: t.Tables) -> dict[str, str]:
    files = {}
    for name, before in PLACES:
        text, count = re.subn(rf"({before})\d+\.\d+\.\d+", rf"\g<1>{tables.version}",
                              (tables.root / name).read_text("utf-8"))
        if count == 0:
            raise t.TableError(f"{name} has no version after {before!r}")
        files[name] = text
    return files
