package sotto

// #include "bridge.h"
import "C"

// Between the parameters and the structs of C.

// DefaultModelParams gives the library's defaults.
func DefaultModelParams() ModelParams {
	c := defaultModelParamsC()
	var p ModelParams
	p.ISA = ISA(c.isa)
	p.VerifyChecksums = c.verify_checksums != 0
	p.CopyWeights = c.copy_weights != 0
	return p
}

func defaultModelParamsC() C.sotto_model_params {
	var c C.sotto_model_params
	C.sotto_model_params_init(&c, C.sizeof_sotto_model_params)
	return c
}

func (p *ModelParams) fill(c *C.sotto_model_params) {
	c.isa = C.sotto_isa(p.ISA)
	c.verify_checksums = flag(p.VerifyChecksums)
	c.copy_weights = flag(p.CopyWeights)
}

// DefaultSessionParams gives the library's defaults.
func DefaultSessionParams() SessionParams {
	c := defaultSessionParamsC()
	var p SessionParams
	p.ContextTokens = uint32(c.context_tokens)
	p.BatchTokens = uint32(c.batch_tokens)
	p.ThreadCount = uint32(c.thread_count)
	p.Overflow = Overflow(c.overflow)
	p.SinkTokens = uint32(c.sink_tokens)
	p.SequenceCount = uint32(c.sequence_count)
	p.SequenceTokens = uint32(c.sequence_tokens)
	p.Features = Feature(c.features)
	p.ListBytes = uint32(c.list_bytes)
	p.DraftTokens = uint32(c.draft_tokens)
	return p
}

func defaultSessionParamsC() C.sotto_session_params {
	var c C.sotto_session_params
	C.sotto_session_params_init(&c, C.sizeof_sotto_session_params)
	return c
}

func (p *SessionParams) fill(c *C.sotto_session_params) {
	c.context_tokens = C.uint32_t(p.ContextTokens)
	c.batch_tokens = C.uint32_t(p.BatchTokens)
	c.thread_count = C.uint32_t(p.ThreadCount)
	c.overflow = C.sotto_overflow(p.Overflow)
	c.sink_tokens = C.uint32_t(p.SinkTokens)
	c.sequence_count = C.uint32_t(p.SequenceCount)
	c.sequence_tokens = C.uint32_t(p.SequenceTokens)
	c.features = C.uint32_t(p.Features)
	c.list_bytes = C.uint32_t(p.ListBytes)
	c.draft_tokens = C.uint32_t(p.DraftTokens)
}

// DefaultWatermarkParams gives the library's defaults.
func DefaultWatermarkParams() WatermarkParams {
	c := defaultWatermarkParamsC()
	var p WatermarkParams
	p.Scheme = WatermarkScheme(c.scheme)
	p.ContextWidth = uint32(c.context_width)
	p.Gamma = float32(c.gamma)
	p.Delta = float32(c.delta)
	p.TournamentLayers = uint32(c.tournament_layers)
	p.Key = uint64(c.key)
	return p
}

func defaultWatermarkParamsC() C.sotto_watermark_params {
	var c C.sotto_watermark_params
	C.sotto_watermark_params_init(&c, C.sizeof_sotto_watermark_params)
	return c
}

func (p *WatermarkParams) fill(c *C.sotto_watermark_params) {
	c.scheme = C.sotto_watermark_scheme(p.Scheme)
	c.context_width = C.uint32_t(p.ContextWidth)
	c.gamma = C.float(p.Gamma)
	c.delta = C.float(p.Delta)
	c.tournament_layers = C.uint32_t(p.TournamentLayers)
	c.key = C.uint64_t(p.Key)
}

