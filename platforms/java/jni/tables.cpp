// The fields that structs of sotto.h have in the Java classes of the same names.
#include "platforms/java/jni/fields.h"

#include <cstddef>

namespace sotto_jni {
namespace {

#define FIELD(type, field, java, signature) \
  { java, signature, offsetof(type, field), 0 }
#define LIST(type, field, count, java, signature) \
  { java, signature, offsetof(type, field), offsetof(type, count) }

constexpr Field kModelParams[] = {
    FIELD(sotto_model_params, isa, "isa", "Lio/github/sotto/Isa;"),
    FIELD(sotto_model_params, verify_checksums, "verifyChecksums", "Z"),
    FIELD(sotto_model_params, copy_weights, "copyWeights", "Z"),
};

constexpr Field kSessionParams[] = {
    FIELD(sotto_session_params, context_tokens, "contextTokens", "I"),
    FIELD(sotto_session_params, batch_tokens, "batchTokens", "I"),
    FIELD(sotto_session_params, thread_count, "threadCount", "I"),
    FIELD(sotto_session_params, overflow, "overflow", "Lio/github/sotto/Overflow;"),
    FIELD(sotto_session_params, sink_tokens, "sinkTokens", "I"),
    FIELD(sotto_session_params, sequence_count, "sequenceCount", "I"),
    FIELD(sotto_session_params, sequence_tokens, "sequenceTokens", "I"),
    FIELD(sotto_session_params, features, "features", "I"),
    FIELD(sotto_session_params, list_bytes, "listBytes", "I"),
    FIELD(sotto_session_params, draft_tokens, "draftTokens", "I"),
};

constexpr Field kWatermarkParams[] = {
    FIELD(sotto_watermark_params, scheme, "scheme", "Lio/github/sotto/WatermarkScheme;"),
    FIELD(sotto_watermark_params, context_width, "contextWidth", "I"),
    FIELD(sotto_watermark_params, gamma, "gamma", "F"),
    FIELD(sotto_watermark_params, delta, "delta", "F"),
    FIELD(sotto_watermark_params, tournament_layers, "tournamentLayers", "I"),
    FIELD(sotto_watermark_params, key, "key", "J"),
};

constexpr Field kSamplerParams[] = {
    FIELD(sotto_sampler_params, temperature, "temperature", "F"),
    FIELD(sotto_sampler_params, top_k, "topK", "I"),
    FIELD(sotto_sampler_params, top_p, "topP", "F"),
    FIELD(sotto_sampler_params, min_p, "minP", "F"),
    FIELD(sotto_sampler_params, repetition_penalty, "repetitionPenalty", "F"),
    FIELD(sotto_sampler_params, repetition_window, "repetitionWindow", "I"),
    FIELD(sotto_sampler_params, log_probabilities, "logProbabilities", "Z"),
    FIELD(sotto_sampler_params, seed, "seed", "J"),
    FIELD(sotto_sampler_params, order, "order", "Lio/github/sotto/Order;"),
    FIELD(sotto_sampler_params, min_keep, "minKeep", "I"),
    LIST(sotto_sampler_params, stages, stage_count, "stages", "[Lio/github/sotto/Stage;"),
    FIELD(sotto_sampler_params, frequency_penalty, "frequencyPenalty", "F"),
    FIELD(sotto_sampler_params, presence_penalty, "presencePenalty", "F"),
    FIELD(sotto_sampler_params, penalize_prompt, "penalizePrompt", "Z"),
    FIELD(sotto_sampler_params, penalty_slope, "penaltySlope", "F"),
    FIELD(sotto_sampler_params, no_repeat_ngram, "noRepeatNgram", "I"),
    FIELD(sotto_sampler_params, dry_multiplier, "dryMultiplier", "F"),
    FIELD(sotto_sampler_params, dry_base, "dryBase", "F"),
    FIELD(sotto_sampler_params, dry_allowed_length, "dryAllowedLength", "I"),
    FIELD(sotto_sampler_params, dry_window, "dryWindow", "I"),
    FIELD(sotto_sampler_params, guard_window, "guardWindow", "I"),
    FIELD(sotto_sampler_params, guard_penalty, "guardPenalty", "F"),
    LIST(sotto_sampler_params, dry_breakers, dry_breaker_count, "dryBreakers", "[Ljava/lang/String;"),
    LIST(sotto_sampler_params, dry_breaker_tokens, dry_breaker_token_count, "dryBreakerTokens", "[I"),
    FIELD(sotto_sampler_params, temperature_range, "temperatureRange", "F"),
    FIELD(sotto_sampler_params, temperature_exponent, "temperatureExponent", "F"),
    FIELD(sotto_sampler_params, smoothing_factor, "smoothingFactor", "F"),
    FIELD(sotto_sampler_params, smoothing_curve, "smoothingCurve", "F"),
    FIELD(sotto_sampler_params, top_p_decay, "topPDecay", "F"),
    FIELD(sotto_sampler_params, top_p_min, "topPMin", "F"),
    FIELD(sotto_sampler_params, top_p_reset_token, "topPResetToken", "I"),
    FIELD(sotto_sampler_params, top_a, "topA", "F"),
    FIELD(sotto_sampler_params, tail_free, "tailFree", "F"),
    FIELD(sotto_sampler_params, typical_p, "typicalP", "F"),
    FIELD(sotto_sampler_params, epsilon, "epsilon", "F"),
    FIELD(sotto_sampler_params, eta, "eta", "F"),
    FIELD(sotto_sampler_params, top_n_sigma, "topNSigma", "F"),
    FIELD(sotto_sampler_params, top_h, "topH", "F"),
    FIELD(sotto_sampler_params, xtc_probability, "xtcProbability", "F"),
    FIELD(sotto_sampler_params, xtc_threshold, "xtcThreshold", "F"),
    FIELD(sotto_sampler_params, selection, "selection", "Lio/github/sotto/Selection;"),
    FIELD(sotto_sampler_params, mirostat_tau, "mirostatTau", "F"),
    FIELD(sotto_sampler_params, mirostat_eta, "mirostatEta", "F"),
    FIELD(sotto_sampler_params, mirostat_m, "mirostatM", "I"),
    FIELD(sotto_sampler_params, adaptive_target, "adaptiveTarget", "F"),
    FIELD(sotto_sampler_params, adaptive_decay, "adaptiveDecay", "F"),
    FIELD(sotto_sampler_params, min_new_tokens, "minNewTokens", "I"),
    FIELD(sotto_sampler_params, ignore_end, "ignoreEnd", "Z"),
    FIELD(sotto_sampler_params, end_decay_start, "endDecayStart", "I"),
    FIELD(sotto_sampler_params, end_decay_factor, "endDecayFactor", "F"),
    FIELD(sotto_sampler_params, forced_last_token, "forcedLastToken", "I"),
    LIST(sotto_sampler_params, logit_bias, logit_bias_count, "logitBias", "[Lio/github/sotto/TokenBias;"),
    LIST(sotto_sampler_params, sequence_bias, sequence_bias_count, "sequenceBias", "[Lio/github/sotto/SequenceBias;"),
    LIST(sotto_sampler_params, bad_words, bad_word_count, "badWords", "[[I"),
    LIST(sotto_sampler_params, allowed_tokens, allowed_token_count, "allowedTokens", "[I"),
    LIST(sotto_sampler_params, suppressed_tokens, suppressed_token_count, "suppressedTokens", "[I"),
    LIST(sotto_sampler_params, begin_suppressed_tokens, begin_suppressed_token_count, "beginSuppressedTokens", "[I"),
    LIST(sotto_sampler_params, forced_prefix, forced_prefix_count, "forcedPrefix", "[I"),
    FIELD(sotto_sampler_params, watermark, "watermark", "Lio/github/sotto/WatermarkParams;"),
    FIELD(sotto_sampler_params, dola, "dola", "Lio/github/sotto/Dola;"),
    FIELD(sotto_sampler_params, dola_relative_top, "dolaRelativeTop", "F"),
    FIELD(sotto_sampler_params, alternative_count, "alternativeCount", "I"),
};

constexpr Field kStopParams[] = {
    FIELD(sotto_stop_params, include_stop_text, "includeStopText", "Z"),
    FIELD(sotto_stop_params, max_tokens, "maxTokens", "J"),
    FIELD(sotto_stop_params, max_time_ns, "maxTimeNs", "J"),
    FIELD(sotto_stop_params, repetition_limit, "repetitionLimit", "F"),
    FIELD(sotto_stop_params, repetition_window, "repetitionWindow", "I"),
    LIST(sotto_stop_params, stop_tokens, stop_token_count, "stopTokens", "[I"),
    LIST(sotto_stop_params, stop_strings, stop_string_count, "stopStrings", "[Ljava/lang/String;"),
    LIST(sotto_stop_params, banned_strings, banned_string_count, "bannedStrings", "[Ljava/lang/String;"),
};

constexpr Field kGuideParams[] = {
    FIELD(sotto_guide_params, mode, "mode", "Lio/github/sotto/GuideMode;"),
    FIELD(sotto_guide_params, scale, "scale", "F"),
    FIELD(sotto_guide_params, alpha, "alpha", "F"),
    FIELD(sotto_guide_params, beta, "beta", "F"),
};

constexpr Field kSearchParams[] = {
    FIELD(sotto_search_params, mode, "mode", "Lio/github/sotto/SearchMode;"),
    FIELD(sotto_search_params, sequence_count, "sequenceCount", "I"),
    FIELD(sotto_search_params, return_count, "returnCount", "I"),
    FIELD(sotto_search_params, max_tokens, "maxTokens", "I"),
    FIELD(sotto_search_params, length_penalty, "lengthPenalty", "F"),
    FIELD(sotto_search_params, length_norm, "lengthNorm", "Lio/github/sotto/LengthNorm;"),
    FIELD(sotto_search_params, early_stopping, "earlyStopping", "Lio/github/sotto/EarlyStopping;"),
    FIELD(sotto_search_params, group_count, "groupCount", "I"),
    FIELD(sotto_search_params, diversity_penalty, "diversityPenalty", "F"),
    FIELD(sotto_search_params, rerank, "rerank", "Lio/github/sotto/Rerank;"),
    FIELD(sotto_search_params, contrastive_k, "contrastiveK", "I"),
    FIELD(sotto_search_params, contrastive_alpha, "contrastiveAlpha", "F"),
    LIST(sotto_search_params, phrases, phrase_count, "phrases", "[[I"),
};

constexpr Field kGrammarParams[] = {
    FIELD(sotto_grammar_params, language, "language", "Lio/github/sotto/GrammarLanguage;"),
    FIELD(sotto_grammar_params, root, "root", "Ljava/lang/String;"),
    LIST(sotto_grammar_params, triggers, trigger_count, "triggers", "[Ljava/lang/String;"),
    LIST(sotto_grammar_params, trigger_tokens, trigger_token_count, "triggerTokens", "[I"),
    FIELD(sotto_grammar_params, json_space, "jsonSpace", "Lio/github/sotto/JsonSpace;"),
    FIELD(sotto_grammar_params, maximum_space, "maximumSpace", "I"),
    FIELD(sotto_grammar_params, allow_surrounding_whitespace, "allowSurroundingWhitespace", "Z"),
    FIELD(sotto_grammar_params, schema_draft, "schemaDraft", "I"),
    FIELD(sotto_grammar_params, assert_formats, "assertFormats", "Z"),
    FIELD(sotto_grammar_params, closed, "closed", "Z"),
    FIELD(sotto_grammar_params, distinct_names, "distinctNames", "Z"),
    FIELD(sotto_grammar_params, parallel_tool_calls, "parallelToolCalls", "Z"),
};

constexpr Field kMatcherParams[] = {
    FIELD(sotto_matcher_params, sequence_count, "sequenceCount", "I"),
    FIELD(sotto_matcher_params, rollback_count, "rollbackCount", "I"),
    FIELD(sotto_matcher_params, node_count, "nodeCount", "I"),
    FIELD(sotto_matcher_params, frame_count, "frameCount", "I"),
    FIELD(sotto_matcher_params, config_count, "configCount", "I"),
    FIELD(sotto_matcher_params, item_count, "itemCount", "I"),
    FIELD(sotto_matcher_params, work_count, "workCount", "I"),
    FIELD(sotto_matcher_params, mask_bytes, "maskBytes", "I"),
    FIELD(sotto_matcher_params, step_budget, "stepBudget", "J"),
};

constexpr Field kSpeculationParams[] = {
    FIELD(sotto_speculation_params, sources, "sources", "I"),
    FIELD(sotto_speculation_params, draft_tokens, "draftTokens", "I"),
    FIELD(sotto_speculation_params, min_match, "minMatch", "I"),
    FIELD(sotto_speculation_params, max_match, "maxMatch", "I"),
    FIELD(sotto_speculation_params, exit_layer, "exitLayer", "I"),
    FIELD(sotto_speculation_params, draft_threshold, "draftThreshold", "F"),
};

constexpr Field kModelInfo[] = {
    FIELD(sotto_model_info, vocabulary_size, "vocabularySize", "I"),
    FIELD(sotto_model_info, max_context_tokens, "maxContextTokens", "I"),
    FIELD(sotto_model_info, layer_count, "layerCount", "I"),
    FIELD(sotto_model_info, head_count, "headCount", "I"),
    FIELD(sotto_model_info, embedding_size, "embeddingSize", "I"),
    FIELD(sotto_model_info, feed_forward_size, "feedForwardSize", "I"),
    FIELD(sotto_model_info, end_of_text_token, "endOfTextToken", "I"),
    FIELD(sotto_model_info, has_tokenizer, "hasTokenizer", "Z"),
    FIELD(sotto_model_info, max_token_bytes, "maxTokenBytes", "I"),
    FIELD(sotto_model_info, isa, "isa", "Lio/github/sotto/Isa;"),
    FIELD(sotto_model_info, packed_in_place, "packedInPlace", "Z"),
    FIELD(sotto_model_info, parameter_count, "parameterCount", "J"),
    FIELD(sotto_model_info, weight_bytes, "weightBytes", "J"),
    FIELD(sotto_model_info, vocabulary_bytes, "vocabularyBytes", "J"),
    FIELD(sotto_model_info, layer_weight_bits, "layerWeightBits", "I"),
    FIELD(sotto_model_info, head_weight_bits, "headWeightBits", "I"),
};

constexpr Field kSessionInfo[] = {
    FIELD(sotto_session_info, context_tokens, "contextTokens", "I"),
    FIELD(sotto_session_info, batch_tokens, "batchTokens", "I"),
    FIELD(sotto_session_info, thread_count, "threadCount", "I"),
    FIELD(sotto_session_info, sink_tokens, "sinkTokens", "I"),
    FIELD(sotto_session_info, cached_tokens, "cachedTokens", "I"),
    FIELD(sotto_session_info, token_count, "tokenCount", "J"),
    FIELD(sotto_session_info, reanchor_count, "reanchorCount", "J"),
    FIELD(sotto_session_info, kv_bytes, "kvBytes", "J"),
    FIELD(sotto_session_info, memory_bytes, "memoryBytes", "J"),
};

constexpr Field kSessionTimings[] = {
    FIELD(sotto_session_timings, prefill_tokens, "prefillTokens", "J"),
    FIELD(sotto_session_timings, prefill_ns, "prefillNs", "J"),
    FIELD(sotto_session_timings, decode_tokens, "decodeTokens", "J"),
    FIELD(sotto_session_timings, decode_ns, "decodeNs", "J"),
    FIELD(sotto_session_timings, sample_count, "sampleCount", "J"),
    FIELD(sotto_session_timings, sample_ns, "sampleNs", "J"),
    FIELD(sotto_session_timings, reanchor_tokens, "reanchorTokens", "J"),
    FIELD(sotto_session_timings, reanchor_ns, "reanchorNs", "J"),
};

constexpr Field kScore[] = {
    FIELD(sotto_score, token_count, "tokenCount", "J"),
    FIELD(sotto_score, log_probability, "logProbability", "D"),
    FIELD(sotto_score, perplexity, "perplexity", "D"),
};

constexpr Field kWatermarkResult[] = {
    FIELD(sotto_watermark_result, is_marked, "isMarked", "Z"),
    FIELD(sotto_watermark_result, token_count, "tokenCount", "J"),
    FIELD(sotto_watermark_result, score, "score", "D"),
    FIELD(sotto_watermark_result, z, "z", "D"),
    FIELD(sotto_watermark_result, p_value, "pValue", "D"),
};

constexpr Field kMatcherInfo[] = {
    FIELD(sotto_matcher_info, may_end, "mayEnd", "Z"),
    FIELD(sotto_matcher_info, must_end, "mustEnd", "Z"),
    FIELD(sotto_matcher_info, token_count, "tokenCount", "J"),
};

constexpr Field kSpeculationInfo[] = {
    FIELD(sotto_speculation_info, batch_count, "batchCount", "J"),
    FIELD(sotto_speculation_info, proposed_count, "proposedCount", "J"),
    FIELD(sotto_speculation_info, accepted_count, "acceptedCount", "J"),
    FIELD(sotto_speculation_info, forced_proposed_count, "forcedProposedCount", "J"),
    FIELD(sotto_speculation_info, forced_accepted_count, "forcedAcceptedCount", "J"),
    FIELD(sotto_speculation_info, draft_ns, "draftNs", "J"),
};

}  // namespace

const Fields kModelParamsFields = {kModelParams, sizeof kModelParams / sizeof *kModelParams};
const Fields kSessionParamsFields = {kSessionParams, sizeof kSessionParams / sizeof *kSessionParams};
const Fields kWatermarkParamsFields = {kWatermarkParams, sizeof kWatermarkParams / sizeof *kWatermarkParams};
const Fields kSamplerParamsFields = {kSamplerParams, sizeof kSamplerParams / sizeof *kSamplerParams};
const Fields kStopParamsFields = {kStopParams, sizeof kStopParams / sizeof *kStopParams};
const Fields kGuideParamsFields = {kGuideParams, sizeof kGuideParams / sizeof *kGuideParams};
const Fields kSearchParamsFields = {kSearchParams, sizeof kSearchParams / sizeof *kSearchParams};
const Fields kGrammarParamsFields = {kGrammarParams, sizeof kGrammarParams / sizeof *kGrammarParams};
const Fields kMatcherParamsFields = {kMatcherParams, sizeof kMatcherParams / sizeof *kMatcherParams};
const Fields kSpeculationParamsFields = {kSpeculationParams, sizeof kSpeculationParams / sizeof *kSpeculationParams};
const Fields kModelInfoFields = {kModelInfo, sizeof kModelInfo / sizeof *kModelInfo};
const Fields kSessionInfoFields = {kSessionInfo, sizeof kSessionInfo / sizeof *kSessionInfo};
const Fields kSessionTimingsFields = {kSessionTimings, sizeof kSessionTimings / sizeof *kSessionTimings};
const Fields kScoreFields = {kScore, sizeof kScore / sizeof *kScore};
const Fields kWatermarkResultFields = {kWatermarkResult, sizeof kWatermarkResult / sizeof *kWatermarkResult};
const Fields kMatcherInfoFields = {kMatcherInfo, sizeof kMatcherInfo / sizeof *kMatcherInfo};
const Fields kSpeculationInfoFields = {kSpeculationInfo, sizeof kSpeculationInfo / sizeof *kSpeculationInfo};

}  // namespace sotto_jni
