import CSotto

extension Session {
  // MARK: Logits, hidden states and scores

  func floats(
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