// DefaultSamplerParams gives the library's defaults.
func DefaultSamplerParams() SamplerParams {
	c := defaultSamplerParamsC()
	var p SamplerParams
	p.Temperature = float32(c.temperature)
	p.TopK = uint32(c.top_k)
	p.TopP = float32(c.top_p)
	p.MinP = float32(c.min_p)
	p.RepetitionPenalty = float32(c.repetition_penalty)
	p.RepetitionWindow = uint32(c.repetition_window)
	p.LogProbabilities = c.log_probabilities != 0
	p.Seed = uint64(c.seed)
	p.Order = Order(c.order)
	p.MinKeep = uint32(c.min_keep)
	p.FrequencyPenalty = float32(c.frequency_penalty)
	p.PresencePenalty = float32(c.presence_penalty)
	p.PenalizePrompt = c.penalize_prompt != 0
	p.PenaltySlope = float32(c.penalty_slope)
	p.NoRepeatNGram = uint32(c.no_repeat_ngram)
	p.DRYMultiplier = float32(c.dry_multiplier)
	p.DRYBase = float32(c.dry_base)
	p.DRYAllowedLength = uint32(c.dry_allowed_length)
	p.DRYWindow = uint32(c.dry_window)
	p.GuardWindow = uint32(c.guard_window)
	p.GuardPenalty = float32(c.guard_penalty)
	p.DRYBreakers = goTexts(c.dry_breakers, c.dry_breaker_count)
	p.TemperatureRange = float32(c.temperature_range)
	p.TemperatureExponent = float32(c.temperature_exponent)
	p.SmoothingFactor = float32(c.smoothing_factor)
	p.SmoothingCurve = float32(c.smoothing_curve)
	p.TopPDecay = float32(c.top_p_decay)
	p.TopPMin = float32(c.top_p_min)
	p.TopPResetToken = Token(c.top_p_reset_token)
	p.TopA = float32(c.top_a)
	p.TailFree = float32(c.tail_free)
	p.TypicalP = float32(c.typical_p)
	p.Epsilon = float32(c.epsilon)
	p.Eta = float32(c.eta)
	p.TopNSigma = float32(c.top_n_sigma)
	p.TopH = float32(c.top_h)
	p.XTCProbability = float32(c.xtc_probability)
	p.XTCThreshold = float32(c.xtc_threshold)
	p.Selection = Selection(c.selection)
	p.MirostatTau = float32(c.mirostat_tau)
	p.MirostatEta = float32(c.mirostat_eta)
	p.MirostatM = uint32(c.mirostat_m)
	p.AdaptiveTarget = float32(c.adaptive_target)
	p.AdaptiveDecay = float32(c.adaptive_decay)
	p.MinNewTokens = uint32(c.min_new_tokens)
	p.IgnoreEnd = c.ignore_end != 0
	p.EndDecayStart = uint32(c.end_decay_start)
	p.EndDecayFactor = float32(c.end_decay_factor)
	p.ForcedLastToken = Token(c.forced_last_token)
	p.Dola = Dola(c.dola)
	p.DolaRelativeTop = float32(c.dola_relative_top)
	p.AlternativeCount = uint32(c.alternative_count)
	return p
}

func defaultSamplerParamsC() C.sotto_sampler_params {
	var c C.sotto_sampler_params
	C.sotto_sampler_params_init(&c, C.sizeof_sotto_sampler_params)
	return c
}

