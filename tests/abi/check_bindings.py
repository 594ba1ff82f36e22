"""Checks that each binding uses every function of the library and every field of its parameters and information:
`check_bindings.py ROOT`.

The tests of the bindings show that the functions which they use work. This test finds functions and fields that a
binding does not use.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import check_header  # noqa: E402

# Directories, and the endings of the sources that name functions and fields as C does.
BINDINGS = {"go": {".go", ".c"}, "java/jni": {".cpp", ".h"}, "python/sotto": {".py"}, "rust": {".rs"},
            "swift/Sources": {".swift"}}
# Only hosts in C bring their own threads. The function that releases pages of a mapped file needs no user data.
FIELDS_OF_C = {"executor", "release_user_data"}
FILLED = re.compile(r"_(params|input|info|timings|score|result)$")
UNNAMED = re.compile(r"struct_size|reserved\d?")


def fields(root):
    """Returns (struct, field) for the structs that the caller fills in, and for those that the library fills in."""
    structs = {}
    for header in sorted((root / "capi/include").glob("*.h")):
        structs.update(check_header.struct_fields(header.read_text()))
    return sorted((struct, field) for struct, names in structs.items() if FILLED.search(struct)
                  for field in names if not UNNAMED.fullmatch(field) and field not in FIELDS_OF_C)


def missing(root, directory, suffixes):
    sources = [path for path in sorted((root / "platforms" / directory).rglob("*")) if path.suffix in suffixes]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    words = set(re.findall(r"\w+", re.sub(r"(^|\s)(//|#).*", "", text)))
    symbols = re.findall(r"^sotto_\w+$", (root / "capi/symbols.txt").read_text(), flags=re.M)
    yield from (symbol for symbol in symbols if symbol not in words)
    yield from (f"{struct}.{field}" for struct, field in fields(root) if field not in words)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    count = 0
    for directory, suffixes in BINDINGS.items():
        if not (root / "platforms" / directory).is_dir():
            continue
        for name in missing(root, directory, suffixes):
            count += 1
            print(f"platforms/{directory} does not reach {name}")
    print(f"{count} missing")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
