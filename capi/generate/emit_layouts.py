"""Emits the layouts of the structs, for tests: "struct field offset size" for each field, and "struct - 0 size" for
each struct.

tests/abi/check_header.py compares them with the layouts that compilers produce, and the tests of the bindings with
their declarations.
"""
import tables as t


def emit(tables: t.Tables) -> dict[str, str]:
    files = {}
    for name, pointer in (("lp64", 8), ("ilp32", 4)):
        lines = []
        for struct in tables.structs:
            rows, size, _ = tables.layout(struct, pointer)
            lines.append(f"{struct.name} - 0 {size}")
            lines += [f"{struct.name} {field.name} {offset} {field_size}" for field, offset, field_size in rows]
        files[f"tests/abi/layout_{name}.txt"] = "\n".join(lines) + "\n"
    return files
