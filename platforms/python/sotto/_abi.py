"""The C ABI as ctypes declares it: every struct, callback and function of sotto.h, in the header's order."""
import ctypes
from ctypes import POINTER, CFUNCTYPE

i32, u8, u32, u64 = ctypes.c_int32, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64
f32, f64, size, pointer = ctypes.c_float, ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p

LogFn = CFUNCTYPE(None, pointer, i32, pointer)
ReleaseFn = CFUNCTYPE(None, pointer, pointer, size)
LogitsFn = CFUNCTYPE(None, pointer, POINTER(f32), size)
SimilarityFn = CFUNCTYPE(f64, pointer, POINTER(i32), size, POINTER(i32), size)
StepFn = CFUNCTYPE(i32, pointer, u32, i32)
DraftFn = CFUNCTYPE(size, pointer, POINTER(i32), size, POINTER(f32), size, POINTER(i32), size)


class Struct(ctypes.Structure):
    """A struct that may begin with its own size."""

    def __init__(self, *args, **values):
        super().__init__(*args, **values)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)


class Error(Struct):
    _fields_ = [
        ("struct_size", u32), ("status", i32), ("offset", u64), ("message", ctypes.c_char * 240)]


class ModelParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("isa", i32), ("verify_checksums", u32), ("copy_weights", u32), ("log", LogFn),
        ("log_user_data", pointer), ("release", ReleaseFn), ("release_user_data", pointer)]


class ModelInfo(Struct):
    _fields_ = [
        ("struct_size", u32), ("vocabulary_size", u32), ("max_context_tokens", u32), ("layer_count", u32),
        ("head_count", u32), ("embedding_size", u32), ("feed_forward_size", u32), ("end_of_text_token", i32),
        ("has_tokenizer", u32), ("max_token_bytes", u32), ("isa", i32), ("packed_in_place", u32),
        ("parameter_count", u64), ("weight_bytes", u64), ("vocabulary_bytes", u64),
        ("layer_weight_bits", u32), ("head_weight_bits", u32)]


class TokenList(Struct):
    _fields_ = [
        ("tokens", POINTER(i32)), ("count", size)]


class Text(Struct):
    _fields_ = [
        ("text", pointer), ("size", size)]


class Executor(Struct):
    _fields_ = [
        ("struct_size", u32), ("reserved", u32), ("num_threads", pointer), ("schedule", pointer),
        ("executor_context", pointer)]


class SessionParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("context_tokens", u32), ("batch_tokens", u32), ("thread_count", u32),
        ("overflow", i32), ("sink_tokens", u32), ("executor", POINTER(Executor)), ("sequence_count", u32),
        ("sequence_tokens", u32), ("features", u32), ("list_bytes", u32), ("draft_tokens", u32),
        ("reserved", u32)]


class SessionInfo(Struct):
    _fields_ = [
        ("struct_size", u32), ("context_tokens", u32), ("batch_tokens", u32), ("thread_count", u32),
        ("sink_tokens", u32), ("cached_tokens", u32), ("token_count", u64), ("reanchor_count", u64),
        ("kv_bytes", u64), ("memory_bytes", u64)]


class SessionTimings(Struct):
    _fields_ = [
        ("struct_size", u32), ("reserved", u32), ("prefill_tokens", u64), ("prefill_ns", u64),
        ("decode_tokens", u64), ("decode_ns", u64), ("sample_count", u64), ("sample_ns", u64),
        ("reanchor_tokens", u64), ("reanchor_ns", u64)]


class Alternative(Struct):
    _fields_ = [
        ("token", i32), ("log_probability", f32)]


class Piece(Struct):
    _fields_ = [
        ("text", pointer), ("text_size", size), ("token", i32), ("log_probability", f32),
        ("sampled_log_probability", f32), ("alternative_count", u32), ("alternatives", POINTER(Alternative)),
        ("bytes", pointer), ("byte_count", size), ("elapsed_ns", u64)]


PieceFn = CFUNCTYPE(i32, pointer, POINTER(Piece))


class TokenBias(Struct):
    _fields_ = [
        ("token", i32), ("bias", f32)]


class SequenceBias(Struct):
    _fields_ = [
        ("tokens", POINTER(i32)), ("count", size), ("bias", f32), ("reserved", u32)]


class WatermarkParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("scheme", i32), ("context_width", u32), ("gamma", f32), ("delta", f32),
        ("tournament_layers", u32), ("key", u64)]


class WatermarkResult(Struct):
    _fields_ = [
        ("struct_size", u32), ("is_marked", u32), ("token_count", u64), ("score", f64), ("z", f64),
        ("p_value", f64)]


class SamplerParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("temperature", f32), ("top_k", u32), ("top_p", f32), ("min_p", f32),
        ("repetition_penalty", f32), ("repetition_window", u32), ("log_probabilities", u32), ("seed", u64),
        ("order", i32), ("min_keep", u32), ("stages", POINTER(i32)), ("stage_count", size),
        ("frequency_penalty", f32), ("presence_penalty", f32), ("penalize_prompt", u32), ("penalty_slope", f32),
        ("no_repeat_ngram", u32), ("dry_multiplier", f32), ("dry_base", f32), ("dry_allowed_length", u32),
        ("dry_window", u32), ("guard_window", u32), ("guard_penalty", f32), ("reserved0", u32),
        ("dry_breakers", POINTER(Text)), ("dry_breaker_count", size), ("dry_breaker_tokens", POINTER(i32)),
        ("dry_breaker_token_count", size), ("temperature_range", f32), ("temperature_exponent", f32),
        ("smoothing_factor", f32), ("smoothing_curve", f32), ("top_p_decay", f32), ("top_p_min", f32),
        ("top_p_reset_token", i32), ("top_a", f32), ("tail_free", f32), ("typical_p", f32), ("epsilon", f32),
        ("eta", f32), ("top_n_sigma", f32), ("top_h", f32), ("xtc_probability", f32), ("xtc_threshold", f32),
        ("selection", i32), ("mirostat_tau", f32), ("mirostat_eta", f32), ("mirostat_m", u32),
        ("adaptive_target", f32), ("adaptive_decay", f32), ("min_new_tokens", u32), ("ignore_end", u32),
        ("end_decay_start", u32), ("end_decay_factor", f32), ("forced_last_token", i32), ("reserved1", u32),
        ("logit_bias", POINTER(TokenBias)), ("logit_bias_count", size),
        ("sequence_bias", POINTER(SequenceBias)), ("sequence_bias_count", size),
        ("bad_words", POINTER(TokenList)), ("bad_word_count", size), ("allowed_tokens", POINTER(i32)),
        ("allowed_token_count", size), ("suppressed_tokens", POINTER(i32)), ("suppressed_token_count", size),
        ("begin_suppressed_tokens", POINTER(i32)), ("begin_suppressed_token_count", size),
        ("forced_prefix", POINTER(i32)), ("forced_prefix_count", size), ("logits_callback", LogitsFn),
        ("logits_user_data", pointer), ("watermark", POINTER(WatermarkParams)), ("dola", i32),
        ("dola_relative_top", f32), ("alternative_count", u32), ("reserved2", u32)]


class SamplerInput(Struct):
    _fields_ = [
        ("struct_size", u32), ("sequence", u32), ("logits", POINTER(f32)), ("allowed", POINTER(u64)),
        ("history", POINTER(i32)), ("history_count", size), ("generated_count", u64), ("token_limit", u64)]


class StopParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("include_stop_text", u32), ("max_tokens", u64), ("max_time_ns", u64),
        ("repetition_limit", f32), ("repetition_window", u32), ("stop_tokens", POINTER(i32)),
        ("stop_token_count", size), ("stop_strings", POINTER(Text)), ("stop_string_count", size),
        ("banned_strings", POINTER(Text)), ("banned_string_count", size)]


class Score(Struct):
    _fields_ = [
        ("struct_size", u32), ("reserved", u32), ("token_count", u64), ("log_probability", f64),
        ("perplexity", f64)]


class GuideParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("mode", i32), ("scale", f32), ("alpha", f32), ("beta", f32), ("reserved", u32)]


class Sequence(Struct):
    _fields_ = [
        ("tokens", POINTER(i32)), ("token_count", size), ("score", f64), ("log_probability", f64),
        ("stop", i32), ("index", u32)]


class SearchParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("mode", i32), ("sequence_count", u32), ("return_count", u32),
        ("max_tokens", u32), ("length_penalty", f32), ("length_norm", i32), ("early_stopping", i32),
        ("group_count", u32), ("diversity_penalty", f32), ("rerank", i32), ("contrastive_k", u32),
        ("contrastive_alpha", f32), ("reserved", u32), ("phrases", POINTER(TokenList)),
        ("phrase_groups", POINTER(u32)), ("phrase_count", size), ("similarity", SimilarityFn),
        ("similarity_user_data", pointer), ("on_step", StepFn), ("step_user_data", pointer)]


class VocabularyParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("token_count", u32), ("model", pointer), ("bytes", pointer),
        ("offsets", POINTER(u32)), ("special", POINTER(u8)), ("end_tokens", POINTER(i32)),
        ("end_token_count", size)]


class GrammarParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("language", i32), ("root", Text), ("vocabulary", pointer),
        ("triggers", POINTER(Text)), ("trigger_count", size), ("trigger_tokens", POINTER(i32)),
        ("trigger_token_count", size), ("json_space", i32), ("maximum_space", u32), ("allow_surrounding_whitespace", u32),
        ("schema_draft", u32), ("assert_formats", u32), ("closed", u32), ("distinct_names", u32),
        ("parallel_tool_calls", u32), ("log", LogFn), ("log_user_data", pointer)]


class MatcherParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("sequence_count", u32), ("rollback_count", u32), ("node_count", u32),
        ("frame_count", u32), ("config_count", u32), ("item_count", u32), ("work_count", u32),
        ("mask_bytes", u32), ("reserved", u32), ("step_budget", u64)]


class MatcherInfo(Struct):
    _fields_ = [
        ("struct_size", u32), ("may_end", u32), ("must_end", u32), ("reserved", u32), ("token_count", u64)]


class SpeculationParams(Struct):
    _fields_ = [
        ("struct_size", u32), ("sources", u32), ("draft_tokens", u32), ("min_match", u32), ("max_match", u32),
        ("exit_layer", u32), ("draft_threshold", f32), ("reserved", u32), ("draft_session", pointer),
        ("draft", DraftFn), ("user_data", pointer)]


class SpeculationInfo(Struct):
    _fields_ = [
        ("struct_size", u32), ("reserved", u32), ("batch_count", u64), ("proposed_count", u64),
        ("accepted_count", u64), ("forced_proposed_count", u64), ("forced_accepted_count", u64),
        ("draft_ns", u64)]


