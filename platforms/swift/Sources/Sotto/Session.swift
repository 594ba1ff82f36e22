import CSotto
import Dispatch

/// A stream of text that a model continues. One call runs at a time; other calls throw BusyError, but cancel and close
/// may be called from any thread.
public final class Session: @unchecked Sendable {
  let resource: Resource
  let model: Resource
  let callbacks: Callbacks
  /// The queue of the library's blocking calls for awaited sequences.
  let queue = DispatchQueue(label: "sotto.session")
  private let state: State
  let embeddingSize: Int

  /// The state that calls change while they hold the resource.
  private final class State {
    var uses: [String: Resource] = [:]  // guide, draft session and matcher, by role
  }

  public init(_ model: Model, _ parameters: SessionParameters = SessionParameters()) throws {
    try model.resource.retain()
    do {
      var given = parameters.filled()
      var details = newError()
      var size = 0
      try check(sotto_session_memory_size(model.resource.handle, &given, &size, &details), details)
      let memory = Block(size: size)
      var made: OpaquePointer?
      try check(
        sotto_session_init(model.resource.handle, &given, memory.address, size, &made, &details), details)
      let state = State()
      let callbacks = Callbacks()
      let free = { (handle: OpaquePointer) in
        sotto_session_deinit(handle)
        state.uses.values.forEach { $0.detach() }
        state.uses.removeAll()
        withExtendedLifetime((memory, callbacks)) {}
      }
      let interrupt = { (handle: OpaquePointer) in sotto_session_cancel(handle) }
      resource = Resource(made!, needs: [model.resource], interrupt: interrupt, free: free)
      self.state = state
      self.callbacks = callbacks
    } catch {
      model.resource.release()
      throw error
    }
    self.model = model.resource
    embeddingSize = Int(model.info.embeddingSize)
  }

  deinit { resource.close() }

  /// Stops a running call and frees the session after it. Later calls throw ClosedError.
  public func close() { resource.close() }

  /// Stops the running call, or the next one, with Status.stopCancelled.
  public func cancel() { resource.cancel() }

