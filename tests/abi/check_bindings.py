"""Checks that each binding uses every function of the library and every field of its parameters and information:
`check_bindings.py ROOT`.

The tests of the bindings test the functions themselves. This test finds functions and fields that a binding does not
use.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "capi/generate"))
import check_header  # noqa: E402
from bindings import SOURCES  # noqa: E402

# The structs of C++ are those of C, and JavaScript copies fields by tables that the generator writes.
WITHOUT_FIELDS = {"cpp/include", "javascript/src"}
# Functions that a binding leaves out.
LEFT_OUT = {
    "cpp/include": re.compile("sotto_(version|build_text|isa_text)"),  # programs in C++ call the functions of C
    "javascript/src": re.compile(
        "sotto_(version|build_text|status_text|token_bytes|model_deinit|session_prefill_embeddings|sessions_next|"
        "matcher_mask|sampler_(apply|init|memory_size|params_init_preset|sample|set))"),
}
# The bindings call sotto_session_save twice instead: with no memory, it reports the size.
FUNCTIONS_OF_C = {"sotto_session_saved_size"}
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


def findings(root, directory, suffixes):
    sources = [path for path in sorted((root / "platforms" / directory).rglob("*")) if path.suffix in suffixes]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    words = set(re.findall(r"\w+", re.sub(r"(^|\s)(//|#).*", "", text)))
    for symbol in sorted(set((root / "capi/symbols.txt").read_text().split()) - FUNCTIONS_OF_C):
        is_left_out = directory in LEFT_OUT and LEFT_OUT[directory].fullmatch(symbol) is not None
        if is_left_out == (symbol in words):
            yield f"uses {symbol}, which LEFT_OUT lists" if is_left_out else f"does not reach {symbol}"
    if directory not in WITHOUT_FIELDS:
        yield from (f"does not reach {struct}.{field}" for struct, field in fields(root) if field not in words)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    count = 0
    for directory, suffixes in SOURCES.items():
        if not (root / "platforms" / directory).is_dir():
            continue
        for finding in findings(root, directory, suffixes):
            count += 1
            print(f"platforms/{directory} {finding}")
    print(f"{count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
