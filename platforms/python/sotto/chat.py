"""Conversations: messages with roles, replies, and a history that fits the context."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from ._callbacks import Piece
from ._convert import Filler, as_bytes, changed, integer, read
from ._library import check, lib
from ._resource import Block, Exclusive
from .generated import abi, info
from .generated.enums import ChatFormat, ChatRole, Status
from .generated.params import ChatParams, StopParams, Text
from .session import Session, limit_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .generated.fields import ChatFields, StopFields


def chat_format_text(chat_format: ChatFormat) -> str:
    """Returns the text of a predefined format."""
    return lib.sotto_chat_format_text(integer(abi.i32, chat_format, "chat_format")).decode()


class Chat:
    """A conversation over a session: `chat = Chat(session, ChatFormat.PLAIN)`. The session's sampler and grammar apply
    to the replies. The format is predefined, or the text of a format."""

    def __init__(self, session: Session, chat_format: ChatFormat | str = ChatFormat.PLAIN,
                 params: ChatParams | None = None, **changes: Unpack[ChatFields]):
        text = (chat_format if isinstance(chat_format, str) else chat_format_text(chat_format)).encode()
        error, size, handle = abi.Error(), ctypes.c_size_t(), ctypes.c_void_p()
        given = Filler().fill(abi.ChatParams, changed(ChatParams, params, changes))
        with Exclusive(session) as used:
            check(lib.sotto_chat_memory_size(used, given, size, error), error)
            memory = Block(size.value)
            check(lib.sotto_chat_init(used, given, text, len(text), memory.address, memory.size, handle, error), error)
        self.session = session
        self._memory, self._handle = memory, handle

    # Methods of sotto_chat, written by capi/generate from capi/params.

    def set_stops(self, params: StopParams | None = None, **changes: Unpack[StopFields]) -> None:
        """Sets the stops of the session, and adds the string that ends a reply."""
        filler = Filler()
        given = filler.fill(abi.StopParams, changed(StopParams, params, changes))
        error = abi.Error()
        with Exclusive(self.session):
            check(lib.sotto_chat_set_stops(self._handle, given, error), error)

    def add(self, role: ChatRole, text: Text) -> None:
        """Adds a message. A system message replaces an earlier one."""
        text_data = as_bytes(text)
        error = abi.Error()
        with Exclusive(self.session):
            check(lib.sotto_chat_add(self._handle, integer(abi.i32, role, "role"), text_data, len(text_data), error),
                  error)

    def reset(self) -> None:
        """Removes all messages."""
        with Exclusive(self.session):
            lib.sotto_chat_reset(self._handle)

    @property
    def info(self) -> info.ChatInfo:
        """Returns the state of the conversation."""
        found = abi.ChatInfo()
        with Exclusive(self.session):
            check(lib.sotto_chat_get_info(self._handle, found))
        return read(info.ChatInfo, found)

    def undo(self) -> None:
        """Removes the last turn."""
        error = abi.Error()
        with Exclusive(self.session):
            check(lib.sotto_chat_undo(self._handle, 0, error), error)

    def undo_reply(self) -> None:
        """Removes the last reply. Another one can then be generated."""
        error = abi.Error()
        with Exclusive(self.session):
            check(lib.sotto_chat_undo(self._handle, 1, error), error)

    def reply_with(self, max_tokens: int | None = None, on_piece: Callable[[Piece], object] | None = None) -> Status:
        """Generates a reply. Calls `on_piece` with each piece until it returns a true value. Returns the reason why the
        text ended. There is no limit if `max_tokens` is None."""
        limit = limit_of(max_tokens)
        callback = self.session._callbacks.piece(on_piece)
        error = abi.Error()
        with Exclusive(self.session):
            status = lib.sotto_chat_reply(self._handle, limit, callback, None, error)
            self.session._callbacks.raise_first()
            return Status(check(status, error))

    def save(self) -> bytes:
        """Returns the messages as bytes, the same on every platform."""
        size = ctypes.c_size_t()
        with Exclusive(self.session):
            lib.sotto_chat_save(self._handle, None, 0, size)
            data = ctypes.create_string_buffer(size.value)
            check(lib.sotto_chat_save(self._handle, data, size.value, size))
        return data.raw

    def restore(self, state: bytes) -> None:
        """Restores saved messages. The state is validated, so it may come from an untrusted source."""
        state_data = as_bytes(state)
        error = abi.Error()
        with Exclusive(self.session):
            check(lib.sotto_chat_restore(self._handle, state_data, len(state_data), error), error)

    # End of the generated methods.

    def reply(self, max_tokens: int | None = None, on_piece: Callable[[Piece], object] | None = None) -> str:
        """Generates a reply and returns its text. `on_piece` receives each piece, and ends the reply by returning a
        true value. `session.info.stop` says why the reply ended."""
        texts = []

        def receive(piece):
            texts.append(piece.text)
            return on_piece is not None and on_piece(piece)

        self.reply_with(max_tokens, receive)
        return "".join(texts)

