"""Compiles the public headers as every supported language version and compares the structs with their layout files.

A layout file has a line "struct field offset size" for each field and "struct - 0 size" for each struct.
layout_lp64.txt is for machines with 64-bit pointers, and layout_ilp32.txt for machines with 32-bit pointers and 64-bit
integers aligned to 8 bytes (ARM, RISC-V, WebAssembly). Each is checked if one of the compilers can compile for such a
machine; system headers of the machine are not needed. The bindings compare their declarations with the same files,
which capi/generate writes. With --released, the structs must also be compatible with programs that were compiled
against the released headers. `--release DIRECTORY` stores the headers for that purpose, without comments.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LAYOUTS = {8: "layout_lp64.txt", 4: "layout_ilp32.txt"}
# Structs without struct_size that programs only read, through a pointer from the library.
CREATED_BY_THE_LIBRARY = {"sotto_piece"}
# Names of a standard in newer and older compilers.
C_STANDARDS = [["c99"], ["c11"], ["c17"], ["c23", "c2x"]]
CXX_STANDARDS = [["c++11"], ["c++14"], ["c++17"], ["c++20"], ["c++23", "c++2b"]]
# Targets that are checked besides the machine itself. By default, 32-bit x86 aligns 64-bit integers to only 4 bytes.
OTHER_MACHINES = [["-m32", "-malign-double", "-ffreestanding"], ["--target=armv7-linux-gnueabihf", "-ffreestanding"],
                  ["--target=wasm32", "-ffreestanding"]]

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wundef", "-Wconversion", "-Wsign-conversion", "-Wcast-qual",
            "-Wcast-align", "-Wwrite-strings", "-Wredundant-decls", "-Wfloat-equal", "-Wformat=2", "-Werror"]
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition", "-Wc++-compat"]
CXX_WARNINGS = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wmissing-declarations"]
GCC_WARNINGS = ["-Wlogical-op", "-Wduplicated-cond", "-Wduplicated-branches", "-Wdouble-promotion"]
# All of Clang's warnings except those about other standards, padding and unused macros.
CLANG_WARNINGS = ["-Weverything", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-padded", "-Wno-unused-macros",
                  "-Wno-declaration-after-statement", "-Wno-unsafe-buffer-usage", "-Wno-unknown-warning-option"]


class Compiler:
    """A compiler for one machine."""

    def __init__(self, name, include, machine=()):
        self.command = [name, *machine]
        self.include = include
        self.warnings = []
        version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
        self.warnings = CLANG_WARNINGS if "clang" in version else GCC_WARNINGS

    def accepts(self, source, *options):
        return self.complaint("c", options, source, warnings=[]) is None

    def complaint(self, language, options, source, warnings=None):
        """Returns the compiler's messages, or None if it accepts the source."""
        if warnings is None:
            warnings = [*WARNINGS, *self.warnings, *(C_WARNINGS if language == "c" else CXX_WARNINGS)]
        command = [*self.command, "-fsyntax-only", "-x", language, *options, *warnings, f"-I{self.include}", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        return None if done.returncode == 0 else f"{' '.join(command)}\n{done.stderr}"

    def standards(self, language):
        """Returns one name of each standard that the compiler knows."""
        for names in C_STANDARDS if language == "c" else CXX_STANDARDS:
            known = (name for name in names if self.complaint(language, [f"-std={name}"], "", []) is None)
            yield next(known, names[0])

    def pointer_size(self):
        """Returns None if the compiler cannot compile for the machine at all."""
        for size in LAYOUTS:
            if self.accepts(f"#include <stddef.h>\n#include <stdint.h>\nchar size[sizeof(void *) == {size} ? 1 : -1];\n"):
                return size
        return None

    def layout(self, structs, headers):
        """Returns the lines of a layout, which the compiler writes into an array. Nothing runs."""
        rows, values = [], []
        for struct, fields in structs.items():
            rows.append(f"{struct} -")
            values += ["0", f"sizeof({struct})"]
            for field in fields:
                rows.append(f"{struct} {field}")
                values += [f"offsetof({struct}, {field})", f"sizeof((({struct} *)0)->{field})"]
        # Values beyond 2^16 are never stored as zero-initialised memory.
        numbers = ",\n".join(f"(uint32_t)({value}) + 65536u" for value in values)
        source = f"{headers}#include <stddef.h>\n#include <stdint.h>\nconst uint32_t layout[] = {{{numbers}}};\n"
        command = [*self.command, "-S", "-O0", "-x", "c", "-std=c11", f"-I{self.include}", "-o", "-", "-"]
        text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
        found = [int(n) - 65536 for n in re.findall(r"^\s*\.(?:long|word|4byte|int32)\s+(\d+)", text, flags=re.M)]
        assert len(found) == len(values), f"{command} wrote {len(found)} numbers instead of {len(values)}"
        return [f"{row} {offset} {size}" for row, offset, size in zip(rows, found[::2], found[1::2])]


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def struct_fields(header):
    """Returns {struct: [field]} for the structs that the header defines."""
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", strip_comments(header), flags=re.S):
        fields = []
        for declaration in filter(None, (d.strip() for d in body.split(";"))):
            pointer = re.search(r"\(\*(\w+)\)", declaration)
            plain = re.search(r"(\w+)\s*(\[\w+\])?$", declaration)
            fields.append((pointer or plain).group(1))
        structs[name] = fields
    return structs


class Headers:
    def __init__(self, include):
        self.names = sorted(path.name for path in include.glob("*.h"))
        self.all = "".join(f'#include "{name}"\n' for name in self.names)
        self.structs = {}
        for name in self.names:
            self.structs.update(struct_fields((include / name).read_text()))


def layout_asserts(lines):
    for line in lines:
        struct, field, offset, size = line.split()
        if field == "-":
            yield f'_Static_assert(sizeof({struct}) == {size}, "size of {struct}");'
        else:
            yield f'_Static_assert(offsetof({struct}, {field}) == {offset}, "offset of {struct}.{field}");'
            yield f'_Static_assert(sizeof((({struct} *)0)->{field}) == {size}, "size of {struct}.{field}");'


# Uses of the macros, without which compilers would not check them.
USES = {"sotto_memory.h": """
typedef char used[SOTTO_MODEL_MEMORY_BYTES(4096, 256, 4, 6, 1024) + SOTTO_MODEL_INT8_HEAD_MEMORY_BYTES(9, 8, 1, 6, 32) +
                  SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(4096, 256, 4, 6, 1024) +
                  SOTTO_DRAFT_SESSION_MEMORY_BYTES(4096, 256, 4, 6, 1024, 256, 32, 4, 2, 8, 7, 0, 4) > 1 ? 1 : -1];
""", "sotto.h": "typedef char used[SOTTO_VERSION > 0 ? SOTTO_MEMORY_ALIGNMENT : -1];\n"}


def language_failures(compiler, headers):
    for name in headers.names:
        twice = f'#include "{name}"\n#include "{name}"\n{USES.get(name, "typedef int used;")}\n'
        for language in ["c", "c++"]:
            for standard in compiler.standards(language):
                yield compiler.complaint(language, [f"-std={standard}"], twice)


def layout_failures(compiler, headers, lines):
    source = headers.all + "#include <stddef.h>\n"
    yield compiler.complaint("c", ["-std=c11"], source + "\n".join(layout_asserts(lines)), warnings=[])
    # The check itself must be able to fail.
    struct, field, offset, size = next(line for line in lines if " - " not in line).split()
    wrong = layout_asserts([f"{struct} {field} {int(offset) + 1} {size}"])
    if compiler.accepts(source + "\n".join(wrong), "-std=c11"):
        yield "a wrong offset was accepted"


def list_failures(headers, lines, name):
    listed = {tuple(line.split()[:2]) for line in lines}
    present = {(s, f) for s, fields in headers.structs.items() for f in ["-", *fields]}
    for struct, field in sorted(present ^ listed):
        yield f"{struct} {field}: only in {'the header' if (struct, field) in present else name}"


def released_failures(old, new):
    """Returns the fields whose place has changed for old programs. Structs with struct_size and those that only the
    library creates may grow at the end, and a reserved field may get a name."""
    new_lines = {tuple(line.split()[:2]): line.split()[2:] for line in new}
    new_places = {(line.split()[0], *line.split()[2:]) for line in new if line.split()[1] != "-"}
    for line in old:
        struct, field, *place = line.split()
        now = new_lines.get((struct, field))
        may_grow = (struct, "struct_size") in new_lines or struct in CREATED_BY_THE_LIBRARY
        if field == "-" and now is not None and may_grow:
            if int(now[1]) < int(place[1]):
                yield f"{struct} has shrunk from {place[1]} to {now[1]} bytes"
        elif now is None and re.fullmatch(r"reserved\d?", field) and (struct, *place) in new_places:
            continue
        elif now != place:
            yield f"{struct} {field} was at {place}, of a released header; now {now or 'it is gone'}"


def release(headers, include, directory):
    directory.mkdir(parents=True, exist_ok=True)
    # The values of sotto_memory.h are valid for one version only.
    for name in headers.names:
        if name != "sotto_memory.h":
            lines = (line.rstrip() for line in strip_comments((include / name).read_text()).splitlines())
            (directory / name).write_text("\n".join(line for line in lines if line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path, default=HERE.parents[1] / "capi" / "include")
    parser.add_argument("--layouts", type=pathlib.Path, default=HERE, help="directory of the layout files")
    parser.add_argument("--released", type=pathlib.Path, help="headers of a version in use")
    parser.add_argument("--release", type=pathlib.Path)
    parser.add_argument("compilers", nargs="*", default=["cc"])
    args = parser.parse_args()

    headers = Headers(args.include)
    if args.release:
        release(headers, args.include, args.release)
        return 0
    failures, checked = [], {}
    for name in args.compilers:
        for machine in [[], *OTHER_MACHINES]:
            compiler = Compiler(name, args.include, machine)
            size = compiler.pointer_size()
            if size is None:
                continue
            checked.setdefault(size, []).append(" ".join(compiler.command))
            path = args.layouts / LAYOUTS[size]
            lines = path.read_text().splitlines()
            if not machine:
                failures += language_failures(compiler, headers)
            failures += layout_failures(compiler, headers, lines)
            failures += list_failures(headers, lines, path.name)
            if args.released:
                old = Headers(args.released)
                old_lines = Compiler(name, args.released, machine).layout(old.structs, old.all)
                failures += released_failures(old_lines, lines)
                if not [*released_failures(old_lines, [line + "0" for line in lines])]:
                    failures.append("a field that moved was accepted")
        native = Compiler(name, args.include)
        if native.complaint("c", ["-std=c99"], headers.all + "int old_style();\n") is None:
            failures.append("a warning was accepted")

    for size, layout in LAYOUTS.items():
        print(f"{layout}: " + (", ".join(checked[size]) if size in checked else "SKIPPED, no compiler here has such pointers"))
    failures = [failure for failure in failures if failure]
    print("\n".join(failures) or f"{len(headers.names)} headers, {len(lines)} layout lines")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
