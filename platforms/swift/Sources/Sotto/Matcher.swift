import CSotto

/// Follows text through a grammar and computes which tokens may come next.
public final class Matcher: @unchecked Sendable {
  let resource: Resource
  public let memoryBytes: Int
  private let wordCount: Int

  /// Creates a matcher. Without a vocabulary it can follow text but not tokens.
  public init(
    _ grammar: Grammar, _ vocabulary: Vocabulary? = nil, _ parameters: MatcherParameters = MatcherParameters()
  ) throws {
    var needs: [Resource] = []
    do {
      for needed in [grammar.resource, vocabulary?.resource].compactMap({ $0 }) {
        try needed.retain()
        needs.append(needed)
      }
      var given = parameters.filled()
      var details = newError()
      var size = 0
      let words = vocabulary?.resource.handle
      try check(sotto_matcher_memory_size(grammar.resource.handle, words, &given, &size, &details), details)
      let memory = Block(size: size)
      var made: OpaquePointer?
      try check(
        sotto_matcher_init(grammar.resource.handle, words, &given, memory.address, size, &made, &details), details)
      memoryBytes = size
      resource = Resource(made!, needs: needs, free: { _ in withExtendedLifetime(memory) {} })
    } catch {
      needs.forEach { $0.release() }
      throw error
    }
    wordCount = ((vocabulary?.tokenCount ?? 0) + 63) / 64
  }

  deinit { resource.close() }

  /// Frees the matcher when no session uses it.
  public func close() { resource.close() }

  // Methods of sotto_matcher, written by capi/generate from capi/params.

  /// Makes a sequence empty again.
  public func reset(_ sequence: UInt32 = 0) throws {
    try resource.run { try check(sotto_matcher_reset($0, sequence)) }
  }

  /// Appends a token to a sequence. The mask must allow the token.
  public func accept(_ token: Token, sequence: UInt32 = 0) throws {
    try resource.run { try check(sotto_matcher_accept_token($0, sequence, token)) }
  }

  /// Appends text to a sequence. The text may begin and end inside a token.
  public func accept(text: String, sequence: UInt32 = 0) throws {
    let arena = Arena()
    let textBytes = arena.text(text)
    try resource.run { try check(sotto_matcher_accept_text($0, sequence, textBytes.text, textBytes.size)) }
    withExtendedLifetime(arena) {}
  }

  /// Rolls back the newest tokens or texts of sequence 0.
  public func rewind(_ count: UInt64) throws {
    try resource.run { try check(sotto_matcher_rewind($0, count)) }
  }

  /// Returns the state of a sequence.
  public func info(_ sequence: UInt32 = 0) throws -> MatcherInfo {
    var info = sotto_matcher_info()
    info.struct_size = UInt32(MemoryLayout<sotto_matcher_info>.stride)
    try resource.run { try check(sotto_matcher_get_info($0, sequence, &info)) }
    return MatcherInfo(info)
  }

  /// Makes the sequence `target` a copy of `source`.
  public func fork(from source: UInt32, to target: UInt32) throws {
    try resource.run { try check(sotto_matcher_fork($0, source, target)) }
  }

  // End of the generated methods.

  /// Returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t.
  public func mask(_ sequence: UInt32 = 0) throws -> [UInt64] {
    try resource.run { matcher in
      var words = [UInt64](repeating: 0, count: wordCount)
      try check(sotto_matcher_mask(matcher, sequence, &words, words.count))
      return words
    }
  }

  /// Returns the tokens that may come next as a list.
  public func allowedTokens(_ sequence: UInt32 = 0) throws -> [Token] {
    try resource.run { matcher in
      var words: UnsafePointer<UInt64>?
      try check(sotto_matcher_borrow_mask(matcher, sequence, &words))
      return UnsafeBufferPointer(start: words, count: wordCount).enumerated().flatMap { place, word in
        (0..<64).filter { word >> UInt64($0) & 1 == 1 }.map { Token(64 * place + $0) }
      }
    }
  }

  /// Returns whether the sequence followed by the text can be completed, and whether it is complete.
  public func test(_ text: String, sequence: UInt32 = 0) throws -> (begins: Bool, matches: Bool) {
    let arena = Arena()
    let bytes = arena.text(text)
    var begins: UInt32 = 0
    var matches: UInt32 = 0
    try resource.run {
      try check(sotto_matcher_test($0, sequence, bytes.text, bytes.size, &begins, &matches))
    }
    withExtendedLifetime(arena) {}
    return (begins != 0, matches != 0)
  }

  /// Returns the text that must come next, at most capacity bytes of it.
  public func forcedText(_ sequence: UInt32 = 0, capacity: Int = 4096) throws -> [UInt8] {
    try resource.run { matcher in
      var text = [CChar](repeating: 0, count: max(capacity, 1))
      var size = 0
      try check(sotto_matcher_forced_text(matcher, sequence, &text, max(capacity, 0), &size))
      return text.prefix(size).map { UInt8(bitPattern: $0) }
    }
  }
}
