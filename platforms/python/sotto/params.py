"""Parameters. Each field is one of the struct of the same name in sotto.h, which says what it does, its range and
its default; None leaves the library's default.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from .enums import (Rerank, Dola, Draft, EarlyStopping, Feature, GrammarLanguage, GuideMode, Isa, JsonSpace, LengthNorm,
                    LogLevel, Order, Overflow, SearchMode, Selection, Stage, WatermarkScheme)

if TYPE_CHECKING:
    from .grammar import Vocabulary
    from .session import Session

Text = Union[str, bytes]


@dataclass(frozen=True)
class ModelParams:
    """How a model is opened."""

    isa: Isa | None = None
    verify_checksums: bool | None = None
    copy_weights: bool | None = None
    log: Callable[[LogLevel, str], None] | None = None


@dataclass(frozen=True)
class SessionParams:
    """The shape of a session; all of its memory follows from it."""

    context_tokens: int | None = None
    batch_tokens: int | None = None
    thread_count: int | None = None
    overflow: Overflow | None = None
    sink_tokens: int | None = None
    sequence_count: int | None = None
    sequence_tokens: int | None = None
    features: Feature | None = None
    list_bytes: int | None = None
    draft_tokens: int | None = None


@dataclass(frozen=True)
class WatermarkParams:
    """A watermark, for a sampler and for detect_watermark."""

    scheme: WatermarkScheme | None = None
    context_width: int | None = None
    gamma: float | None = None
    delta: float | None = None
    tournament_layers: int | None = None
    key: int | None = None


@dataclass(frozen=True)
class SamplerParams:
    """The chain between logits and token."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    repetition_window: int | None = None
    log_probabilities: bool | None = None
    seed: int | None = None
    order: Order | None = None
    min_keep: int | None = None
    stages: Sequence[Stage] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    penalize_prompt: bool | None = None
    penalty_slope: float | None = None
    no_repeat_ngram: int | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_window: int | None = None
    guard_window: int | None = None
    guard_penalty: float | None = None
    dry_breakers: Sequence[Text] | None = None
    dry_breaker_tokens: Sequence[int] | None = None
    temperature_range: float | None = None
    temperature_exponent: float | None = None
    smoothing_factor: float | None = None
    smoothing_curve: float | None = None
    top_p_decay: float | None = None
    top_p_min: float | None = None
    top_p_reset_token: int | None = None
    top_a: float | None = None
    tail_free: float | None = None
    typical_p: float | None = None
    epsilon: float | None = None
    eta: float | None = None
    top_n_sigma: float | None = None
    top_h: float | None = None
    xtc_probability: float | None = None
    xtc_threshold: float | None = None
    selection: Selection | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    mirostat_m: int | None = None
    adaptive_target: float | None = None
    adaptive_decay: float | None = None
    min_new_tokens: int | None = None
    ignore_end: bool | None = None
    end_decay_start: int | None = None
    end_decay_factor: float | None = None
    forced_last_token: int | None = None
    logit_bias: Sequence[tuple[int, float]] | None = None
    sequence_bias: Sequence[tuple[Sequence[int], float]] | None = None
    bad_words: Sequence[Sequence[int]] | None = None
    allowed_tokens: Sequence[int] | None = None
    suppressed_tokens: Sequence[int] | None = None
    begin_suppressed_tokens: Sequence[int] | None = None
    forced_prefix: Sequence[int] | None = None
    logits_callback: Callable[[memoryview], None] | None = None
    watermark: WatermarkParams | None = None
    dola: Dola | None = None
    dola_relative_top: float | None = None
    alternative_count: int | None = None


@dataclass(frozen=True)
class StopParams:
    """When a text ends, and what never comes."""

    include_stop_text: bool | None = None
    max_tokens: int | None = None
    max_time_ns: int | None = None
    repetition_limit: float | None = None
    repetition_window: int | None = None
    stop_tokens: Sequence[int] | None = None
    stop_strings: Sequence[Text] | None = None
    banned_strings: Sequence[Text] | None = None


@dataclass(frozen=True)
class GuideParams:
    """What a second session does to the first."""

    mode: GuideMode | None = None
    scale: float | None = None
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True)
class SearchParams:
    """A search over several continuations."""

    mode: SearchMode | None = None
    sequence_count: int | None = None
    return_count: int | None = None
    max_tokens: int | None = None
    length_penalty: float | None = None
    length_norm: LengthNorm | None = None
    early_stopping: EarlyStopping | None = None
    group_count: int | None = None
    diversity_penalty: float | None = None
    rerank: Rerank | None = None
    contrastive_k: int | None = None
    contrastive_alpha: float | None = None
    phrases: Sequence[Sequence[int]] | None = None
    phrase_groups: Sequence[int] | None = None
    similarity: Callable[[list[int], list[int]], float] | None = None
    on_step: Callable[[int, int], object] | None = None


@dataclass(frozen=True)
class GrammarParams:
    """How the source of a grammar is read."""

    language: GrammarLanguage | None = None
    root: Text | None = None
    vocabulary: Vocabulary | None = None
    triggers: Sequence[Text] | None = None
    trigger_tokens: Sequence[int] | None = None
    json_space: JsonSpace | None = None
    maximum_space: int | None = None
    allow_surrounding_whitespace: bool | None = None
    schema_draft: int | None = None
    assert_formats: bool | None = None
    closed: bool | None = None
    distinct_names: bool | None = None
    parallel_tool_calls: bool | None = None
    log: Callable[[LogLevel, str], None] | None = None


@dataclass(frozen=True)
class MatcherParams:
    """How much a matcher may keep."""

    sequence_count: int | None = None
    rollback_count: int | None = None
    node_count: int | None = None
    frame_count: int | None = None
    config_count: int | None = None
    item_count: int | None = None
    work_count: int | None = None
    mask_bytes: int | None = None
    step_budget: int | None = None


@dataclass(frozen=True)
class SpeculationParams:
    """Where guesses at the next tokens come from."""

    sources: Draft | None = None
    draft_tokens: int | None = None
    min_match: int | None = None
    max_match: int | None = None
    exit_layer: int | None = None
    draft_threshold: float | None = None
    draft_session: Session | None = None
    draft: Callable[[list[int], memoryview | None, int], Sequence[int]] | None = None
