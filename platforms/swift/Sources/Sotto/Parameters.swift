import CSotto

// Parameters begin with the library's defaults. Their fields are those of the structs in sotto.h, which says what they
// mean and which values they may have.

/// Adds to the logit of a token; negative infinity bans it.
public struct TokenBias: Sendable {
  public var token: Token
  public var bias: Float
  public init(token: Token, bias: Float) {
    self.token = token
    self.bias = bias
  }
}

/// Adds to the logit of the last token where those before it have just come.
public struct SequenceBias: Sendable {
  public var tokens: [Token]
  public var bias: Float
  public init(tokens: [Token], bias: Float) {
    self.tokens = tokens
    self.bias = bias
  }
}

/// How a model is opened.
public struct ModelParameters {
  public var isa: InstructionSet
  public var verifyChecksums: Bool
  public var copyWeights: Bool
  public var log: ((LogLevel, String) -> Void)?

  public init() {
    var c = sotto_model_params()
    sotto_model_params_init(&c, MemoryLayout<sotto_model_params>.stride)
    isa = InstructionSet(rawValue: c.isa)!
    verifyChecksums = c.verify_checksums != 0
    copyWeights = c.copy_weights != 0
  }

  func filled() -> sotto_model_params {
    var c = sotto_model_params()
    sotto_model_params_init(&c, MemoryLayout<sotto_model_params>.stride)
    c.isa = isa.rawValue
    c.verify_checksums = verifyChecksums ? 1 : 0
    c.copy_weights = copyWeights ? 1 : 0
    return c
  }
}

/// The shape of a session; all of its memory follows from it.
public struct SessionParameters {
  public var contextTokens: UInt32
  public var batchTokens: UInt32
  public var threadCount: UInt32
  public var overflow: Overflow
  public var sinkTokens: UInt32
  public var sequenceCount: UInt32
  public var sequenceTokens: UInt32
  public var features: Feature
  public var listBytes: UInt32
  public var draftTokens: UInt32

  public init() {
    var c = sotto_session_params()
    sotto_session_params_init(&c, MemoryLayout<sotto_session_params>.stride)
    contextTokens = c.context_tokens
    batchTokens = c.batch_tokens
    threadCount = c.thread_count
    overflow = Overflow(rawValue: c.overflow)!
    sinkTokens = c.sink_tokens
    sequenceCount = c.sequence_count
    sequenceTokens = c.sequence_tokens
    features = Feature(rawValue: c.features)
    listBytes = c.list_bytes
    draftTokens = c.draft_tokens
  }

  func filled() -> sotto_session_params {
    var c = sotto_session_params()
    sotto_session_params_init(&c, MemoryLayout<sotto_session_params>.stride)
    c.context_tokens = contextTokens
    c.batch_tokens = batchTokens
    c.thread_count = threadCount
    c.overflow = overflow.rawValue
    c.sink_tokens = sinkTokens
    c.sequence_count = sequenceCount
    c.sequence_tokens = sequenceTokens
    c.features = features.rawValue
    c.list_bytes = listBytes
    c.draft_tokens = draftTokens
    return c
  }
}

/// A watermark.
public struct WatermarkParameters {
  public var scheme: WatermarkScheme
  public var contextWidth: UInt32
  public var gamma: Float
  public var delta: Float
  public var tournamentLayers: UInt32
  public var key: UInt64

  public init() {
    var c = sotto_watermark_params()
    sotto_watermark_params_init(&c, MemoryLayout<sotto_watermark_params>.stride)
    scheme = WatermarkScheme(rawValue: c.scheme)!
    contextWidth = c.context_width
    gamma = c.gamma
    delta = c.delta
    tournamentLayers = c.tournament_layers
    key = c.key
  }

  func filled() -> sotto_watermark_params {
    var c = sotto_watermark_params()
    sotto_watermark_params_init(&c, MemoryLayout<sotto_watermark_params>.stride)
    c.scheme = scheme.rawValue
    c.context_width = contextWidth
    c.gamma = gamma
    c.delta = delta
    c.tournament_layers = tournamentLayers
    c.key = key
    return c
  }
}

/// When a text ends, and what never comes.
public struct StopParameters {
  public var includeStopText: Bool
  public var maxTokens: UInt64
  public var maxTimeNs: UInt64
  public var repetitionLimit: Float
  public var repetitionWindow: UInt32
  public var stopTokens: [Token] = []
  public var stopStrings: [String] = []
  public var bannedStrings: [String] = []

