"""Objects of the library and their memory: lifetimes and exclusive calls."""
from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
from typing import TYPE_CHECKING

from ._library import BusyError, ClosedError, SottoError
from .generated.enums import Status

if TYPE_CHECKING:
    from typing_extensions import Self

_HUGE_PAGE = 2 << 20


def _address(writable) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(writable))


def _map_huge_pages(size: int) -> memoryview:
    """Maps private memory aligned to a huge page. A system without huge pages backs it with small ones."""
    mapping = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE)
    begin = -_address(mapping) % _HUGE_PAGE
    with contextlib.suppress(OSError):
        mapping.madvise(mmap.MADV_HUGEPAGE, begin, size)
    return memoryview(mapping)[begin:begin + size]


class Block:
    """A block of page-aligned, zeroed memory. It stays mapped as long as a view of it exists.

    Decoding reads all weights for every token, so large blocks use huge pages where the system has them.
    """

    def __init__(self, size: int, mapping: mmap.mmap | None = None):
        if mapping is None and size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            self._bytes = _map_huge_pages(size)
        else:
            self._bytes = memoryview(mmap.mmap(-1, max(size, 1)) if mapping is None else mapping)
        self.size = size
        self.address = _address(self._bytes)

    @classmethod
    def of_bytes(cls, data) -> Block:
        view = memoryview(data).cast("B")
        block = cls(len(view))
        block._bytes[:len(view)] = view
        return block

    @classmethod
    def of_file(cls, path) -> Block:
        """Maps the bytes of a file for reading."""
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise SottoError(Status.MODEL_CORRUPT, "the file is empty")
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return cls(len(mapping), mapping)

    def drop_pages(self, address: int, size: int) -> None:
        """Drops whole pages of a mapped file; an access reads them from the file again."""
        mapping = self._bytes.obj
        if not hasattr(mapping, "madvise"):
            return
        first = (address - self.address + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        end = (address - self.address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > first:
            mapping.madvise(mmap.MADV_DONTNEED, first, end - first)

    def view(self, address: int, size: int, kind: str) -> memoryview:
        """Returns a view of the values at an address inside the block."""
        begin = address - self.address
        if not 0 <= begin <= self.size - size:
            raise AssertionError("values outside the block")
        return self._bytes[begin:begin + size].cast(kind)


class Resource:
    """A handle that is freed when it has been closed and has no users left.

    If it is closed while a call runs or while another object needs it, it is freed afterwards. New calls of a closed
    object raise ClosedError.
    """

    def __init__(self):
        self._lock = threading.RLock()
        self._users = 1  # one until it is closed, and one per call and per dependent object
        self._closed = False
        self._busy = False
        self._attached = False

    def close(self) -> None:
        """Closes the object. It is freed after the running call, if any. May be called more than once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._busy:
                self._interrupt()
        self._release()

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if hasattr(self, "_users"):
            self.close()

    def _free(self) -> None:
        """Destroys the object. Called when it has no users left."""

    def _interrupt(self) -> None:
        """Makes the call in progress return soon."""

    def _retain(self, is_held=False):
        """Adds a user. If `is_held` is true, the caller is already a user, and the object may be closed."""
        with self._lock:
            if self._closed and not is_held:
                raise ClosedError(Status.INVALID_STATE, f"the {type(self).__name__.lower()} is closed")
            self._users += 1
        return self

    def _release(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._free()

    def _attach(self):
        """Reserves the object for a session. Other calls are rejected until _detach."""
        with self._lock:
            self._check_idle()
            self._retain()
            self._attached = True
        return self

    def _detach(self) -> None:
        with self._lock:
            self._attached = False
        self._release()

    def _check_idle(self) -> None:
        name = type(self).__name__.lower()
        if self._attached:
            raise BusyError(Status.INVALID_STATE, f"the {name} is in use by a session")
        if self._busy:
            raise BusyError(Status.INVALID_STATE, f"the {name} is inside another call")


class Shared:
    """`with Shared(resource) as handle`: any number of threads at once."""

    def __init__(self, resource: Resource, is_held: bool = False):
        self._resource, self._is_held = resource, is_held

    def __enter__(self):
        return self._resource._retain(self._is_held)._handle

    def __exit__(self, *_):
        self._resource._release()


class Exclusive:
    """`with Exclusive(resource) as handle`: one call at a time."""

    def __init__(self, resource: Resource):
        self._resource = resource

    def __enter__(self):
        resource = self._resource
        with resource._lock:
            if not resource._closed:
                resource._check_idle()
            resource._retain()
            resource._busy = True
            return resource._handle

    def __exit__(self, *_):
        with self._resource._lock:
            self._resource._busy = False
        self._resource._release()
