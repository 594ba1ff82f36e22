"""Checks the names that the libraries export and import, and that they have no static constructors and no mutable
state. The list of allowed imports has no function that allocates, reads files or the environment, prints, throws or ends
the process, so the library can do none of these."""
import argparse
import pathlib
import re
import subprocess
import sys

DEPENDENCY_NAMES = re.compile(r"xnn_qd8_f32_qc8w_gemm_minmax_ukernel_\w+$")
# Names that the linker and the start-up objects of the C library add to every shared library.
LINKER_NAMES = re.compile(r"_ITM_\w+|__cxa_finalize|__gmon_start__")
LIBRARIES_ALLOWED = re.compile(r"(libc|libm|libpthread|libdl|ld-linux[\w-]*|ld-musl[\w-]*)\.so")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(nm, path, *options):
    """Returns the rows (member, kind, name) of nm's POSIX output."""
    rows = []
    for line in run(nm, "-A", "-P", *options, path).splitlines():
        where, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        member = re.search(r"\[(.*)\]$", where)
        rows.append((member.group(1) if member else where, kind, name.split("@")[0]))
    return rows


def lines_of_members(readelf, option, path):
    """Yields pairs (object in an archive or file, line) of readelf's output."""
    member = str(path)
    for line in run(readelf, option, "-W", path).splitlines():
        if line.startswith("File: "):
            member = re.sub(r".*\((.*)\)$", r"\1", line[6:])
        yield member, line


def sections(readelf, path):
    """Returns (member, index, section, size) for the sections of every object in an archive or file."""
    rows = []
    for member, line in lines_of_members(readelf, "-S", path):
        match = re.match(r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)", line)
        if match:
            rows.append((member, int(match.group(1)), match.group(2), int(match.group(3), 16)))
    return rows


def variables_by_section(readelf, path):
    """Returns the pairs (member, index of a section) that contain variables."""
    matches = ((member, re.match(r"\s*\d+: \S+ +\S+ (?:OBJECT|TLS) .* (\d+) \S+$", line))
               for member, line in lines_of_members(readelf, "-s", path))
    return {(member, int(match.group(1))) for member, match in matches if match}


def difference(what, wanted, actual):
    return [f"{what}: missing {name}" for name in sorted(wanted - actual)] + \
           [f"{what}: unexpected {name}" for name in sorted(actual - wanted)]


def allowed_needs(args):
    return {line for line in args.allowed.read_text().splitlines() if line and not line.startswith("#")}


def check_exports(args, wanted):
    exported = {name for _, kind, name in symbols(args.nm, args.shared, "-D", "--defined-only") if kind in "TWDBRVi"}
    failures = difference("exported by the shared library", wanted, exported)
    if args.local_names:
        visible = {name for _, kind, name in symbols(args.nm, args.static, "-g", "--defined-only")}
        failures += difference("global in the static library", wanted, visible)
    allowed = allowed_needs(args)
    failures += [f"the shared library needs {name}, which is not in {args.allowed.name}"
                 for _, _, name in symbols(args.nm, args.shared, "-D", "--undefined-only")
                 if name not in allowed and not LINKER_NAMES.fullmatch(name)]
    dynamic = run(args.readelf, "-d", "-W", args.shared)
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic)
    failures += [f"the shared library needs {name}" for name in needed if not LIBRARIES_ALLOWED.match(name)]
    if not re.search(r"\(SONAME\).*\[libsotto\.so\.1\]", dynamic):
        failures.append("the shared library's name is not libsotto.so.1")
    return failures


def check_needs(args):
    allowed = allowed_needs(args)
    rows = [row for archive in args.own for row in symbols(args.nm, archive)]
    defined = {name for _, kind, name in rows if kind not in "Uw"}
    return sorted({f"{member} needs {name}, which is not in {args.allowed.name}" for member, kind, name in rows
                   if kind in "Uw" and name not in defined | allowed and not DEPENDENCY_NAMES.match(name)})


def check_state(args):
    failures = []
    for archive in args.own:
        variables = variables_by_section(args.readelf, archive)
        for member, index, section, size in sections(args.readelf, archive):
            if size and re.match(r"\.(init_array|ctors|preinit_array)", section):
                failures.append(f"{member} has static constructors")
            writable = re.match(r"\.(data|bss|tdata|tbss)(\.|$)", section) and not section.startswith(".data.rel.ro")
            # These sections may also contain unnamed constants that GCC copies to the stack.
            if section == ".data" and (member, index) not in variables:
                continue
            if size and writable:
                failures.append(f"{member} has mutable state in {section}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    for name in ["--symbols", "--allowed", "--shared", "--static"]:
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--readelf", required=True)
    parser.add_argument("--local-names", type=int, required=True)
    parser.add_argument("--own", type=pathlib.Path, nargs="+", required=True)
    args = parser.parse_args()
    wanted = set(args.symbols.read_text().split())
    failures = check_exports(args, wanted) + check_needs(args) + check_state(args)
    print("\n".join(failures) or f"{len(wanted)} public names; nothing else exported, needed or kept")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
