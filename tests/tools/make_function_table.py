"""Writes tests/FUNCTIONS.md: which fuzz targets and tests call each function of the C interface.

    python3 -B tests/tools/make_function_table.py [--check]

A fuzz target is the file fuzz_NAME.cpp. Calls of a shared file of the targets, such as fuzz_sampler_params.cpp, count
for the targets that include its header, and calls of a header of the tests for the tests that include it. --check
writes nothing and fails if the table is not up to date.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/FUNCTIONS.md"
FOLDERS = ("capi", "features", "memory", "golden")

HEADER = """\
# What calls each function

Made by `python3 -B tests/tools/make_function_table.py`; a test compares it. The tests are those that call the C
interface directly. All others, the programs and the bindings call it as well.

| Function | Fuzz targets | Tests |
|---|---|---|
"""


def text_with_helpers(path, seen=None):
    """Returns the text of a file, of the headers of the tests that it includes, and of the sources of these headers."""
    seen = set() if seen is None else seen
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = path.read_text()
    whole = re.sub(r"//.*", "", text)
    for name in re.findall(r'#include "(tests/[^"]+)"', text):
        header = ROOT / name
        whole += text_with_helpers(header, seen) + text_with_helpers(header.with_suffix(".cpp"), seen)
    return whole


def callers(function, texts):
    return ", ".join(sorted(name for name, text in texts.items() if re.search(rf"\b{function}\b", text)))


def make_table():
    functions = [line for line in (ROOT / "capi/symbols.txt").read_text().split("\n") if re.fullmatch(r"sotto_\w+", line)]
    listed = re.findall(r"sotto_fuzz\((\w+)", (ROOT / "tests/fuzz/CMakeLists.txt").read_text())
    targets = {name: text_with_helpers(ROOT / f"tests/fuzz/fuzz_{name}.cpp") for name in listed}
    tests = {f"{folder}/{path.stem}": text_with_helpers(path)
             for folder in FOLDERS for path in (ROOT / "tests" / folder).glob("*_test.cpp")}
    rows = [f"| `{name}` | {callers(name, targets)} | {callers(name, tests)} |\n" for name in sorted(functions)]
    return HEADER + "".join(rows)


def main():
    table = make_table()
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(table)
        return 0
    if TABLE.read_text() == table:
        return 0
    print("tests/FUNCTIONS.md is not up to date: run tests/tools/make_function_table.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