func (p *SamplerParams) fill(c *C.sotto_sampler_params, a *arena) {
	c.temperature = C.float(p.Temperature)
	c.top_k = C.uint32_t(p.TopK)
	c.top_p = C.float(p.TopP)
	c.min_p = C.float(p.MinP)
	c.repetition_penalty = C.float(p.RepetitionPenalty)
	c.repetition_window = C.uint32_t(p.RepetitionWindow)
	c.log_probabilities = flag(p.LogProbabilities)
	c.seed = C.uint64_t(p.Seed)
	c.order = C.sotto_order(p.Order)
	c.min_keep = C.uint32_t(p.MinKeep)
	c.stages, c.stage_count = a.stages(p.Stages)
	c.frequency_penalty = C.float(p.FrequencyPenalty)
	c.presence_penalty = C.float(p.PresencePenalty)
	c.penalize_prompt = flag(p.PenalizePrompt)
	c.penalty_slope = C.float(p.PenaltySlope)
	c.no_repeat_ngram = C.uint32_t(p.NoRepeatNGram)
	c.dry_multiplier = C.float(p.DRYMultiplier)
	c.dry_base = C.float(p.DRYBase)
	c.dry_allowed_length = C.uint32_t(p.DRYAllowedLength)
	c.dry_window = C.uint32_t(p.DRYWindow)
	c.guard_window = C.uint32_t(p.GuardWindow)
	c.guard_penalty = C.float(p.GuardPenalty)
	c.dry_breakers, c.dry_breaker_count = a.texts(p.DRYBreakers)
	c.dry_breaker_tokens, c.dry_breaker_token_count = a.tokens(p.DRYBreakerTokens)
	c.temperature_range = C.float(p.TemperatureRange)
	c.temperature_exponent = C.float(p.TemperatureExponent)
	c.smoothing_factor = C.float(p.SmoothingFactor)
	c.smoothing_curve = C.float(p.SmoothingCurve)
	c.top_p_decay = C.float(p.TopPDecay)
	c.top_p_min = C.float(p.TopPMin)
	c.top_p_reset_token = C.sotto_token(p.TopPResetToken)
	c.top_a = C.float(p.TopA)
	c.tail_free = C.float(p.TailFree)
	c.typical_p = C.float(p.TypicalP)
	c.epsilon = C.float(p.Epsilon)
	c.eta = C.float(p.Eta)
	c.top_n_sigma = C.float(p.TopNSigma)
	c.top_h = C.float(p.TopH)
	c.xtc_probability = C.float(p.XTCProbability)
	c.xtc_threshold = C.float(p.XTCThreshold)
	c.selection = C.sotto_selection(p.Selection)
	c.mirostat_tau = C.float(p.MirostatTau)
	c.mirostat_eta = C.float(p.MirostatEta)
	c.mirostat_m = C.uint32_t(p.MirostatM)
	c.adaptive_target = C.float(p.AdaptiveTarget)
	c.adaptive_decay = C.float(p.AdaptiveDecay)
	c.min_new_tokens = C.uint32_t(p.MinNewTokens)
	c.ignore_end = flag(p.IgnoreEnd)
	c.end_decay_start = C.uint32_t(p.EndDecayStart)
	c.end_decay_factor = C.float(p.EndDecayFactor)
	c.forced_last_token = C.sotto_token(p.ForcedLastToken)
	c.logit_bias, c.logit_bias_count = a.tokenBiases(p.LogitBias)
	c.sequence_bias, c.sequence_bias_count = a.sequenceBiases(p.SequenceBias)
	c.bad_words, c.bad_word_count = a.tokenLists(p.BadWords)
	c.allowed_tokens, c.allowed_token_count = a.tokens(p.AllowedTokens)
	c.suppressed_tokens, c.suppressed_token_count = a.tokens(p.SuppressedTokens)
	c.begin_suppressed_tokens, c.begin_suppressed_token_count = a.tokens(p.BeginSuppressedTokens)
	c.forced_prefix, c.forced_prefix_count = a.tokens(p.ForcedPrefix)
	c.dola = C.sotto_dola(p.Dola)
	c.dola_relative_top = C.float(p.DolaRelativeTop)
	c.alternative_count = C.uint32_t(p.AlternativeCount)
}

// DefaultStopParams gives the library's defaults.
func DefaultStopParams() StopParams {
	c := defaultStopParamsC()
	var p StopParams
	p.IncludeStopText = c.include_stop_text != 0
	p.MaxTokens = uint64(c.max_tokens)
	p.MaxTimeNS = uint64(c.max_time_ns)
	p.RepetitionLimit = float32(c.repetition_limit)
	p.RepetitionWindow = uint32(c.repetition_window)
	return p
}

func defaultStopParamsC() C.sotto_stop_params {
	var c C.sotto_stop_params
	C.sotto_stop_params_init(&c, C.sizeof_sotto_stop_params)
	return c
}

