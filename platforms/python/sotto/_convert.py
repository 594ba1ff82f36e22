"""Conversions between Python values and C structs."""
from __future__ import annotations

import ctypes
import dataclasses
import operator

from ._library import lib
from .generated import abi
from .generated.enums import Isa, Status

_POINTER = type(ctypes.POINTER(ctypes.c_int32))
_INTEGERS = {abi.i32, abi.u8, abi.u32, abi.u64, abi.size}


def as_bytes(text) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(memoryview(text))


def array_of(kind, values):
    """Returns an array of a C type and its length. An empty list becomes an array of one element, so that it has an
    address."""
    return (kind * max(len(values), 1))(*values), len(values)


def integers_in(kind, values, name: str):
    """Like array_of for integers, but rejects values that are out of range, which ctypes would wrap."""
    try:
        values = [operator.index(value) for value in values]
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    array, count = array_of(kind, values)
    for value, kept in zip(values, array):
        if value != kept:
            raise OverflowError(f"{name}: {value} is out of range")
    return array, count


def integer(kind, value, name: str) -> int:
    """Converts one integer and rejects it if it is out of range."""
    return integers_in(kind, [value], name)[0][0]


def tokens_in(tokens, name: str = "tokens"):
    return integers_in(abi.i32, tokens, name)


class Filler:
    """Fills C structs from parameters, and keeps the objects that they point to alive."""

    def __init__(self):
        self.kept = []

    def keep(self, value):
        self.kept.append(value)
        return value

    def text(self, value) -> abi.Text:
        data = self.keep(ctypes.create_string_buffer(as_bytes(value)))
        return abi.Text(ctypes.addressof(data), ctypes.sizeof(data) - 1)

    def token_list(self, tokens, name) -> abi.TokenList:
        array, count = tokens_in(tokens, name)
        return abi.TokenList(ctypes.cast(self.keep(array), ctypes.POINTER(ctypes.c_int32)), count)

    def element(self, kind, value, name):
        if kind is abi.Text:
            return self.text(value)
        if kind is abi.TokenList:
            return self.token_list(value, name)
        biased, bias = value
        if kind is abi.TokenBias:
            return abi.TokenBias(integer(abi.i32, biased, name), bias)
        listed = self.token_list(biased, name)
        return abi.SequenceBias(listed.tokens, listed.count, bias, 0)

    def array(self, struct, field, kind, values) -> None:
        if isinstance(values, (str, bytes)):
            raise TypeError(f"{field} is {values!r}; it must be a list")
        if kind in _INTEGERS:
            array, count = integers_in(kind, values, field)
        else:
            array, count = array_of(kind, [self.element(kind, value, field) for value in values])
        setattr(struct, field, ctypes.cast(self.keep(array), ctypes.POINTER(kind)))
        if counter := struct.COUNTS.get(field):
            setattr(struct, counter, count)

    def fill(self, kind, params, **special):
        """Returns a struct of `kind` with the library's defaults and the fields of `params` that are set. `special`
        holds fields that the caller has converted."""
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
            elif c_type is abi.Text:
                setattr(struct, field.name, self.text(value))
            elif c_type in _INTEGERS:
                setattr(struct, field.name, integer(c_type, value, field.name))
            else:
                try:
                    setattr(struct, field.name, value)
                except TypeError as error:
                    raise TypeError(f"{field.name}: {error}") from None
        for field, value in special.items():
            if value is not None:
                setattr(struct, field, self.keep(value))
        return struct


def changed(kind, params, changes):
    """Returns parameters with some fields replaced, for calls that take an object and keywords."""
    return dataclasses.replace(params or kind(), **changes)


def read(kind, struct):
    """Converts a C struct that the library filled in to the class `kind`."""
    hints = {"bool": bool, "Isa": Isa, "Status": Status, "int": int, "float": float}
    return kind(**{name: hints[hint](getattr(struct, name)) for name, hint in kind.__annotations__.items()})
