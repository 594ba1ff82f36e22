package sotto

// #include "bridge.h"
import "C"

// What the library tells about its objects: the structs of the same names in sotto.h.

// ModelInfo is what a model is.
type ModelInfo struct {
	VocabularySize   uint32
	MaxContextTokens uint32
	LayerCount       uint32
	HeadCount        uint32
	EmbeddingSize    uint32
	FeedForwardSize  uint32
	EndOfTextToken   int32
	HasTokenizer     bool
	MaxTokenBytes    uint32
	ISA              ISA
	PackedInPlace    bool
	ParameterCount   uint64
	WeightBytes      uint64
	VocabularyBytes  uint64
	LayerWeightBits  uint32
	HeadWeightBits   uint32
}

func newModelInfo(c *C.sotto_model_info) ModelInfo {
	return ModelInfo{
		VocabularySize:   uint32(c.vocabulary_size),
		MaxContextTokens: uint32(c.max_context_tokens),
		LayerCount:       uint32(c.layer_count),
		HeadCount:        uint32(c.head_count),
		EmbeddingSize:    uint32(c.embedding_size),
		FeedForwardSize:  uint32(c.feed_forward_size),
		EndOfTextToken:   int32(c.end_of_text_token),
		HasTokenizer:     c.has_tokenizer != 0,
		MaxTokenBytes:    uint32(c.max_token_bytes),
		ISA:              ISA(c.isa),
		PackedInPlace:    c.packed_in_place != 0,
		ParameterCount:   uint64(c.parameter_count),
		WeightBytes:      uint64(c.weight_bytes),
		VocabularyBytes:  uint64(c.vocabulary_bytes),
		LayerWeightBits:  uint32(c.layer_weight_bits),
		HeadWeightBits:   uint32(c.head_weight_bits),
	}
}

// SessionInfo is a session's shape and state.
type SessionInfo struct {
	ContextTokens uint32
	BatchTokens   uint32
	ThreadCount   uint32
	SinkTokens    uint32
	CachedTokens  uint32
	TokenCount    uint64
	ReanchorCount uint64
	KVBytes       uint64
	MemoryBytes   uint64
}

func newSessionInfo(c *C.sotto_session_info) SessionInfo {
	return SessionInfo{
		ContextTokens: uint32(c.context_tokens),
		BatchTokens:   uint32(c.batch_tokens),
		ThreadCount:   uint32(c.thread_count),
		SinkTokens:    uint32(c.sink_tokens),
		CachedTokens:  uint32(c.cached_tokens),
		TokenCount:    uint64(c.token_count),
		ReanchorCount: uint64(c.reanchor_count),
		KVBytes:       uint64(c.kv_bytes),
		MemoryBytes:   uint64(c.memory_bytes),
	}
}

// SessionTimings counts, and wall-clock nanoseconds, since the beginning or ResetTimings.
type SessionTimings struct {
	PrefillTokens  uint64
	PrefillNS      uint64
	DecodeTokens   uint64
	DecodeNS       uint64
	SampleCount    uint64
	SampleNS       uint64
	ReanchorTokens uint64
	ReanchorNS     uint64
}

func newSessionTimings(c *C.sotto_session_timings) SessionTimings {
	return SessionTimings{
		PrefillTokens:  uint64(c.prefill_tokens),
		PrefillNS:      uint64(c.prefill_ns),
		DecodeTokens:   uint64(c.decode_tokens),
		DecodeNS:       uint64(c.decode_ns),
		SampleCount:    uint64(c.sample_count),
		SampleNS:       uint64(c.sample_ns),
		ReanchorTokens: uint64(c.reanchor_tokens),
		ReanchorNS:     uint64(c.reanchor_ns),
	}
}

// Score is how likely tokens were.
type Score struct {
	TokenCount     uint64
	LogProbability float64
	Perplexity     float64
}

func newScore(c *C.sotto_score) Score {
	return Score{
		TokenCount:     uint64(c.token_count),
		LogProbability: float64(c.log_probability),
		Perplexity:     float64(c.perplexity),
	}
}

// WatermarkResult is what a detector found.
type WatermarkResult struct {
	IsMarked   bool
	TokenCount uint64
	Score      float64
	Z          float64
	PValue     float64
}

func newWatermarkResult(c *C.sotto_watermark_result) WatermarkResult {
	return WatermarkResult{
		IsMarked:   c.is_marked != 0,
		TokenCount: uint64(c.token_count),
		Score:      float64(c.score),
		Z:          float64(c.z),
		PValue:     float64(c.p_value),
	}
}

// MatcherInfo is where a text stands in its grammar.
type MatcherInfo struct {
	MayEnd     bool
	MustEnd    bool
	TokenCount uint64
}

func newMatcherInfo(c *C.sotto_matcher_info) MatcherInfo {
	return MatcherInfo{
		MayEnd:     c.may_end != 0,
		MustEnd:    c.must_end != 0,
		TokenCount: uint64(c.token_count),
	}
}

// SpeculationInfo is how guesses fared since the beginning or ResetTimings.
type SpeculationInfo struct {
	BatchCount          uint64
	ProposedCount       uint64
	AcceptedCount       uint64
	ForcedProposedCount uint64
	ForcedAcceptedCount uint64
	DraftNS             uint64
}

func newSpeculationInfo(c *C.sotto_speculation_info) SpeculationInfo {
	return SpeculationInfo{
		BatchCount:          uint64(c.batch_count),
		ProposedCount:       uint64(c.proposed_count),
		AcceptedCount:       uint64(c.accepted_count),
		ForcedProposedCount: uint64(c.forced_proposed_count),
		ForcedAcceptedCount: uint64(c.forced_accepted_count),
		DraftNS:             uint64(c.draft_ns),
	}
}
