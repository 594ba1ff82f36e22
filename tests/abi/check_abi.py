"""Compares the binary interface of the headers with the description of the released one, by libabigail.

The script compiles a library with an empty function for each function of the headers. Its debug information contains
every type of the interface. abidw describes it, and abidiff compares the description with the released one. `--write`
replaces the description after a compatible change: a new function, a new constant, or a field at the end of a struct
with struct_size. `--self-test` breaks the headers in many ways and expects each change to be reported.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FIELDS = re.compile(r"(typedef struct (\w+) \{\n)(.*?)(\n\} \2;)", flags=re.S)
PROTOTYPE = re.compile(r"^SOTTO_API [^;{]+;", flags=re.M)


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def probe_source(include):
    """Returns C code that defines every function of the headers."""
    headers = sorted(path for path in include.glob("sotto*.h") if path.name != "sotto_memory.h")
    prototypes = [prototype for header in headers for prototype in PROTOTYPE.findall(strip_comments(header.read_text()))]
    bodies = (prototype[:-1] + " { __builtin_trap(); }" for prototype in prototypes)
    return "#include <sotto.h>\n" + "\n".join(bodies) + "\n"


def describe(tools, include, description):
    """Writes the interface of the headers; machine-dependent paths are left out."""
    library = description.with_suffix(".so")
    subprocess.run([tools.compiler, "-g", "-O0", "-shared", "-fPIC", "-x", "c", "-std=c11", f"-I{include}", "-o", library,
                    "-"], input=probe_source(include), text=True, check=True)
    subprocess.run([tools.abidw, "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--type-id-style", "hash",
                    "--out-file", description, library], check=True)


def differences(tools, released, description):
    """Returns the output of abidiff, or None if the interfaces are equal."""
    done = subprocess.run([tools.abidiff, released, description], capture_output=True, text=True)
    if done.returncode & 3:
        raise SystemExit(f"abidiff failed:\n{done.stderr}{done.stdout}")
    return (done.stdout or "abidiff reports a difference\n") if done.returncode else None


def breaks(headers):
    """Yields (description, {header: new text}) for changes that break existing programs."""
    for name, text in headers.items():
        for match in FIELDS.finditer(text):
            fields = match.group(3)
            first_end = fields.index(";") + 1
            inserted = fields[:first_end] + "\n  uint64_t inserted;" + fields[first_end:]
            yield f"a field inserted in {match.group(2)}", {name: text.replace(fields, inserted, 1)}
        for prototype in PROTOTYPE.findall(text):
            if re.search(r"\bsize_t\b", prototype):
                changed = re.sub(r"\bsize_t\b", "uint16_t", prototype, count=1)
                yield f"a parameter changed: {prototype.split('(')[0]}", {name: text.replace(prototype, changed)}
        removed = PROTOTYPE.search(text)
        if removed:
            yield f"a function removed: {removed.group().split('(')[0]}", {name: text.replace(removed.group(), "")}


def self_test(tools, include, released, folder):
    headers = {path.name: strip_comments(path.read_text()) for path in include.glob("sotto*.h")}
    failures, count = [], 0
    for what, changed in breaks(headers):
        copy = folder / "include"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(include, copy)
        for name, text in changed.items():
            (copy / name).write_text(text)
        describe(tools, copy, folder / "broken.abi")
        count += 1
        if differences(tools, released, folder / "broken.abi") is None:
            failures.append(what)
    if count < 50:
        failures.append(f"only {count} breaks were tried: the headers are read wrongly")
    for failure in failures:
        print("not reported: " + failure, file=sys.stderr)
    print(f"{count - len(failures)} of {count} breaks reported")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True, help="a C compiler")
    parser.add_argument("--include", type=pathlib.Path, required=True, help="where the headers are")
    parser.add_argument("--released", type=pathlib.Path, required=True, help="description of the released interface")
    parser.add_argument("--write", action="store_true", help="write the description again")
    parser.add_argument("--self-test", action="store_true", help="check that breaks are reported")
    tools = parser.parse_args()
    for name in ("abidw", "abidiff"):
        setattr(tools, name, shutil.which(name))
        if getattr(tools, name) is None:
            print(f"{name} is missing (Debian: abigail-tools)")
            return SKIPPED
    if tools.write:
        with tempfile.TemporaryDirectory() as folder:
            describe(tools, tools.include, pathlib.Path(folder) / "now.abi")
            shutil.copyfile(pathlib.Path(folder) / "now.abi", tools.released)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if tools.self_test:
            return self_test(tools, tools.include, tools.released, pathlib.Path(folder))
        describe(tools, tools.include, pathlib.Path(folder) / "now.abi")
        changes = differences(tools, tools.released, pathlib.Path(folder) / "now.abi")
    if changes is None:
        return 0
    print("the binary interface is not the released one; if old programs survive this change, run\n  python3 "
          f"{' '.join(sys.argv)} --write\n{changes}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