# name: result, arguments
FUNCTIONS = {
    "sotto_version": (u32, []),
    "sotto_build_text": (ctypes.c_char_p, []),
    "sotto_status_text": (ctypes.c_char_p, [i32]),
    "sotto_isa_text": (ctypes.c_char_p, [i32]),
    "sotto_model_params_init": (None, [POINTER(ModelParams), size]),
    "sotto_model_memory_size": (i32, [pointer, size, POINTER(ModelParams), POINTER(size), POINTER(Error)]),
    "sotto_model_init": (i32, [pointer, size, POINTER(ModelParams), pointer, size, POINTER(pointer),
        POINTER(Error)]),
    "sotto_model_deinit": (None, [pointer]),
    "sotto_model_get_info": (i32, [pointer, POINTER(ModelInfo)]),
    "sotto_tokenize": (i32, [pointer, pointer, size, u32, POINTER(i32), size, POINTER(size), POINTER(Error)]),
    "sotto_token_bytes": (i32, [pointer, i32, POINTER(pointer), POINTER(size)]),
    "sotto_detokenize": (i32, [pointer, POINTER(i32), size, pointer, size, POINTER(size)]),
    "sotto_session_params_init": (None, [POINTER(SessionParams), size]),
    "sotto_session_memory_size": (i32, [pointer, POINTER(SessionParams), POINTER(size), POINTER(Error)]),
    "sotto_session_init": (i32, [pointer, POINTER(SessionParams), pointer, size, POINTER(pointer),
        POINTER(Error)]),
    "sotto_session_deinit": (None, [pointer]),
    "sotto_session_reset": (None, [pointer]),
    "sotto_session_prefill": (i32, [pointer, POINTER(i32), size]),
    "sotto_session_next": (i32, [pointer, POINTER(POINTER(Piece))]),
    "sotto_session_generate": (i32, [pointer, POINTER(i32), size, size, PieceFn, pointer]),
    "sotto_session_logits": (i32, [pointer, POINTER(POINTER(f32)), POINTER(size)]),
    "sotto_session_rewind": (i32, [pointer, u64]),
    "sotto_session_cancel": (None, [pointer]),
    "sotto_session_get_info": (i32, [pointer, POINTER(SessionInfo)]),
    "sotto_session_get_timings": (i32, [pointer, POINTER(SessionTimings)]),
    "sotto_session_reset_timings": (None, [pointer]),
    "sotto_watermark_params_init": (None, [POINTER(WatermarkParams), size]),
    "sotto_watermark_detect": (i32, [POINTER(WatermarkParams), size, POINTER(i32), size,
        POINTER(WatermarkResult), POINTER(Error)]),
    "sotto_sampler_params_init": (None, [POINTER(SamplerParams), size]),
    "sotto_session_set_sampler": (i32, [pointer, POINTER(SamplerParams), POINTER(Error)]),
    "sotto_sampler_memory_size": (i32, [size, u32, POINTER(size), POINTER(Error)]),
    "sotto_sampler_init": (i32, [pointer, size, u32, pointer, size, POINTER(pointer), POINTER(Error)]),
    "sotto_sampler_set": (i32, [pointer, POINTER(SamplerParams), POINTER(Error)]),
    "sotto_sampler_pick": (i32, [pointer, POINTER(SamplerInput), POINTER(i32), POINTER(Error)]),
    "sotto_sampler_apply": (i32, [pointer, POINTER(SamplerInput), POINTER(i32), POINTER(f32), size,
        POINTER(size), POINTER(Error)]),
    "sotto_stop_params_init": (None, [POINTER(StopParams), size]),
    "sotto_session_set_stops": (i32, [pointer, POINTER(StopParams), POINTER(Error)]),
    "sotto_session_heal": (i32, [pointer]),
    "sotto_session_score": (i32, [pointer, POINTER(i32), size, POINTER(f32), POINTER(Score)]),
    "sotto_session_hidden": (i32, [pointer, POINTER(POINTER(f32)), POINTER(size)]),
    "sotto_session_embed": (i32, [pointer, POINTER(i32), size, i32, POINTER(f32)]),
    "sotto_guide_params_init": (None, [POINTER(GuideParams), size]),
    "sotto_session_set_guide": (i32, [pointer, pointer, POINTER(GuideParams), POINTER(Error)]),
    "sotto_session_saved_size": (i32, [pointer, POINTER(size)]),
    "sotto_session_save": (i32, [pointer, pointer, size, POINTER(size)]),
    "sotto_session_restore": (i32, [pointer, pointer, size, POINTER(Error)]),
    "sotto_session_fork": (i32, [pointer, pointer, POINTER(Error)]),
    "sotto_search_params_init": (None, [POINTER(SearchParams), size]),
    "sotto_session_search": (i32, [pointer, POINTER(SearchParams), POINTER(POINTER(Sequence)), POINTER(size),
        POINTER(Error)]),
    "sotto_vocabulary_params_init": (None, [POINTER(VocabularyParams), size]),
    "sotto_vocabulary_memory_size": (i32, [POINTER(VocabularyParams), POINTER(size), POINTER(Error)]),
    "sotto_vocabulary_init": (i32, [POINTER(VocabularyParams), pointer, size, POINTER(pointer),
        POINTER(Error)]),
    "sotto_grammar_params_init": (None, [POINTER(GrammarParams), size]),
    "sotto_grammar_typical_memory": (size, [size]),
    "sotto_grammar_compile": (i32, [pointer, size, POINTER(GrammarParams), pointer, size, POINTER(pointer),
        POINTER(size), POINTER(Error)]),
    "sotto_grammar_save": (i32, [pointer, pointer, size, POINTER(size)]),
    "sotto_grammar_load": (i32, [pointer, size, POINTER(pointer), POINTER(Error)]),
    "sotto_matcher_params_init": (None, [POINTER(MatcherParams), size]),
    "sotto_matcher_memory_size": (i32, [pointer, pointer, POINTER(MatcherParams), POINTER(size),
        POINTER(Error)]),
    "sotto_matcher_init": (i32, [pointer, pointer, POINTER(MatcherParams), pointer, size, POINTER(pointer),
        POINTER(Error)]),
    "sotto_matcher_reset": (i32, [pointer, u32]),
    "sotto_matcher_mask": (i32, [pointer, u32, POINTER(u64), size]),
    "sotto_matcher_borrow_mask": (i32, [pointer, u32, POINTER(POINTER(u64))]),
    "sotto_matcher_accept_token": (i32, [pointer, u32, i32]),
    "sotto_matcher_accept_text": (i32, [pointer, u32, pointer, size]),
    "sotto_matcher_test": (i32, [pointer, u32, pointer, size, POINTER(u32), POINTER(u32)]),
    "sotto_matcher_rewind": (i32, [pointer, u64]),
    "sotto_matcher_fork": (i32, [pointer, u32, u32]),
    "sotto_matcher_forced_text": (i32, [pointer, u32, pointer, size, POINTER(size)]),
    "sotto_matcher_get_info": (i32, [pointer, u32, POINTER(MatcherInfo)]),
    "sotto_session_set_matcher": (i32, [pointer, pointer, POINTER(Error)]),
    "sotto_speculation_params_init": (None, [POINTER(SpeculationParams), size]),
    "sotto_session_set_speculation": (i32, [pointer, POINTER(SpeculationParams), POINTER(Error)]),
    "sotto_session_get_speculation_info": (i32, [pointer, POINTER(SpeculationInfo)]),
}
