"""Finds and loads libsotto, and converts its failures to exceptions."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
import sys

from .generated import abi
from .generated.enums import Status

NO_OFFSET = 2**64 - 1
_VERSION_MAJOR = 1


class SottoError(RuntimeError):
    """A failed call: its status, a message, and the offset in the input if one is known."""

    def __init__(self, status: int, message: str = "", offset: int | None = None):
        try:
            status = Status(status)
        except ValueError:
            pass
        super().__init__(message or lib.sotto_status_text(int(status)).decode())
        self.status = status
        self.offset = offset


class ClosedError(SottoError):
    """The object has been closed."""


class BusyError(SottoError):
    """The object is inside another call, or a session uses it."""


def _candidates():
    """Returns the candidate paths of the library: the one that the user names, the one in the wheel, or the installed
    one."""
    if named := os.environ.get("SOTTO_LIBRARY"):
        return [named]
    name, versioned = {"darwin": ("libsotto.dylib", "libsotto.1.dylib"),
                       "win32": ("sotto.dll", "sotto.dll")}.get(sys.platform, ("libsotto.so", "libsotto.so.1"))
    packaged = pathlib.Path(__file__).with_name(name)
    return [str(packaged)] if packaged.exists() else [versioned, ctypes.util.find_library("sotto") or name]


def _load() -> ctypes.CDLL:
    failures = []
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
        except OSError as failure:
            failures.append(str(failure))
            continue
        for name, (result, arguments) in abi.FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        major = library.sotto_version() >> 16
        if major != _VERSION_MAJOR:
            raise ImportError(f"{candidate} is version {major}, not {_VERSION_MAJOR}")
        return library
    raise ImportError("libsotto was not found; SOTTO_LIBRARY may name it: " + "; ".join(failures))


lib = _load()


def check(status: int, error: abi.Error | None = None) -> int:
    """Raises an exception for a failure. Returns OK or the reason why generation ended."""
    if status >= 0:
        return status
    if error is None:
        raise SottoError(status)
    raise SottoError(status, error.message.decode("utf-8", "replace"),
                     None if error.offset == NO_OFFSET else error.offset)


def check_session(handle, status: int) -> int:
    """Like check, for a session's functions without an error parameter, whose failures the session describes."""
    error = abi.Error()
    if status < 0:
        lib.sotto_session_get_error(handle, error)
    return check(status, error if error.status == status else None)


def check_whole(status: int, error: abi.Error | None = None) -> None:
    """Also raises an exception for a stop, for calls whose outputs a stop leaves unwritten."""
    if check(status, error) != Status.OK:
        raise SottoError(status, f"the call ended with {Status(status).name}")


def version() -> tuple[int, int, int]:
    """Returns the version of the loaded library."""
    number = lib.sotto_version()
    return number >> 16, number >> 8 & 255, number & 255


def build_text() -> str:
    """Returns the features of the loaded library as words separated by spaces."""
    return lib.sotto_build_text().decode()
