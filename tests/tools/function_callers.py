"""Prints a table of the fuzz targets and tests that call each function of the C interface.

    python3 -B tests/tools/function_callers.py [--check]

A fuzz target is the file fuzz_NAME.cpp. Calls of a shared file of the targets, such as fuzz_sampler_params.cpp, count
for the targets that include its header, and calls of a header of the tests for the tests that include it. Listed are
the tests that call the C interface directly. All others, the programs and the bindings call it as well.

--check prints only the functions that no target or no test calls, and fails if there are any.
"""
import pathlib
import re
import sys

NO_CODE = re.compile(r'''//.*|/\*[\s\S]*?\*/|'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*"''')  # comments, characters, strings
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("capi", "features", "memory", "golden")


def text_with_helpers(path, seen=None):
    """Returns the text of a file, of the headers of the tests that it includes, and of the sources of these headers."""
    seen = set() if seen is None else seen
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = path.read_text()
    whole = NO_CODE.sub("", text)
    for name in re.findall(r'#include "(tests/[^"]+)"', text):
        header = ROOT / name
        whole += text_with_helpers(header, seen) + text_with_helpers(header.with_suffix(".cpp"), seen)
    return whole


def callers(function, texts):
    """Returns the names of the texts that call a function, or pass it to something that does."""
    return sorted(name for name, text in texts.items() if re.search(rf"\b{function}[(,;)]", text))


def find_callers():
    """Returns the targets and the tests that call each function."""
    functions = [line for line in (ROOT / "capi/symbols.txt").read_text().split("\n") if re.fullmatch(r"sotto_\w+", line)]
    listed = re.findall(r"sotto_fuzz\((\w+)", (ROOT / "tests/fuzz/CMakeLists.txt").read_text())
    targets = {name: text_with_helpers(ROOT / f"tests/fuzz/fuzz_{name}.cpp") for name in listed}
    tests = {f"{folder}/{path.stem}": text_with_helpers(path)
             for folder in FOLDERS for path in (ROOT / "tests" / folder).glob("*_test.cpp")}
    return {name: (callers(name, targets), callers(name, tests)) for name in sorted(functions)}


def main():
    called = find_callers()
    if "--check" in sys.argv[1:]:
        missing = [f"{name}: no {kind} calls it" for name, (targets, tests) in called.items()
                   for kind, found in (("fuzz target", targets), ("test", tests)) if not found]
        print("\n".join([*missing, f"{len(called)} functions, {len(missing)} callers missing"]))
        return 1 if missing else 0
    print("| Function | Fuzz targets | Tests |\n|---|---|---|")
    for name, (targets, tests) in called.items():
        print(f"| `{name}` | {', '.join(targets)} | {', '.join(tests)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
