"""Emits capi/symbols.txt: the functions of the C headers. The shared library exports these symbols."""
import bindings
import tables as t


def emit(tables: t.Tables) -> dict[str, str]:
    names = sorted(function.name for function in bindings.functions(tables))
    return {"capi/symbols.txt": "\n".join(names) + "\n"}