  /// Runs an exclusive call, then throws the error of a callback, if there was one.
  @discardableResult
  func run<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try resource.run { session in
      let result = Swift.Result { try call(session) }
      try callbacks.rethrow()
      return try result.get()
    }
  }

  // MARK: Parameters

  /// Sets the sampler's parameters and restarts the random numbers from the seed.
  public func setSampler(_ parameters: SamplerParameters) throws {
    let arena = Arena()
    try run { session in
      var given = parameters.filled(arena, callbacks)
      var details = newError()
      try check(sotto_session_set_sampler(session, &given, &details), details)
      callbacks.logits = parameters.logitsCallback
      callbacks.processor = parameters.logitsProcessor
    }
    withExtendedLifetime(arena) {}
  }

  /// Sets the parameters of speculative decoding.
  public func setSpeculation(_ parameters: SpeculationParameters) throws {
    try use("draft", parameters.draftSession?.resource) { session, used in
      var given = parameters.filled()
      given.draft_session = used
      if parameters.draft != nil {
        given.draft = onDraft
        given.user_data = callbacks.pointer
      }
      var details = newError()
      try check(sotto_session_set_speculation(session, &given, &details), details)
      callbacks.draft = parameters.draft
    }
  }

  /// Sets a second session as the guide of this one. nil removes it.
  public func setGuide(_ guide: Session?, _ parameters: GuideParameters = GuideParameters()) throws {
    try use("guide", guide?.resource) { session, used in
      var given = parameters.filled()
      var details = newError()
      try check(sotto_session_set_guide(session, used, &given, &details), details)
    }
  }

  /// Constrains the generated text to continue sequence 0 of a matcher. nil removes it.
  public func setMatcher(_ matcher: Matcher?) throws {
    try use("matcher", matcher?.resource) { session, used in
      var details = newError()
      try check(sotto_session_set_matcher(session, used, &details), details)
    }
  }

  /// Constrains the generated text by a grammar, through a new matcher. nil removes it. Before
  /// another text, set it again or call `reset`. With `finishWithin`, the text is complete after at
  /// most this number of tokens.
  public func setGrammar(_ grammar: Grammar?, finishWithin: UInt32 = 0) throws {
    guard let grammar else { return try setMatcher(nil) }
    var parameters = MatcherParameters()
    parameters.sequenceCount = try info().matcherSequenceCount
    parameters.finishWithin = finishWithin
    let vocabulary = try resource.share { _ in try Vocabulary(held: model) }  // the session keeps its model
    try setMatcher(Matcher(grammar, vocabulary, parameters))
  }

  /// Replaces or removes one object that the session uses.
  private func use(
    _ what: String, _ used: Resource?, _ set: (OpaquePointer, OpaquePointer?) throws -> Void
  ) throws {
    let old: Resource? = try run { session in
      let before = state.uses[what]
      if let used, used !== before {
        try used.attach()
        do {
          try set(session, used.handle)
        } catch {
          used.detach()
          throw error
        }
      } else {
        try set(session, used?.handle)
      }
      state.uses[what] = used
      return used === before ? nil : before
    }
    old?.detach()
  }

  // MARK: The stream

  /// Encodes text with the session's model, closed or not.
  public func tokenize(_ text: String) throws -> [Token] {
    try resource.share { _ in try encode(model.handle, Array(text.utf8), special: false) }
  }

  /// Begins an empty stream with rows of embeddingSize floats instead of tokens.
  public func prefillEmbeddings(_ embeddings: [Float]) throws -> Status {
    guard embeddings.count % embeddingSize == 0 else {
      throw SottoError(
        .invalidArgument, "embeddings has \(embeddings.count) floats; it must have \(embeddingSize) per row")
    }
    return try evaluate { sotto_session_prefill_embeddings($0, embeddings, embeddings.count / embeddingSize) }
  }

  /// Runs a call that evaluates tokens; the next text begins after them.
  func evaluate(_ call: (OpaquePointer) -> Int32) throws -> Status {
    try run { session in try check(call(session), of: session) }
  }

  /// Generates one token. Returns nil at a stop; if text was withheld, a piece without a token comes first. After a
  /// cancellation, the next call continues the text; after another stop it does not.
  public func next() throws -> Piece? {
    try run { session in
      var made: UnsafePointer<sotto_piece>?
      let status = sotto_session_next(session, &made)
      return try step(status, made)
    }
  }

  /// Returns the piece of a call that generates a token.
  private func step(_ status: Int32, _ made: UnsafePointer<sotto_piece>?) throws -> Piece? {
    try check(status, of: resource.handle)
    let piece = Piece(made!.pointee)
    return piece.token >= 0 || !piece.text.isEmpty ? piece : nil
  }

  /// Generates one token in each of several sessions of the same model, in one batch, which is faster than one session
  /// after the other. Returns what `next` would return or throw in each session.
  public static func next(of sessions: [Session]) throws -> [Result<Piece?, Error>] {
    var handles: [OpaquePointer?] = []
    func enter(_ index: Int) throws -> [Result<Piece?, Error>] {
      if index < sessions.count {
        return try sessions[index].resource.run { session in
          handles.append(session)
          return try enter(index + 1)
        }
      }
      var pieces = [UnsafePointer<sotto_piece>?](repeating: nil, count: index)
      var statuses = [Int32](repeating: 0, count: index)
      var details = newError()
      try check(sotto_sessions_next(&handles, index, &pieces, &statuses, &details), details)
      return sessions.indices.map { i in
        Result {
          try sessions[i].callbacks.rethrow()
          return try sessions[i].step(statuses[i], pieces[i])
        }
      }
    }
    return try enter(0)
  }

  /// Clears a cancellation that came too late to end a call.
  func clearCancellation() throws {
    try run { session in
      var made: UnsafePointer<sotto_piece>?
      _ = sotto_session_next(session, &made)
    }
  }

  /// Converts a limit on tokens to the library's form. Throws for a negative one.
  func size(ofLimit maxTokens: Int?) throws -> Int {
    guard let maxTokens else { return Int(bitPattern: UInt.max) }
    if maxTokens >= 0 { return maxTokens }
    throw SottoError(.invalidArgument, "maxTokens is \(maxTokens); it must be at least 0")
  }

  // Methods of sotto_session, written by capi/generate from capi/params.

  /// Appends a prompt to the stream and evaluates it. Returns ok or stopCancelled.
  @discardableResult
  public func prefill(_ prompt: [Token]) throws -> Status {
    return try run { try check(sotto_session_prefill($0, prompt, prompt.count), of: $0) }
  }

  /// Limits the number of tokens that are generated one by one, from now on until the next prompt. There is no limit if
  /// `maxTokens` is nil.
  public func setLimit(_ maxTokens: Int?) throws {
    let limit = try size(ofLimit: maxTokens)
    try run { sotto_session_set_limit($0, limit) }
  }

  /// Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls `onPiece` with each
  /// piece until it returns true, on the calling thread. Returns the reason why the text ended. There is no limit if
  /// `maxTokens` is nil.
  @discardableResult
  public func generate(_ prompt: [Token], maxTokens: Int? = nil,
                       onPiece receive: ((Piece) throws -> Bool)? = nil) throws -> Status {
    let limit = try size(ofLimit: maxTokens)
    return try run { session in
      callbacks.piece = receive
      defer { callbacks.piece = nil }
      var callback: sotto_piece_fn?
      if receive != nil { callback = onPiece }
      return try check(sotto_session_generate(session, prompt, prompt.count, limit, callback, callbacks.pointer),
                       of: session)
    }
  }

  /// Evaluates tokens and returns their pooled hidden states.
  public func embed(_ prompt: [Token], pooling: Pooling = .mean) throws -> [Float] {
    var embedding = [Float](repeating: 0, count: embeddingSize)
    try run { session in
      try checkWhole(check(sotto_session_embed(session, prompt, prompt.count, pooling.rawValue, &embedding),
                           of: session))
    }
    return embedding
  }

  /// Replaces the stops: the conditions that end a text.
  public func setStops(_ params: StopParameters) throws {
    let arena = Arena()
    try run { session in
      var given = params.filled(arena)
      var details = newError()
      try check(sotto_session_set_stops(session, &given, &details), details)
    }
    withExtendedLifetime(arena) {}
  }

  /// Applies token healing, for a prompt that ends inside a word. Call it after a prefill.
  public func heal() throws {
    try run { try check(sotto_session_heal($0), of: $0) }
  }

  /// Rolls the stream back to its first tokens.
  public func rewind(to tokenCount: UInt64) throws {
    try run { try check(sotto_session_rewind($0, tokenCount), of: $0) }
  }

  /// Removes all tokens and restarts the sampler. The parameters stay in effect.
  public func reset() throws {
    try run { sotto_session_reset($0) }
  }

  /// Returns the dimensions and the state of the session.
  public func info() throws -> SessionInfo {
    var info = sotto_session_info()
    info.struct_size = UInt32(MemoryLayout<sotto_session_info>.stride)
    try run { try check(sotto_session_get_info($0, &info), of: $0) }
    return SessionInfo(info)
  }

  /// Returns the counts of tokens and the times since the session was created or its timings were reset.
  public func timings() throws -> SessionTimings {
    var info = sotto_session_timings()
    info.struct_size = UInt32(MemoryLayout<sotto_session_timings>.stride)
    try run { try check(sotto_session_get_timings($0, &info), of: $0) }
    return SessionTimings(info)
  }

  /// Sets all counts and times to zero.
  public func resetTimings() throws {
    try run { sotto_session_reset_timings($0) }
  }

  /// Returns the logits after the last token, before the sampler.
  public func logits() throws -> [Float] { try floats(sotto_session_logits) }

  /// Returns the hidden state of the last token.
  public func hidden() throws -> [Float] { try floats(sotto_session_hidden) }

  /// Returns the stream as bytes, the same on every platform.
  public func save() throws -> [UInt8] {
    try run { session in
      var size = 0
      _ = sotto_session_save(session, nil, 0, &size)
      var bytes = [UInt8](repeating: 0, count: size)
      try check(sotto_session_save(session, &bytes, bytes.count, &size), of: session)
      return bytes
    }
  }

  /// Restores a saved stream. The state is validated, so it may come from an untrusted source.
  public func restore(_ state: [UInt8]) throws {
    try run { session in
      var details = newError()
      try check(sotto_session_restore(session, state, state.count, &details), details)
    }
  }

  /// Returns the statistics of speculative decoding. A reset of the timings sets them to zero.
  public func speculationInfo() throws -> SpeculationInfo {
    var info = sotto_speculation_info()
    info.struct_size = UInt32(MemoryLayout<sotto_speculation_info>.stride)
    try run { try check(sotto_session_get_speculation_info($0, &info), of: $0) }
    return SpeculationInfo(info)
  }

  // End of the generated methods.
}
