import CSotto

extension Session {
  // MARK: Logits, hidden states and scores

  /// Returns the logits after the last token, before the sampler.
  public func logits() throws -> [Float] { try floats(sotto_session_logits) }

  /// Returns the hidden state of the last token.
  public func hidden() throws -> [Float] { try floats(sotto_session_hidden) }

  private func floats(
    _ function: (OpaquePointer?, UnsafeMutablePointer<UnsafePointer<Float>?>?, UnsafeMutablePointer<Int>?) -> Int32
  ) throws -> [Float] {
    try run { session in
      var values: UnsafePointer<Float>?
      var count = 0
      try checkWhole(check(function(session, &values, &count), of: session))
      return Array(UnsafeBufferPointer(start: values, count: count))
    }
  }

  /// Evaluates tokens and returns their total score and ln p of each.
  public func score(_ tokens: [Token]) throws -> (score: Score, logProbabilities: [Float]) {
    var score = sotto_score()
    score.struct_size = UInt32(MemoryLayout<sotto_score>.stride)
    var each = [Float](repeating: .nan, count: tokens.count)
    try checkWhole(evaluate { sotto_session_score($0, tokens, tokens.count, &each, &score) })
    return (Score(score), each)
  }

  /// Evaluates tokens and returns their pooled hidden states.
  public func embed(_ tokens: [Token], pooling: Pooling = .mean) throws -> [Float] {
    var embedding = [Float](repeating: 0, count: embeddingSize)
    try checkWhole(evaluate { sotto_session_embed($0, tokens, tokens.count, pooling.rawValue, &embedding) })
    return embedding
  }

  /// Searches for several continuations of the stream, best first; the stream itself does not change.
  public func search(_ parameters: SearchParameters = SearchParameters()) throws -> [FoundSequence] {
    if let groups = parameters.phraseGroups, groups.count != parameters.phrases.count {
      throw SottoError(.invalidArgument, "phrase_groups has \(groups.count) elements; it must have one per phrase")
    }
    let arena = Arena()
    return try run { session in
      var given = parameters.filled(arena)
      if let groups = parameters.phraseGroups { given.phrase_groups = arena.array(groups) }
      callbacks.similarity = parameters.similarity
      callbacks.step = parameters.onStep
      defer {
        callbacks.similarity = nil
        callbacks.step = nil
      }
      if parameters.similarity != nil {
        given.similarity = onSimilarity
        given.similarity_user_data = callbacks.pointer
      }
      if parameters.onStep != nil {
        given.on_step = onStep
        given.step_user_data = callbacks.pointer
      }
      var sequences: UnsafePointer<sotto_sequence>?
      var count = 0
      var details = newError()
      let status = try check(sotto_session_search(session, &given, &sequences, &count, &details), details)
      if count == 0 { try checkWhole(status) }
      return withExtendedLifetime(arena) {
        UnsafeBufferPointer(start: sequences, count: count).map { FoundSequence($0) }
      }
    }
  }

  // MARK: States

  /// Returns the stream as bytes, the same on every platform.
  public func save() throws -> [UInt8] {
    try run { session in
      var size = 0
      try check(sotto_session_saved_size(session, &size), of: session)
      var bytes = [UInt8](repeating: 0, count: size)
      try check(sotto_session_save(session, &bytes, bytes.count, &size), of: session)
      return Array(bytes.prefix(size))
    }
  }

  /// Makes another session a copy of this stream. Both must have the same model and parameters.
  public func fork(into other: Session) throws {
    try run { source in
      try other.run { target in
        var details = newError()
        try check(sotto_session_fork(source, target, &details), details)
      }
    }
  }
}
