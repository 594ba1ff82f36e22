"""Models: the weights and tokenizer of one file, shared by any number of sessions and threads."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._callbacks import log_callback
from ._convert import Filler, as_bytes, changed, integer, read, tokens_in
from ._library import SottoError, check, lib
from ._resource import Block, Resource, Shared
from .generated import abi, info
from .generated.enums import Isa, ModelTextKind, Status, TokenFlag
from .generated.params import ModelParams, SessionParams, Text
from .session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .generated.fields import ModelFields, SessionFields

_TOKENIZE_SPECIAL = 1


def isa_name(isa: Isa) -> str:
    """Returns the name of an instruction set."""
    return lib.sotto_isa_text(integer(abi.i32, isa, "isa")).decode()


class Model(Resource):
    """A model. Its sessions keep it alive, so it may be closed or dropped before them."""

    def __init__(self, file: Block, params: ModelParams | None, mapped: bool):
        error, size, handle, filler = abi.Error(), ctypes.c_size_t(), ctypes.c_void_p(), Filler()
        release = mapped and abi.ReleaseFn(lambda _, address, count: file.drop_pages(address, count))
        given = filler.fill(abi.ModelParams, params, release=release or None,
                            log=params and log_callback(params.log))
        check(lib.sotto_model_memory_size(file.address, file.size, given, size, error), error)
        memory = Block(size.value)
        check(lib.sotto_model_init(file.address, file.size, given, memory.address, memory.size, handle, error), error)
        self._file, self._memory, self._handle = file, memory, handle
        self._kept = filler
        super().__init__()
        self.vocabulary_size = self.info.vocabulary_size

    def __repr__(self) -> str:
        if self.closed:
            return "<sotto.Model: closed>"
        info = self.info
        return f"<sotto.Model: {info.layer_count} layers of {info.embedding_size}, {info.vocabulary_size} tokens>"

    @classmethod
    def open(cls, path, params: ModelParams | None = None, **changes: Unpack[ModelFields]) -> Model:
        """Maps and opens a model file. The file must not change while the model is in use."""
        params = changed(ModelParams, params, changes)
        try:
            return cls(Block.of_file(path), params, mapped=True)
        except SottoError as failure:
            raise SottoError(failure.status, f"{os.fspath(path)}: {failure}", failure.offset) from None

    @classmethod
    def from_bytes(cls, data, params: ModelParams | None = None, **changes: Unpack[ModelFields]) -> Model:
        """Opens a model from a copy of a file's bytes."""
        return cls(Block.of_bytes(data), changed(ModelParams, params, changes), mapped=False)

    @property
    def info(self) -> info.ModelInfo:
        struct = abi.ModelInfo()
        with Shared(self) as handle:
            check(lib.sotto_model_get_info(handle, struct))
        return read(info.ModelInfo, struct)

    @property
    def memory_bytes(self) -> int:
        """Returns the number of bytes of memory that the model uses in addition to its file."""
        return self._memory.size

    def session_memory_size(self, params: SessionParams | None = None, **changes: Unpack[SessionFields]) -> int:
        """Returns the number of bytes of memory that a session would use."""
        error, size, filler = abi.Error(), ctypes.c_size_t(), Filler()
        given = filler.fill(abi.SessionParams, changed(SessionParams, params, changes))
        with Shared(self) as handle:
            check(lib.sotto_session_memory_size(handle, given, size, error), error)
        return size.value

    def session(self, params: SessionParams | None = None, **changes: Unpack[SessionFields]) -> Session:
        """Creates a session: `model.session(context_tokens=256, thread_count=2)`."""
        return Session(self, changed(SessionParams, params, changes))

    def tokenize(self, text: Text, special: bool = False) -> list[int]:
        """Encodes text. With `special`, text such as <|endoftext|> becomes its special token."""
        return self._tokenize(text, special)

    def _tokenize(self, text, special=False, is_held=False):
        data, flags = as_bytes(text), _TOKENIZE_SPECIAL if special else 0
        error, count, capacity = abi.Error(), ctypes.c_size_t(), len(data) // 2 + 8
        with Shared(self, is_held) as handle:
            while True:
                tokens = (ctypes.c_int32 * capacity)()
                status = lib.sotto_tokenize(handle, data, len(data), flags, tokens, capacity, count, error)
                if status != Status.BUFFER_TOO_SMALL:
                    break
                capacity = count.value
        check(status, error)
        return tokens[:count.value]

    def token_bytes(self, token: int) -> bytes:
        """Returns the bytes of one token; they may begin or end inside a character."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with Shared(self) as handle:
            check(lib.sotto_token_bytes(handle, integer(abi.i32, token, "token"), data, size))
            return ctypes.string_at(data, size.value) if size.value else b""

    def token_flags(self, token: int) -> TokenFlag:
        """Returns the flags of a token."""
        flags = ctypes.c_uint32()
        with Shared(self) as handle:
            check(lib.sotto_token_flags(handle, integer(abi.i32, token, "token"), flags))
        return TokenFlag(flags.value)

    def text(self, kind: ModelTextKind) -> str:
        """Returns a text about the model, such as its chat template, or an empty text."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with Shared(self) as handle:
            check(lib.sotto_model_text(handle, integer(abi.i32, kind, "kind"), data, size))
            return ctypes.string_at(data, size.value).decode(errors="replace")

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of tokens. With byte-level BPE they are exactly the bytes that were encoded."""
        array, count = tokens_in(tokens)
        size = ctypes.c_size_t()
        with Shared(self) as handle:
            status = lib.sotto_detokenize(handle, array, count, None, 0, size)
            if status == Status.BUFFER_TOO_SMALL:
                data = ctypes.create_string_buffer(size.value)
                status = lib.sotto_detokenize(handle, array, count, data, size.value, size)
                check(status)
                return data.raw
        if status == Status.INVALID_ARGUMENT:
            index = next(i for i, token in enumerate(array) if not 0 <= token < self.vocabulary_size)
            raise SottoError(status, f"tokens[{index}] is {array[index]}; it must be at least 0 and less than "
                                     f"{self.vocabulary_size}")
        check(status)
        return b""

    def _free(self) -> None:
        lib.sotto_model_deinit(self._handle)
        self._file = self._memory = self._handle = None


def model_memory_size(data, params: ModelParams | None = None, **changes: Unpack[ModelFields]) -> int:
    """Returns the number of bytes of memory that a model would use in addition to its file. `data` is the content of
    the file."""
    file, error, size, filler = Block.of_bytes(data), abi.Error(), ctypes.c_size_t(), Filler()
    given = filler.fill(abi.ModelParams, changed(ModelParams, params, changes), log=None)
    check(lib.sotto_model_memory_size(file.address, file.size, given, size, error), error)
    return size.value


__all__ = ["Model", "SottoError", "isa_name", "model_memory_size"]
