import CSotto

// Parameters begin with the library's defaults. Their fields are those of the structs in sotto.h, which says what they
// mean and which values they may have.

/// The chain between logits and token.
public struct SamplerParameters {
  public var temperature: Float
  public var topK: UInt32
  public var topP: Float
  public var minP: Float
  public var repetitionPenalty: Float
  public var repetitionWindow: UInt32
  public var logProbabilities: Bool
  public var seed: UInt64
  public var order: Order
  public var minKeep: UInt32
  public var stages: [Stage] = []
  public var frequencyPenalty: Float
  public var presencePenalty: Float
  public var penalizePrompt: Bool
  public var penaltySlope: Float
  public var noRepeatNgram: UInt32
  public var dryMultiplier: Float
  public var dryBase: Float
  public var dryAllowedLength: UInt32
  public var dryWindow: UInt32
  public var guardWindow: UInt32
  public var guardPenalty: Float
  public var dryBreakers: [String]
  public var dryBreakerTokens: [Token] = []
  public var temperatureRange: Float
  public var temperatureExponent: Float
  public var smoothingFactor: Float
  public var smoothingCurve: Float
  public var topPDecay: Float
  public var topPMin: Float
  public var topPResetToken: Token
  public var topA: Float
  public var tailFree: Float
  public var typicalP: Float
  public var epsilon: Float
  public var eta: Float
  public var topNSigma: Float
  public var topH: Float
  public var xtcProbability: Float
  public var xtcThreshold: Float
  public var selection: Selection
  public var mirostatTau: Float
  public var mirostatEta: Float
  public var mirostatM: UInt32
  public var adaptiveTarget: Float
  public var adaptiveDecay: Float
  public var minNewTokens: UInt32
  public var ignoreEnd: Bool
  public var endDecayStart: UInt32
  public var endDecayFactor: Float
  public var forcedLastToken: Token
  public var logitBias: [TokenBias] = []
  public var sequenceBias: [SequenceBias] = []
  public var badWords: [[Token]] = []
  public var allowedTokens: [Token] = []
  public var suppressedTokens: [Token] = []
  public var beginSuppressedTokens: [Token] = []
  public var forcedPrefix: [Token] = []
  public var logitsCallback: ((UnsafeMutableBufferPointer<Float>) throws -> Void)?
  public var watermark: WatermarkParameters?
  public var dola: Dola
  public var dolaRelativeTop: Float
  public var alternativeCount: UInt32

  public init() {
    var c = sotto_sampler_params()
    sotto_sampler_params_init(&c, MemoryLayout<sotto_sampler_params>.stride)
    temperature = c.temperature
    topK = c.top_k
    topP = c.top_p
    minP = c.min_p
    repetitionPenalty = c.repetition_penalty
    repetitionWindow = c.repetition_window
    logProbabilities = c.log_probabilities != 0
    seed = c.seed
    order = Order(rawValue: c.order)!
    minKeep = c.min_keep
    frequencyPenalty = c.frequency_penalty
    presencePenalty = c.presence_penalty
    penalizePrompt = c.penalize_prompt != 0
    penaltySlope = c.penalty_slope
    noRepeatNgram = c.no_repeat_ngram
    dryMultiplier = c.dry_multiplier
    dryBase = c.dry_base
    dryAllowedLength = c.dry_allowed_length
    dryWindow = c.dry_window
    guardWindow = c.guard_window
    guardPenalty = c.guard_penalty
    dryBreakers = texts(c.dry_breakers, c.dry_breaker_count)
    temperatureRange = c.temperature_range
    temperatureExponent = c.temperature_exponent
    smoothingFactor = c.smoothing_factor
    smoothingCurve = c.smoothing_curve
    topPDecay = c.top_p_decay
    topPMin = c.top_p_min
    topPResetToken = c.top_p_reset_token
    topA = c.top_a
    tailFree = c.tail_free
    typicalP = c.typical_p
    epsilon = c.epsilon
    eta = c.eta
    topNSigma = c.top_n_sigma
    topH = c.top_h
    xtcProbability = c.xtc_probability
    xtcThreshold = c.xtc_threshold
    selection = Selection(rawValue: c.selection)!
    mirostatTau = c.mirostat_tau
    mirostatEta = c.mirostat_eta
    mirostatM = c.mirostat_m
    adaptiveTarget = c.adaptive_target
    adaptiveDecay = c.adaptive_decay
    minNewTokens = c.min_new_tokens
    ignoreEnd = c.ignore_end != 0
    endDecayStart = c.end_decay_start
    endDecayFactor = c.end_decay_factor
    forcedLastToken = c.forced_last_token
    dola = Dola(rawValue: c.dola)!
    dolaRelativeTop = c.dola_relative_top
    alternativeCount = c.alternative_count
  }

