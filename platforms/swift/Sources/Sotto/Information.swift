import CSotto

// What the library tells about its objects: the structs of the same names in sotto.h.

/// What a model is.
public struct ModelInfo: Sendable {
  public let vocabularySize: UInt32
  public let maxContextTokens: UInt32
  public let layerCount: UInt32
  public let headCount: UInt32
  public let embeddingSize: UInt32
  public let feedForwardSize: UInt32
  public let endOfTextToken: Int32
  public let hasTokenizer: Bool
  public let maxTokenBytes: UInt32
  public let isa: InstructionSet?
  public let packedInPlace: Bool
  public let parameterCount: UInt64
  public let weightBytes: UInt64
  public let vocabularyBytes: UInt64
  public let layerWeightBits: UInt32
  public let headWeightBits: UInt32

  init(_ c: sotto_model_info) {
    vocabularySize = c.vocabulary_size
    maxContextTokens = c.max_context_tokens
    layerCount = c.layer_count
    headCount = c.head_count
    embeddingSize = c.embedding_size
    feedForwardSize = c.feed_forward_size
    endOfTextToken = c.end_of_text_token
    hasTokenizer = c.has_tokenizer != 0
    maxTokenBytes = c.max_token_bytes
    isa = InstructionSet(rawValue: c.isa)
    packedInPlace = c.packed_in_place != 0
    parameterCount = c.parameter_count
    weightBytes = c.weight_bytes
    vocabularyBytes = c.vocabulary_bytes
    layerWeightBits = c.layer_weight_bits
    headWeightBits = c.head_weight_bits
  }
}

/// A session's shape and state.
public struct SessionInfo: Sendable {
  public let contextTokens: UInt32
  public let batchTokens: UInt32
  public let threadCount: UInt32
  public let sinkTokens: UInt32
  public let cachedTokens: UInt32
  public let tokenCount: UInt64
  public let reanchorCount: UInt64
  public let kvBytes: UInt64
  public let memoryBytes: UInt64

  init(_ c: sotto_session_info) {
    contextTokens = c.context_tokens
    batchTokens = c.batch_tokens
    threadCount = c.thread_count
    sinkTokens = c.sink_tokens
    cachedTokens = c.cached_tokens
    tokenCount = c.token_count
    reanchorCount = c.reanchor_count
    kvBytes = c.kv_bytes
    memoryBytes = c.memory_bytes
  }
}

/// Counts, and wall-clock nanoseconds, since the beginning or resetTimings.
public struct SessionTimings: Sendable {
  public let prefillTokens: UInt64
  public let prefillNs: UInt64
  public let decodeTokens: UInt64
  public let decodeNs: UInt64
  public let sampleCount: UInt64
  public let sampleNs: UInt64
  public let reanchorTokens: UInt64
  public let reanchorNs: UInt64

  init(_ c: sotto_session_timings) {
    prefillTokens = c.prefill_tokens
    prefillNs = c.prefill_ns
    decodeTokens = c.decode_tokens
    decodeNs = c.decode_ns
    sampleCount = c.sample_count
    sampleNs = c.sample_ns
    reanchorTokens = c.reanchor_tokens
    reanchorNs = c.reanchor_ns
  }
}

/// How likely tokens were.
public struct Score: Sendable {
  public let tokenCount: UInt64
  public let logProbability: Double
  public let perplexity: Double

  init(_ c: sotto_score) {
    tokenCount = c.token_count
    logProbability = c.log_probability
    perplexity = c.perplexity
  }
}

/// What a detector found.
public struct WatermarkResult: Sendable {
  public let isMarked: Bool
  public let tokenCount: UInt64
  public let score: Double
  public let z: Double
  public let pValue: Double

  init(_ c: sotto_watermark_result) {
    isMarked = c.is_marked != 0
    tokenCount = c.token_count
    score = c.score
    z = c.z
    pValue = c.p_value
  }
}

/// Where a text stands in its grammar.
public struct MatcherInfo: Sendable {
  public let mayEnd: Bool
  public let mustEnd: Bool
  public let tokenCount: UInt64

  init(_ c: sotto_matcher_info) {
    mayEnd = c.may_end != 0
    mustEnd = c.must_end != 0
    tokenCount = c.token_count
  }
}

/// How guesses fared since the beginning or resetTimings.
public struct SpeculationInfo: Sendable {
  public let batchCount: UInt64
  public let proposedCount: UInt64
  public let acceptedCount: UInt64
  public let forcedProposedCount: UInt64
  public let forcedAcceptedCount: UInt64
  public let draftNs: UInt64

  init(_ c: sotto_speculation_info) {
    batchCount = c.batch_count
    proposedCount = c.proposed_count
    acceptedCount = c.accepted_count
    forcedProposedCount = c.forced_proposed_count
    forcedAcceptedCount = c.forced_accepted_count
    draftNs = c.draft_ns
  }
}