  public init() {
    var c = sotto_stop_params()
    sotto_stop_params_init(&c, MemoryLayout<sotto_stop_params>.stride)
    includeStopText = c.include_stop_text != 0
    maxTokens = c.max_tokens
    maxTimeNs = c.max_time_ns
    repetitionLimit = c.repetition_limit
    repetitionWindow = c.repetition_window
  }

  func filled(_ arena: Arena) -> sotto_stop_params {
    var c = sotto_stop_params()
    sotto_stop_params_init(&c, MemoryLayout<sotto_stop_params>.stride)
    c.include_stop_text = includeStopText ? 1 : 0
    c.max_tokens = maxTokens
    c.max_time_ns = maxTimeNs
    c.repetition_limit = repetitionLimit
    c.repetition_window = repetitionWindow
    c.stop_tokens = arena.tokens(stopTokens)
    c.stop_token_count = stopTokens.count
    c.stop_strings = arena.texts(stopStrings)
    c.stop_string_count = stopStrings.count
    c.banned_strings = arena.texts(bannedStrings)
    c.banned_string_count = bannedStrings.count
    return c
  }
}

/// What a second session does to the first.
public struct GuideParameters {
  public var mode: GuideMode
  public var scale: Float
  public var alpha: Float
  public var beta: Float

  public init() {
    var c = sotto_guide_params()
    sotto_guide_params_init(&c, MemoryLayout<sotto_guide_params>.stride)
    mode = GuideMode(rawValue: c.mode)!
    scale = c.scale
    alpha = c.alpha
    beta = c.beta
  }

  func filled() -> sotto_guide_params {
    var c = sotto_guide_params()
    sotto_guide_params_init(&c, MemoryLayout<sotto_guide_params>.stride)
    c.mode = mode.rawValue
    c.scale = scale
    c.alpha = alpha
    c.beta = beta
    return c
  }
}

/// A search over several continuations.
public struct SearchParameters {
  public var mode: SearchMode
  public var sequenceCount: UInt32
  public var returnCount: UInt32
  public var maxTokens: UInt32
  public var lengthPenalty: Float
  public var lengthNorm: LengthNorm
  public var earlyStopping: EarlyStopping
  public var groupCount: UInt32
  public var diversityPenalty: Float
  public var rerank: Rerank
  public var contrastiveK: UInt32
  public var contrastiveAlpha: Float
  public var phrases: [[Token]] = []
  public var phraseGroups: [UInt32]?
  public var similarity: (([Token], [Token]) throws -> Double)?
  public var onStep: ((UInt32, Token) throws -> Bool)?

  public init() {
    var c = sotto_search_params()
    sotto_search_params_init(&c, MemoryLayout<sotto_search_params>.stride)
    mode = SearchMode(rawValue: c.mode)!
    sequenceCount = c.sequence_count
    returnCount = c.return_count
    maxTokens = c.max_tokens
    lengthPenalty = c.length_penalty
    lengthNorm = LengthNorm(rawValue: c.length_norm)!
    earlyStopping = EarlyStopping(rawValue: c.early_stopping)!
    groupCount = c.group_count
    diversityPenalty = c.diversity_penalty
    rerank = Rerank(rawValue: c.rerank)!
    contrastiveK = c.contrastive_k
    contrastiveAlpha = c.contrastive_alpha
  }

  func filled(_ arena: Arena) -> sotto_search_params {
    var c = sotto_search_params()
    sotto_search_params_init(&c, MemoryLayout<sotto_search_params>.stride)
    c.mode = mode.rawValue
    c.sequence_count = sequenceCount
    c.return_count = returnCount
    c.max_tokens = maxTokens
    c.length_penalty = lengthPenalty
    c.length_norm = lengthNorm.rawValue
    c.early_stopping = earlyStopping.rawValue
    c.group_count = groupCount
    c.diversity_penalty = diversityPenalty
    c.rerank = rerank.rawValue
    c.contrastive_k = contrastiveK
    c.contrastive_alpha = contrastiveAlpha
    c.phrases = arena.tokenLists(phrases)
    c.phrase_count = phrases.count
    return c
  }
}

