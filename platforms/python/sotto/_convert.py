"""Between Python's values and the ABI's structs."""
from __future__ import annotations

import ctypes
import dataclasses

from . import _abi
from ._library import lib

_POINTER = type(ctypes.POINTER(ctypes.c_int32))


def as_bytes(text) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def tokens_in(tokens):
    """An array of tokens; at least one long, as C wants an address."""
    values = list(tokens)
    return (ctypes.c_int32 * max(len(values), 1))(*values), len(values)


def count_name(field: str) -> str:
    plural = field.endswith("s") and not field.endswith("bias")
    return (field[:-1] if plural else field) + "_count"


class Filler:
    """Fills C structs from parameters, and keeps alive what they point to."""

    def __init__(self):
        self.kept = []

    def keep(self, value):
        self.kept.append(value)
        return value

    def text(self, value) -> _abi.Text:
        data = self.keep(ctypes.create_string_buffer(as_bytes(value)))
        return _abi.Text(ctypes.addressof(data), ctypes.sizeof(data) - 1)

    def token_list(self, tokens) -> _abi.TokenList:
        array, count = tokens_in(tokens)
        return _abi.TokenList(ctypes.cast(self.keep(array), ctypes.POINTER(ctypes.c_int32)), count)

    def element(self, kind, value):
        if kind is _abi.Text:
            return self.text(value)
        if kind is _abi.TokenList:
            return self.token_list(value)
        if kind is _abi.TokenBias:
            return _abi.TokenBias(*value)
        if kind is _abi.SequenceBias:
            listed = self.token_list(value[0])
            return _abi.SequenceBias(listed.tokens, listed.count, value[1], 0)
        return int(value)

    def array(self, struct, field, kind, values) -> None:
        values = [self.element(kind, value) for value in values]
        array = self.keep((kind * max(len(values), 1))(*values))
        setattr(struct, field, ctypes.cast(array, ctypes.POINTER(kind)))
        if hasattr(type(struct), count_name(field)):
            setattr(struct, count_name(field), len(values))

    def fill(self, kind, params, **special):
        """A struct of `kind` with the library's defaults, and every field of `params` that is set. `special` are the
        fields that need more than this, converted."""
        struct = kind()
        name = "".join("_" + c.lower() if c.isupper() else c for c in kind.__name__)
        getattr(lib, f"sotto{name}_init")(struct, ctypes.sizeof(struct))
        types = dict(kind._fields_)
        for field in dataclasses.fields(params) if params is not None else ():
            value = getattr(params, field.name)
            if value is None or field.name in special:
                continue
            c_type = types[field.name]
            if dataclasses.is_dataclass(value):
                nested = self.keep(self.fill(c_type._type_, value))
                setattr(struct, field.name, ctypes.pointer(nested))
            elif isinstance(c_type, _POINTER):
                self.array(struct, field.name, c_type._type_, value)
            elif c_type is _abi.Text:
                setattr(struct, field.name, self.text(value))
            else:
                setattr(struct, field.name, value)
        for field, value in special.items():
            if value is not None:
                setattr(struct, field, self.keep(value))
        return struct


def changed(kind, params, changes):
    """Parameters with some fields replaced, for calls that take both an object and keywords."""
    return dataclasses.replace(params or kind(), **changes)
