import CSotto

/// A bias added to the logit of a token; negative infinity bans the token.
public struct TokenBias: Sendable {
  public var token: Token
  public var bias: Float
  public init(token: Token, bias: Float) {
    self.token = token
    self.bias = bias
  }
}

/// A bias added to the logit of the last of its tokens after the others have been generated.
public struct SequenceBias: Sendable {
  public var tokens: [Token]
  public var bias: Float
  public init(tokens: [Token], bias: Float) {
    self.tokens = tokens
    self.bias = bias
  }
}

/// A generated token.
public struct Piece: Sendable {
  /// A token that the model could have generated, with its ln p.
  public struct Alternative: Sendable {
    public let token: Token
    public let logProbability: Float
  }

  /// Whole characters; empty while a character or a stop string is incomplete.
  public let text: String
  /// The token, or -1 if the piece contains only text that was withheld before.
  public let token: Token
  /// The bytes of the token.
  public let bytes: [UInt8]
  /// ln p under the model; NaN unless logProbabilities is set.
  public let logProbability: Float
  /// ln p after the sampler's chain; NaN unless logProbabilities is set.
  public let sampledLogProbability: Float
  /// The most likely tokens, best first.
  public let alternatives: [Alternative]
  public let elapsedNanoseconds: UInt64
  /// Entropy of the model's distribution in nats. This and the two other numbers are NaN unless statistics is set.
  public let entropy: Float
  /// exp(entropy): the number of equally likely tokens with the same entropy.
  public let effectiveVocabulary: Float
  /// Number of tokens left to draw from after the sampler's chain; 0 unless statistics is set.
  public let keptCount: UInt32
  /// Repetitiveness of the newest tokens, from 0 to 1.
  public let repetitiveness: Float

  init(_ piece: sotto_piece) {
    text = string(piece.text, piece.text_size)
    token = piece.token
    bytes = Array(UnsafeRawBufferPointer(start: piece.bytes, count: piece.byte_count))
    logProbability = piece.log_probability
    sampledLogProbability = piece.sampled_log_probability
    alternatives = UnsafeBufferPointer(start: piece.alternatives, count: Int(piece.alternative_count)).map {
      Alternative(token: $0.token, logProbability: $0.log_probability)
    }
    elapsedNanoseconds = piece.elapsed_ns
    entropy = piece.entropy
    effectiveVocabulary = piece.effective_vocabulary
    keptCount = piece.kept_count
    repetitiveness = piece.repetitiveness
  }
}

/// A continuation that a search found.
public struct FoundSequence: Sendable {
  public let tokens: [Token]
  /// The score that ranks the sequence in the search.
  public let score: Double
  public let logProbability: Double
  /// The reason why it ended.
  public let stop: Status
  /// The stream of random numbers that it was sampled with.
  public let index: UInt32

  init(_ sequence: sotto_sequence) {
    tokens = tokenArray(sequence.tokens, sequence.token_count)
    score = sequence.score
    logProbability = sequence.log_probability
    stop = Status(rawValue: sequence.stop)
    index = sequence.index
  }
}
