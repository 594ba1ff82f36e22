"""Writes all files that are generated from the tables in capi/params: `python3 capi/generate [--check] [--root
DIRECTORY]`.

Each module emit_*.py has a function emit(tables) that returns {path relative to the root: text}. With --check, nothing
is written; the script lists the files that are out of date and exits with status 1 if there are any.
"""
import argparse
import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import tables as table_module  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parents[1])
    args = parser.parse_args()
    try:
        tables = table_module.load(args.root.resolve())
        files = {}
        for path in sorted(HERE.glob("emit_*.py")):
            emitted = importlib.import_module(path.stem).emit(tables)
            if twice := files.keys() & emitted.keys():
                raise table_module.TableError(f"{path.name} emits {sorted(twice)}, as another module does")
            files.update({name: text.replace(table_module.HARD_SPACE, " ") for name, text in emitted.items()})
    except table_module.TableError as error:
        print(f"capi/params: {error}", file=sys.stderr)
        return 1
    different = 0
    for name, text in files.items():
        path = args.root / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        different += 1
        if args.check:
            print(f"{name} differs from the tables: run python3 capi/generate")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    print(f"{len(files)} generated files, {different} {'differ' if args.check else 'written'}")
    return 1 if args.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
