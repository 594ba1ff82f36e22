"""The sampling chain for the logits of any runtime, and the detection of watermarks. Neither needs a model."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._callbacks import Callbacks
from ._convert import Filler, changed, integer, integers_in, read, tokens_in
from ._library import check, lib
from ._resource import Block, Exclusive, Resource
from .generated import abi, info
from .generated.params import SamplerParams, WatermarkParams

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .generated.fields import SamplerFields, WatermarkFields
    from .model import Model

_LIST_BYTES = 16384


class Sampler(Resource):
    """The sampler's chain for any logits. `model` defines the text of tokens and the end-of-text token."""

    def __init__(self, vocabulary_size: int, params: SamplerParams | None = None, model: Model | None = None,
                 list_bytes: int = _LIST_BYTES, **changes: Unpack[SamplerFields]):
        error, size, handle = abi.Error(), ctypes.c_size_t(), ctypes.c_void_p()
        vocabulary_size = integer(abi.size, vocabulary_size, "vocabulary_size")
        list_bytes = integer(abi.u32, list_bytes, "list_bytes")
        check(lib.sotto_sampler_memory_size(vocabulary_size, list_bytes, size, error), error)
        memory = Block(size.value)
        self._model = model and model._retain()
        try:
            check(lib.sotto_sampler_init(model and model._handle, vocabulary_size, list_bytes, memory.address,
                                         memory.size, handle, error), error)
        except BaseException:
            if model:
                model._release()
            raise
        self.vocabulary_size = vocabulary_size
        self._memory, self._handle, self._callbacks = memory, handle, Callbacks()
        super().__init__()
        self.set(params, **changes)

    def set(self, params: SamplerParams | None = None, **changes: Unpack[SamplerFields]) -> None:
        """Sets the parameters and restarts the random numbers from the seed."""
        params, filler, error = changed(SamplerParams, params, changes), Filler(), abi.Error()
        given = filler.fill(abi.SamplerParams, params,
                            logits_callback=self._callbacks.logits(params.logits_callback, self._memory),
                            logits_processor=self._callbacks.processor(params.logits_processor, self._memory))
        with Exclusive(self) as handle:
            check(lib.sotto_sampler_set(handle, given, error), error)
        self._kept = filler

    def sample(self, logits, history: Sequence[int] = (), **situation) -> int:
        """Selects a token. `logits` are any floats. `situation` may contain allowed (words of 64 bits, such as a matcher's
        mask), generated_count, token_limit and sequence."""
        token, error = ctypes.c_int32(), abi.Error()
        given, _kept = self._input(logits, history, **situation)
        with Exclusive(self) as handle:
            status = lib.sotto_sampler_sample(handle, given, token, error)
        self._callbacks.raise_first()
        check(status, error)
        return token.value

    def apply(self, logits, history: Sequence[int] = (), **situation) -> dict[int, float]:
        """Returns the distribution after the chain: probabilities by token, in the order of tokens."""
        error, count = abi.Error(), ctypes.c_size_t()
        given, _kept = self._input(logits, history, **situation)
        tokens, probabilities = (ctypes.c_int32 * self.vocabulary_size)(), (ctypes.c_float * self.vocabulary_size)()
        with Exclusive(self) as handle:
            status = lib.sotto_sampler_apply(handle, given, tokens, probabilities, self.vocabulary_size, count, error)
        self._callbacks.raise_first()
        check(status, error)
        return dict(zip(tokens[:count.value], probabilities[:count.value]))

    def _input(self, logits, history, allowed=None, generated_count=0, token_limit=0, sequence=0):
        if len(logits) != self.vocabulary_size:
            raise ValueError(f"logits has {len(logits)} elements; it must have {self.vocabulary_size}")
        floats = (ctypes.c_float * self.vocabulary_size)(*logits)
        tokens, count = tokens_in(history, "history")
        words = None
        if allowed is not None:
            if 64 * len(allowed) < self.vocabulary_size:
                least = (self.vocabulary_size + 63) // 64
                raise ValueError(f"allowed has {len(allowed)} words; it must have at least {least}")
            words, _ = integers_in(abi.u64, allowed, "allowed")
        given = abi.SamplerInput(sequence=integer(abi.u32, sequence, "sequence"), logits=floats, allowed=words,
                                  history=tokens, history_count=count,
                                  generated_count=integer(abi.u64, generated_count, "generated_count"),
                                  token_limit=integer(abi.u64, token_limit, "token_limit"))
        return given, (floats, tokens, words)

    def _free(self) -> None:
        self._memory = self._handle = None
        if self._model:
            self._model._release()


def detect_watermark(tokens: Sequence[int], vocabulary_size: int, params: WatermarkParams | None = None,
                     **changes: Unpack[WatermarkFields]) -> info.WatermarkResult:
    """Detects a watermark in tokens of a model whose vocabulary has `vocabulary_size` tokens."""
    result, error, filler = abi.WatermarkResult(), abi.Error(), Filler()
    given = filler.fill(abi.WatermarkParams, changed(WatermarkParams, params, changes))
    array, count = tokens_in(tokens)
    vocabulary_size = integer(abi.size, vocabulary_size, "vocabulary_size")
    check(lib.sotto_watermark_detect(given, vocabulary_size, array, count, result, error), error)
    return read(info.WatermarkResult, result)


__all__ = ["Sampler", "detect_watermark"]