  func filled(_ arena: Arena) -> sotto_sampler_params {
    var c = sotto_sampler_params()
    sotto_sampler_params_init(&c, MemoryLayout<sotto_sampler_params>.stride)
    c.temperature = temperature
    c.top_k = topK
    c.top_p = topP
    c.min_p = minP
    c.repetition_penalty = repetitionPenalty
    c.repetition_window = repetitionWindow
    c.log_probabilities = logProbabilities ? 1 : 0
    c.seed = seed
    c.order = order.rawValue
    c.min_keep = minKeep
    c.stages = arena.stages(stages)
    c.stage_count = stages.count
    c.frequency_penalty = frequencyPenalty
    c.presence_penalty = presencePenalty
    c.penalize_prompt = penalizePrompt ? 1 : 0
    c.penalty_slope = penaltySlope
    c.no_repeat_ngram = noRepeatNgram
    c.dry_multiplier = dryMultiplier
    c.dry_base = dryBase
    c.dry_allowed_length = dryAllowedLength
    c.dry_window = dryWindow
    c.guard_window = guardWindow
    c.guard_penalty = guardPenalty
    c.dry_breakers = arena.texts(dryBreakers)
    c.dry_breaker_count = dryBreakers.count
    c.dry_breaker_tokens = arena.tokens(dryBreakerTokens)
    c.dry_breaker_token_count = dryBreakerTokens.count
    c.temperature_range = temperatureRange
    c.temperature_exponent = temperatureExponent
    c.smoothing_factor = smoothingFactor
    c.smoothing_curve = smoothingCurve
    c.top_p_decay = topPDecay
    c.top_p_min = topPMin
    c.top_p_reset_token = topPResetToken
    c.top_a = topA
    c.tail_free = tailFree
    c.typical_p = typicalP
    c.epsilon = epsilon
    c.eta = eta
    c.top_n_sigma = topNSigma
    c.top_h = topH
    c.xtc_probability = xtcProbability
    c.xtc_threshold = xtcThreshold
    c.selection = selection.rawValue
    c.mirostat_tau = mirostatTau
    c.mirostat_eta = mirostatEta
    c.mirostat_m = mirostatM
    c.adaptive_target = adaptiveTarget
    c.adaptive_decay = adaptiveDecay
    c.min_new_tokens = minNewTokens
    c.ignore_end = ignoreEnd ? 1 : 0
    c.end_decay_start = endDecayStart
    c.end_decay_factor = endDecayFactor
    c.forced_last_token = forcedLastToken
    c.logit_bias = arena.tokenBiases(logitBias)
    c.logit_bias_count = logitBias.count
    c.sequence_bias = arena.sequenceBiases(sequenceBias)
    c.sequence_bias_count = sequenceBias.count
    c.bad_words = arena.tokenLists(badWords)
    c.bad_word_count = badWords.count
    c.allowed_tokens = arena.tokens(allowedTokens)
    c.allowed_token_count = allowedTokens.count
    c.suppressed_tokens = arena.tokens(suppressedTokens)
    c.suppressed_token_count = suppressedTokens.count
    c.begin_suppressed_tokens = arena.tokens(beginSuppressedTokens)
    c.begin_suppressed_token_count = beginSuppressedTokens.count
    c.forced_prefix = arena.tokens(forcedPrefix)
    c.forced_prefix_count = forcedPrefix.count
    c.dola = dola.rawValue
    c.dola_relative_top = dolaRelativeTop
    c.alternative_count = alternativeCount
    return c
  }
}