/// How the source of a grammar is read.
public struct GrammarParameters {
  public var language: GrammarLanguage
  public var root: String?
  public var vocabulary: Vocabulary?
  public var triggers: [String] = []
  public var triggerTokens: [Token] = []
  public var jsonSpace: JSONSpace
  public var maximumSpace: UInt32
  public var allowSurroundingWhitespace: Bool
  public var schemaDraft: UInt32
  public var assertFormats: Bool
  public var closed: Bool
  public var distinctNames: Bool
  public var parallelToolCalls: Bool
  public var log: ((LogLevel, String) -> Void)?

  public init() {
    var c = sotto_grammar_params()
    sotto_grammar_params_init(&c, MemoryLayout<sotto_grammar_params>.stride)
    language = GrammarLanguage(rawValue: c.language)!
    jsonSpace = JSONSpace(rawValue: c.json_space)!
    maximumSpace = c.maximum_space
    allowSurroundingWhitespace = c.allow_surrounding_whitespace != 0
    schemaDraft = c.schema_draft
    assertFormats = c.assert_formats != 0
    closed = c.closed != 0
    distinctNames = c.distinct_names != 0
    parallelToolCalls = c.parallel_tool_calls != 0
  }

  func filled(_ arena: Arena) -> sotto_grammar_params {
    var c = sotto_grammar_params()
    sotto_grammar_params_init(&c, MemoryLayout<sotto_grammar_params>.stride)
    c.language = language.rawValue
    if let root { c.root = arena.text(root) }
    c.triggers = arena.texts(triggers)
    c.trigger_count = triggers.count
    c.trigger_tokens = arena.tokens(triggerTokens)
    c.trigger_token_count = triggerTokens.count
    c.json_space = jsonSpace.rawValue
    c.maximum_space = maximumSpace
    c.allow_surrounding_whitespace = allowSurroundingWhitespace ? 1 : 0
    c.schema_draft = schemaDraft
    c.assert_formats = assertFormats ? 1 : 0
    c.closed = closed ? 1 : 0
    c.distinct_names = distinctNames ? 1 : 0
    c.parallel_tool_calls = parallelToolCalls ? 1 : 0
    return c
  }
}

/// How much a matcher may keep.
public struct MatcherParameters {
  public var sequenceCount: UInt32
  public var rollbackCount: UInt32
  public var nodeCount: UInt32
  public var frameCount: UInt32
  public var configCount: UInt32
  public var itemCount: UInt32
  public var workCount: UInt32
  public var maskBytes: UInt32
  public var stepBudget: UInt64

  public init() {
    var c = sotto_matcher_params()
    sotto_matcher_params_init(&c, MemoryLayout<sotto_matcher_params>.stride)
    sequenceCount = c.sequence_count
    rollbackCount = c.rollback_count
    nodeCount = c.node_count
    frameCount = c.frame_count
    configCount = c.config_count
    itemCount = c.item_count
    workCount = c.work_count
    maskBytes = c.mask_bytes
    stepBudget = c.step_budget
  }

  func filled() -> sotto_matcher_params {
    var c = sotto_matcher_params()
    sotto_matcher_params_init(&c, MemoryLayout<sotto_matcher_params>.stride)
    c.sequence_count = sequenceCount
    c.rollback_count = rollbackCount
    c.node_count = nodeCount
    c.frame_count = frameCount
    c.config_count = configCount
    c.item_count = itemCount
    c.work_count = workCount
    c.mask_bytes = maskBytes
    c.step_budget = stepBudget
    return c
  }
}

/// Where guesses at the next tokens come from.
public struct SpeculationParameters {
  public var sources: Draft
  public var draftTokens: UInt32
  public var minMatch: UInt32
  public var maxMatch: UInt32
  public var exitLayer: UInt32
  public var draftThreshold: Float
  public var draftSession: Session?
  public var draft: (([Token], [Float]?, Int) throws -> [Token])?

  public init() {
    var c = sotto_speculation_params()
    sotto_speculation_params_init(&c, MemoryLayout<sotto_speculation_params>.stride)
    sources = Draft(rawValue: c.sources)
    draftTokens = c.draft_tokens
    minMatch = c.min_match
    maxMatch = c.max_match
    exitLayer = c.exit_layer
    draftThreshold = c.draft_threshold
  }

  func filled() -> sotto_speculation_params {
    var c = sotto_speculation_params()
    sotto_speculation_params_init(&c, MemoryLayout<sotto_speculation_params>.stride)
    c.sources = sources.rawValue
    c.draft_tokens = draftTokens
    c.min_match = minMatch
    c.max_match = maxMatch
    c.exit_layer = exitLayer
    c.draft_threshold = draftThreshold
    return c
  }
}
