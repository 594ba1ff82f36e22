"""Checks that a Windows library exports exactly the names of symbols.txt and imports only from libraries of Windows.

usage: check_library.py SYMBOLS LIBRARY [PROGRAM...]. Programs need no other library than those of Windows, either.
"""
import pathlib
import sys

from pe import PortableExecutable


def is_of_windows(name):
    return name.lower() in ("kernel32.dll", "ntdll.dll") or name.lower().startswith("api-ms-win-crt-")


def main():
    symbols, library, *programs = sys.argv[1:]
    lines = pathlib.Path(symbols).read_text().splitlines()
    expected = sorted(line for line in lines if line and not line.startswith("#"))
    exported = sorted(PortableExecutable(library).exports())
    if exported != expected:
        raise SystemExit(f"{library}: missing {sorted(set(expected) - set(exported))}, "
                         f"exported beyond the public names {sorted(set(exported) - set(expected))}")
    for path in (library, *programs):
        imported = PortableExecutable(path).imports()
        if not imported or not all(map(is_of_windows, imported)):
            raise SystemExit(f"{path} imports from {imported}")
        print(f"{pathlib.Path(path).name}, {PortableExecutable(path).machine}: {', '.join(sorted(imported))}")


if __name__ == "__main__":
    main()
