"""C callbacks that call Python functions. An exception in a Python function ends the library's call, and the call
raises it."""
from __future__ import annotations

import ctypes
from typing import NamedTuple

from ._convert import integers_in
from .generated import abi
from .generated.enums import LogLevel

_NAN = float("nan")


def log_callback(log):
    """Returns a C callback that calls `log(level, text)`."""
    return log and abi.LogFn(lambda _, level, text: log(LogLevel(level), ctypes.string_at(text).decode()))


class Piece(NamedTuple):
    """A generated token."""

    text: str  # whole characters; empty while a character or a stop string is incomplete
    token: int  # -1 if there is only text that was withheld before
    bytes: bytes  # the bytes of the token
    log_probability: float = _NAN  # under the model; NaN unless log_probabilities is set
    sampled_log_probability: float = _NAN  # after the sampler's chain
    alternatives: tuple[tuple[int, float], ...] = ()  # token and log probability, most likely first
    elapsed_ns: int = 0
    # The others are set if statistics is.
    entropy: float = _NAN  # of the model's distribution, in nats
    effective_vocabulary: float = _NAN  # exp(entropy)
    kept_count: int = 0  # number of tokens that could be drawn after the sampler's chain
    repetitiveness: float = _NAN  # of the newest tokens, from 0 to 1

    @classmethod
    def of(cls, piece: abi.Piece) -> Piece:
        text = ctypes.string_at(piece.text, piece.text_size).decode() if piece.text_size else ""
        raw = ctypes.string_at(piece.bytes, piece.byte_count) if piece.byte_count else b""
        alternatives = tuple((piece.alternatives[i].token, piece.alternatives[i].log_probability)
                             for i in range(piece.alternative_count))
        return cls(text, piece.token, raw, piece.log_probability, piece.sampled_log_probability, alternatives,
                   piece.elapsed_ns, piece.entropy, piece.effective_vocabulary, piece.kept_count,
                   piece.repetitiveness)


class Sequence(NamedTuple):
    """A continuation that a search found."""

    tokens: list[int]
    score: float
    log_probability: float
    stop: int
    index: int

    @classmethod
    def of(cls, sequence: abi.Sequence) -> Sequence:
        return cls(sequence.tokens[:sequence.token_count], sequence.score, sequence.log_probability, sequence.stop,
                   sequence.index)


class Callbacks:
    """Creates the callbacks of one session and keeps the exceptions that they raise."""

    def __init__(self):
        self._raised = []

    def raise_first(self) -> None:
        if self._raised:
            exception = self._raised[0]
            self._raised.clear()
            raise exception

    def _guarded(self, kind, function, failed):
        """Wraps `function`; C receives `failed` if it raises."""

        def call(*arguments):
            try:
                return function(*arguments)
            except BaseException as exception:  # raise_first raises it
                self._raised.append(exception)
                return failed

        return kind(call)

    def piece(self, function):
        if function is None:
            return abi.PieceFn()
        return self._guarded(abi.PieceFn, lambda _, piece: bool(function(Piece.of(piece.contents))), 1)

    def step(self, function):
        return function and self._guarded(
            abi.StepFn, lambda _, sequence, token: bool(function(sequence, token)), 1)

    def similarity(self, function):
        return function and self._guarded(
            abi.SimilarityFn, lambda _, a, a_count, b, b_count: function(a[:a_count], b[:b_count]), 0.0)

    def logits(self, function, memory):
        """Calls `function` with the logits as a writable memoryview of floats."""

        def call(_, logits, count):
            function(memory.view(ctypes.cast(logits, ctypes.c_void_p).value, 4 * count, "f"))

        return function and self._guarded(abi.LogitsFn, call, None)

    def processor(self, function, memory):
        """Calls `function` with the tokens before the next one, the index of the sequence, and the logits."""

        def call(_, tokens, token_count, sequence, logits, count):
            values = memory.view(ctypes.cast(logits, ctypes.c_void_p).value, 4 * count, "f")
            function(tokens[:token_count], sequence, values)

        return function and self._guarded(abi.LogitsProcessorFn, call, None)

    def draft(self, function):
        """Calls `function` with the newest tokens, the hidden state or None, and the capacity for draft tokens."""

        def call(_, tokens, token_count, hidden, hidden_count, drafts, capacity):
            state = memoryview(bytes((ctypes.c_float * hidden_count).from_address(
                ctypes.addressof(hidden.contents)))).cast("f") if hidden else None
            guesses, count = integers_in(abi.i32, function(tokens[:token_count], state, capacity), "draft")
            count = min(count, capacity)
            ctypes.memmove(drafts, guesses, count * ctypes.sizeof(abi.i32))
            return count

        return function and self._guarded(abi.DraftFn, call, 0)
