import CSotto

extension SamplerParameters {
  /// Returns the C struct with callback and watermark.
  func filled(_ arena: Arena, _ callbacks: Callbacks) -> sotto_sampler_params {
    var given = filled(arena)
    if logitsCallback != nil {
      given.logits_callback = onLogits
      given.logits_user_data = callbacks.pointer
    }
    if logitsProcessor != nil {
      given.logits_processor = onProcessor
      given.processor_user_data = callbacks.pointer
    }
    if let watermark { given.watermark = arena.array([watermark.filled()]) }
    return given
  }
}

/// The sampler's chain without a session, for the logits of any runtime.
public final class Sampler: @unchecked Sendable {
  /// The input for one token.
  public struct Input: Sendable {
    /// One per token of the vocabulary.
    public var logits: [Float]
    /// Bit i % 64 of word i / 64 allows token i; nil allows all.
    public var allowed: [UInt64]?
    /// The previous tokens, newest last.
    public var history: [Token] = []
    /// Number of tokens at the end of the history that were generated.
    public var generatedCount: UInt64 = 0
    /// Maximum number of generated tokens, or 0 if it is unknown.
    public var tokenLimit: UInt64 = 0
    /// The stream of random numbers.
    public var sequence: UInt32 = 0

    public init(logits: [Float]) { self.logits = logits }
  }

  private let resource: Resource
  private let callbacks: Callbacks
  private let vocabularySize: Int

  /// Creates a sampler for vocabularySize tokens. The model, if any, defines their text and the end-of-text token.
  public init(vocabularySize: Int, model: Model? = nil, _ parameters: SamplerParameters = SamplerParameters()) throws {
    let listBytes: UInt32 = 16384
    var details = newError()
    var size = 0
    try check(sotto_sampler_memory_size(vocabularySize, listBytes, &size, &details), details)
    let memory = Block(size: size)
    let callbacks = Callbacks()
    let needs = [model?.resource].compactMap { $0 }
    try model?.resource.retain()
    var made: OpaquePointer?
    do {
      try check(
        sotto_sampler_init(
          model?.resource.handle, vocabularySize, listBytes, memory.address, size, &made, &details), details)
    } catch {
      model?.resource.release()
      throw error
    }
    resource = Resource(made!, needs: needs, free: { _ in withExtendedLifetime((memory, callbacks)) {} })
    self.callbacks = callbacks
    self.vocabularySize = vocabularySize
    try set(parameters)
  }

  deinit { resource.close() }

  public func close() { resource.close() }

  @discardableResult
  private func run<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try resource.run { sampler in
      let result = Swift.Result { try call(sampler) }
      try callbacks.rethrow()
      return try result.get()
    }
  }

  /// Sets the parameters and restarts the random numbers from the seed.
  public func set(_ parameters: SamplerParameters) throws {
    let arena = Arena()
    try run { sampler in
      var given = parameters.filled(arena, callbacks)
      var details = newError()
      try check(sotto_sampler_set(sampler, &given, &details), details)
      callbacks.logits = parameters.logitsCallback
      callbacks.processor = parameters.logitsProcessor
    }
    withExtendedLifetime(arena) {}
  }

  /// Selects a token.
  public func sample(_ input: Input) throws -> Token {
    try with(input) { sampler, given in
      var token: Token = 0
      var details = newError()
      try check(sotto_sampler_sample(sampler, &given, &token, &details), details)
      return token
    }
  }

  /// Returns the distribution after the chain: tokens in order and their probabilities.
  public func apply(_ input: Input) throws -> (tokens: [Token], probabilities: [Float]) {
    try with(input) { sampler, given in
      var tokens = [Token](repeating: 0, count: vocabularySize)
      var probabilities = [Float](repeating: 0, count: vocabularySize)
      var count = 0
      var details = newError()
      try check(
        sotto_sampler_apply(sampler, &given, &tokens, &probabilities, vocabularySize, &count, &details), details)
      return (Array(tokens.prefix(count)), Array(probabilities.prefix(count)))
    }
  }

  private func with<Result>(
    _ input: Input, _ call: (OpaquePointer, inout sotto_sampler_input) throws -> Result
  ) throws -> Result {
    guard input.logits.count == vocabularySize, 64 * (input.allowed?.count ?? vocabularySize) >= vocabularySize else {
      throw SottoError(.invalidArgument, "logits must have \(vocabularySize) elements, allowed one bit for each")
    }
    let arena = Arena()
    var given = sotto_sampler_input()
    given.struct_size = UInt32(MemoryLayout<sotto_sampler_input>.stride)
    given.sequence = input.sequence
    given.logits = arena.array(input.logits)
    if let allowed = input.allowed { given.allowed = arena.array(allowed) }
    given.history = arena.array(input.history)
    given.history_count = input.history.count
    given.generated_count = input.generatedCount
    given.token_limit = input.tokenLimit
    let result = try run { try call($0, &given) }
    withExtendedLifetime(arena) {}
    return result
  }
}

/// Detects a watermark in tokens of a model whose vocabulary has vocabularySize tokens.
public func detectWatermark(
  in tokens: [Token], vocabularySize: Int, _ parameters: WatermarkParameters
) throws -> WatermarkResult {
  var given = parameters.filled()
  var result = sotto_watermark_result()
  result.struct_size = UInt32(MemoryLayout<sotto_watermark_result>.stride)
  var details = newError()
  try check(
    sotto_watermark_detect(&given, vocabularySize, tokens, tokens.count, &result, &details), details)
  return WatermarkResult(result)
}
