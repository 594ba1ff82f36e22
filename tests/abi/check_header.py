"""Compiles the public headers as every supported language version and holds the structs to their layout.

The layout file has a line "struct field offset size" for each field and "struct - 0 size" for each struct, on
machines with 64-bit pointers. `--write` makes it anew after a change that is meant.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

C_STANDARDS = ["c99", "c11", "c17"]
CXX_STANDARDS = ["c++11", "c++17", "c++20"]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wstrict-prototypes", "-Wshadow", "-Werror"]


def compile_source(compiler, include, language, standard, source, extra=()):
    """Returns the compiler's messages, or None if it accepts the source."""
    warnings = [w for w in WARNINGS if language == "c" or w != "-Wstrict-prototypes"]
    command = [compiler, "-fsyntax-only", "-x", language, f"-std={standard}", *warnings, f"-I{include}", *extra, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{' '.join(command)}\n{done.stderr}"


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def struct_fields(header):
    """{struct: [field]} of the structs the header defines."""
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", strip_comments(header), flags=re.S):
        fields = []
        for declaration in filter(None, (d.strip() for d in body.split(";"))):
            pointer = re.search(r"\(\*(\w+)\)", declaration)
            plain = re.search(r"(\w+)\s*(\[\w+\])?$", declaration)
            fields.append((pointer or plain).group(1))
        structs[name] = fields
    return structs


def layout_lines(compiler, include, structs, headers):
    """Asks the compiler for offsets and sizes, by running a small program."""
    rows = []
    for struct, fields in structs.items():
        rows.append(f'  printf("{struct} - 0 %zu\\n", sizeof({struct}));')
        rows += [f'  printf("{struct} {f} %zu %zu\\n", offsetof({struct}, {f}), sizeof((({struct} *)0)->{f}));'
                 for f in fields]
    source = headers + "#include <stdio.h>\nint main(void) {\n" + "\n".join(rows) + "\n  return 0;\n}\n"
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "layout"
        subprocess.run([compiler, "-x", "c", f"-I{include}", "-o", program, "-"], input=source, text=True, check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def layout_asserts(lines):
    asserts = []
    for line in lines:
        struct, field, offset, size = line.split()
        if field == "-":
            asserts.append(f'_Static_assert(sizeof({struct}) == {size}, "size of {struct}");')
        else:
            asserts.append(f'_Static_assert(offsetof({struct}, {field}) == {offset}, "offset of {struct}.{field}");')
            asserts.append(f'_Static_assert(sizeof((({struct} *)0)->{field}) == {size}, "size of {struct}.{field}");')
    return "#if UINTPTR_MAX == UINT64_MAX\n" + "\n".join(asserts) + "\n#endif\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--layout", type=pathlib.Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("compilers", nargs="+")
    args = parser.parse_args()

    names = sorted(path.name for path in args.include.glob("*.h"))
    headers = "".join(f'#include "{name}"\n' for name in names)
    structs = {}
    for name in names:
        structs.update(struct_fields((args.include / name).read_text()))
    if args.write:
        args.layout.write_text(layout_lines(args.compilers[0], args.include, structs, headers))
        return 0

    failures = []
    for compiler in args.compilers:
        for name in names:
            twice = f'#include "{name}"\n#include "{name}"\n'
            for standard in C_STANDARDS:
                failures.append(compile_source(compiler, args.include, "c", standard, twice + "typedef int used;\n"))
            for standard in CXX_STANDARDS:
                failures.append(compile_source(compiler, args.include, "c++", standard, twice))
        lines = args.layout.read_text().splitlines()
        failures.append(compile_source(compiler, args.include, "c", "c11", headers + layout_asserts(lines)))
    listed = {tuple(line.split()[:2]) for line in lines}
    present = {(s, f) for s, fields in structs.items() for f in ["-", *fields]}
    for struct, field in sorted(present ^ listed):
        failures.append(f"{struct} {field}: only in {'the header' if (struct, field) in present else args.layout.name}")

    # The checks themselves must be able to fail.
    struct, field, offset, size = next(line for line in lines if " - " not in line).split()
    wrong = layout_asserts([f"{struct} {field} {int(offset) + 1} {size}"])
    if compile_source(args.compilers[0], args.include, "c", "c11", headers + wrong) is None:
        failures.append("a wrong offset was accepted")
    if compile_source(args.compilers[0], args.include, "c", "c99", headers + "int old_style();\n") is None:
        failures.append("a warning was accepted")

    failures = [failure for failure in failures if failure]
    print("\n".join(failures) or f"{len(names)} headers, {len(args.compilers)} compilers, {len(listed)} layout lines")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
