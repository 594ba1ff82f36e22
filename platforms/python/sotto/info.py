"""What the library tells about its objects. Each field is one of the struct of the same name in sotto.h."""
from __future__ import annotations

from dataclasses import dataclass

from .enums import Isa


@dataclass(frozen=True)
class ModelInfo:
    """What a model is."""

    vocabulary_size: int
    max_context_tokens: int
    layer_count: int
    head_count: int
    embedding_size: int
    feed_forward_size: int
    end_of_text_token: int
    has_tokenizer: bool
    max_token_bytes: int
    isa: Isa
    packed_in_place: bool
    parameter_count: int
    weight_bytes: int
    vocabulary_bytes: int
    layer_weight_bits: int
    head_weight_bits: int


@dataclass(frozen=True)
class SessionInfo:
    """A session's shape and state."""

    context_tokens: int
    batch_tokens: int
    thread_count: int
    sink_tokens: int
    cached_tokens: int
    token_count: int
    reanchor_count: int
    kv_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class SessionTimings:
    """Wall-clock nanoseconds and counts since the beginning or reset_timings."""

    prefill_tokens: int
    prefill_ns: int
    decode_tokens: int
    decode_ns: int
    sample_count: int
    sample_ns: int
    reanchor_tokens: int
    reanchor_ns: int


@dataclass(frozen=True)
class Score:
    """How likely tokens were."""

    token_count: int
    log_probability: float
    perplexity: float


@dataclass(frozen=True)
class WatermarkResult:
    """What a detector found."""

    is_marked: bool
    token_count: int
    score: float
    z: float
    p_value: float


@dataclass(frozen=True)
class MatcherInfo:
    """Where a text stands in its grammar."""

    may_end: bool
    must_end: bool
    token_count: int


@dataclass(frozen=True)
class SpeculationInfo:
    """How guesses fared since the beginning or reset_timings."""

    batch_count: int
    proposed_count: int
    accepted_count: int
    forced_proposed_count: int
    forced_accepted_count: int
    draft_ns: int


def read(kind, struct):
    """The information of class `kind` that the library wrote to `struct`."""
    hints = {"bool": bool, "Isa": Isa, "int": int, "float": float}
    return kind(**{name: hints[hint](getattr(struct, name)) for name, hint in kind.__annotations__.items()})