func (p *StopParams) fill(c *C.sotto_stop_params, a *arena) {
	c.include_stop_text = flag(p.IncludeStopText)
	c.max_tokens = C.uint64_t(p.MaxTokens)
	c.max_time_ns = C.uint64_t(p.MaxTimeNS)
	c.repetition_limit = C.float(p.RepetitionLimit)
	c.repetition_window = C.uint32_t(p.RepetitionWindow)
	c.stop_tokens, c.stop_token_count = a.tokens(p.StopTokens)
	c.stop_strings, c.stop_string_count = a.texts(p.StopStrings)
	c.banned_strings, c.banned_string_count = a.texts(p.BannedStrings)
}

// DefaultGuideParams gives the library's defaults.
func DefaultGuideParams() GuideParams {
	c := defaultGuideParamsC()
	var p GuideParams
	p.Mode = GuideMode(c.mode)
	p.Scale = float32(c.scale)
	p.Alpha = float32(c.alpha)
	p.Beta = float32(c.beta)
	return p
}

func defaultGuideParamsC() C.sotto_guide_params {
	var c C.sotto_guide_params
	C.sotto_guide_params_init(&c, C.sizeof_sotto_guide_params)
	return c
}

func (p *GuideParams) fill(c *C.sotto_guide_params) {
	c.mode = C.sotto_guide_mode(p.Mode)
	c.scale = C.float(p.Scale)
	c.alpha = C.float(p.Alpha)
	c.beta = C.float(p.Beta)
}

// DefaultSearchParams gives the library's defaults.
func DefaultSearchParams() SearchParams {
	c := defaultSearchParamsC()
	var p SearchParams
	p.Mode = SearchMode(c.mode)
	p.SequenceCount = uint32(c.sequence_count)
	p.ReturnCount = uint32(c.return_count)
	p.MaxTokens = uint32(c.max_tokens)
	p.LengthPenalty = float32(c.length_penalty)
	p.LengthNorm = LengthNorm(c.length_norm)
	p.EarlyStopping = EarlyStopping(c.early_stopping)
	p.GroupCount = uint32(c.group_count)
	p.DiversityPenalty = float32(c.diversity_penalty)
	p.Rerank = Rerank(c.rerank)
	p.ContrastiveK = uint32(c.contrastive_k)
	p.ContrastiveAlpha = float32(c.contrastive_alpha)
	return p
}

func defaultSearchParamsC() C.sotto_search_params {
	var c C.sotto_search_params
	C.sotto_search_params_init(&c, C.sizeof_sotto_search_params)
	return c
}

func (p *SearchParams) fill(c *C.sotto_search_params, a *arena) {
	c.mode = C.sotto_search_mode(p.Mode)
	c.sequence_count = C.uint32_t(p.SequenceCount)
	c.return_count = C.uint32_t(p.ReturnCount)
	c.max_tokens = C.uint32_t(p.MaxTokens)
	c.length_penalty = C.float(p.LengthPenalty)
	c.length_norm = C.sotto_length_norm(p.LengthNorm)
	c.early_stopping = C.sotto_early_stopping(p.EarlyStopping)
	c.group_count = C.uint32_t(p.GroupCount)
	c.diversity_penalty = C.float(p.DiversityPenalty)
	c.rerank = C.sotto_rerank(p.Rerank)
	c.contrastive_k = C.uint32_t(p.ContrastiveK)
	c.contrastive_alpha = C.float(p.ContrastiveAlpha)
	c.phrases, c.phrase_count = a.tokenLists(p.Phrases)
}

// DefaultGrammarParams gives the library's defaults.
func DefaultGrammarParams() GrammarParams {
	c := defaultGrammarParamsC()
	var p GrammarParams
	p.Language = GrammarLanguage(c.language)
	p.JSONSpace = JSONSpace(c.json_space)
	p.MaximumSpace = uint32(c.maximum_space)
	p.AllowSurroundingWhitespace = c.allow_surrounding_whitespace != 0
	p.SchemaDraft = uint32(c.schema_draft)
	p.AssertFormats = c.assert_formats != 0
	p.Closed = c.closed != 0
	p.DistinctNames = c.distinct_names != 0
	p.ParallelToolCalls = c.parallel_tool_calls != 0
	return p
}

func defaultGrammarParamsC() C.sotto_grammar_params {
	var c C.sotto_grammar_params
	C.sotto_grammar_params_init(&c, C.sizeof_sotto_grammar_params)
	return c
}

func (p *GrammarParams) fill(c *C.sotto_grammar_params, a *arena) {
	c.language = C.sotto_grammar_language(p.Language)
	if p.Root != "" {
		c.root = a.text(p.Root)
	}
	c.triggers, c.trigger_count = a.texts(p.Triggers)
	c.trigger_tokens, c.trigger_token_count = a.tokens(p.TriggerTokens)
	c.json_space = C.sotto_json_space(p.JSONSpace)
	c.maximum_space = C.uint32_t(p.MaximumSpace)
	c.allow_surrounding_whitespace = flag(p.AllowSurroundingWhitespace)
	c.schema_draft = C.uint32_t(p.SchemaDraft)
	c.assert_formats = flag(p.AssertFormats)
	c.closed = flag(p.Closed)
	c.distinct_names = flag(p.DistinctNames)
	c.parallel_tool_calls = flag(p.ParallelToolCalls)
}

// DefaultMatcherParams gives the library's defaults.
func DefaultMatcherParams() MatcherParams {
	c := defaultMatcherParamsC()
	var p MatcherParams
	p.SequenceCount = uint32(c.sequence_count)
	p.RollbackCount = uint32(c.rollback_count)
	p.NodeCount = uint32(c.node_count)
	p.FrameCount = uint32(c.frame_count)
	p.ConfigCount = uint32(c.config_count)
	p.ItemCount = uint32(c.item_count)
	p.WorkCount = uint32(c.work_count)
	p.MaskBytes = uint32(c.mask_bytes)
	p.StepBudget = uint64(c.step_budget)
	return p
}

func defaultMatcherParamsC() C.sotto_matcher_params {
	var c C.sotto_matcher_params
	C.sotto_matcher_params_init(&c, C.sizeof_sotto_matcher_params)
	return c
}

func (p *MatcherParams) fill(c *C.sotto_matcher_params) {
	c.sequence_count = C.uint32_t(p.SequenceCount)
	c.rollback_count = C.uint32_t(p.RollbackCount)
	c.node_count = C.uint32_t(p.NodeCount)
	c.frame_count = C.uint32_t(p.FrameCount)
	c.config_count = C.uint32_t(p.ConfigCount)
	c.item_count = C.uint32_t(p.ItemCount)
	c.work_count = C.uint32_t(p.WorkCount)
	c.mask_bytes = C.uint32_t(p.MaskBytes)
	c.step_budget = C.uint64_t(p.StepBudget)
}

// DefaultSpeculationParams gives the library's defaults.
func DefaultSpeculationParams() SpeculationParams {
	c := defaultSpeculationParamsC()
	var p SpeculationParams
	p.Sources = Draft(c.sources)
	p.DraftTokens = uint32(c.draft_tokens)
	p.MinMatch = uint32(c.min_match)
	p.MaxMatch = uint32(c.max_match)
	p.ExitLayer = uint32(c.exit_layer)
	p.DraftThreshold = float32(c.draft_threshold)
	return p
}

func defaultSpeculationParamsC() C.sotto_speculation_params {
	var c C.sotto_speculation_params
	C.sotto_speculation_params_init(&c, C.sizeof_sotto_speculation_params)
	return c
}

func (p *SpeculationParams) fill(c *C.sotto_speculation_params) {
	c.sources = C.uint32_t(p.Sources)
	c.draft_tokens = C.uint32_t(p.DraftTokens)
	c.min_match = C.uint32_t(p.MinMatch)
	c.max_match = C.uint32_t(p.MaxMatch)
	c.exit_layer = C.uint32_t(p.ExitLayer)
	c.draft_threshold = C.float(p.DraftThreshold)
}
