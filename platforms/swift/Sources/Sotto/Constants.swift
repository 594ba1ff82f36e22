// The constants of sotto.h, which says what each means.

/// How a call or a text ended: negative for a failure, positive for the end of a text.
public struct Status: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let ok = Status(rawValue: 0)
  public static let stopEndOfText = Status(rawValue: 1)
  public static let stopMaxTokens = Status(rawValue: 2)
  public static let stopContextFull = Status(rawValue: 3)
  public static let stopGrammar = Status(rawValue: 4)
  public static let stopCallback = Status(rawValue: 5)
  public static let stopCancelled = Status(rawValue: 6)
  public static let stopToken = Status(rawValue: 7)
  public static let stopString = Status(rawValue: 8)
  public static let stopTime = Status(rawValue: 9)
  public static let stopRepetition = Status(rawValue: 10)
  public static let stopBanned = Status(rawValue: 11)
  public static let invalidArgument = Status(rawValue: -1)
  public static let invalidState = Status(rawValue: -2)
  public static let memoryTooSmall = Status(rawValue: -3)
  public static let memoryMisaligned = Status(rawValue: -4)
  public static let bufferTooSmall = Status(rawValue: -5)
  public static let modelCorrupt = Status(rawValue: -6)
  public static let modelUnsupported = Status(rawValue: -7)
  public static let grammarSyntax = Status(rawValue: -8)
  public static let grammarDeadEnd = Status(rawValue: -9)
  public static let grammarTooLarge = Status(rawValue: -10)
  public static let cpuUnsupported = Status(rawValue: -11)
  public static let textInvalid = Status(rawValue: -12)
  public static let tokenizerMissing = Status(rawValue: -13)
  public static let threadsUnavailable = Status(rawValue: -14)
  public static let stateCorrupt = Status(rawValue: -15)
  public static let grammarUnsupported = Status(rawValue: -16)
  public static let grammarCorrupt = Status(rawValue: -17)
  public static let unsupported = Status(rawValue: -18)
  public static let `internal` = Status(rawValue: -100)
}

/// The weight of a message.
public enum LogLevel: Int32, Sendable {
  case error = 1
  case warning = 2
  case info = 3
}

/// Instruction sets; all give the same bits.
public enum InstructionSet: Int32, Sendable {
  case auto = 0
  case reference = 1
  case avx2 = 2
  case avx512 = 3
  case avx512vnni = 4
  case neon = 5
  case neonDotprod = 6
  case neonI8mm = 7
  case avx512amx = 8
}

/// What happens when a session is full.
public enum Overflow: Int32, Sendable {
  case stop = 0
  case ring = 1
  case shift = 2
}

/// What needs memory of its own.
public struct Feature: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let hiddenHistory = Feature(rawValue: 1)
  public static let dola = Feature(rawValue: 2)
  public static let guide = Feature(rawValue: 4)
}

/// One step of the sampling chain.
public enum Stage: Int32, Sendable {
  case logitsCallback = 1
  case bias = 2
  case sequenceBias = 3
  case allowed = 4
  case suppress = 5
  case badWords = 6
  case minTokens = 7
  case forced = 8
  case endDecay = 9
  case repetition = 10
  case frequency = 11
  case presence = 12
  case noRepeatNgram = 13
  case dry = 14
  case temperature = 15
  case smoothing = 16
  case topK = 17
  case topP = 18
  case minP = 19
  case topA = 20
  case tailFree = 21
  case typical = 22
  case epsilon = 23
  case eta = 24
  case topNSigma = 25
  case topH = 26
  case xtc = 27
  case watermark = 28
}

/// Ready-made orders of stages.
public enum Order: Int32, Sendable {
  case `default` = 0
  case hf = 1
  case openai = 2
}

/// How one of the tokens that are left is picked.
public enum Selection: Int32, Sendable {
  case multinomial = 0
  case greedy = 1
  case gumbel = 2
  case mirostat = 3
  case mirostatV2 = 4
  case adaptiveP = 5
}

/// Kinds of watermarks.
public enum WatermarkScheme: Int32, Sendable {
  case none = 0
  case leftHash = 1
  case selfHash = 2
  case tournament = 3
  case gumbel = 4
}

/// Layers against layers.
public enum Dola: Int32, Sendable {
  case off = 0
  case low = 1
  case high = 2
}

/// How hidden states become an embedding.
public enum Pooling: Int32, Sendable {
  case last = 0
  case mean = 1
}

/// What a second session does.
public enum GuideMode: Int32, Sendable {
  case off = 0
  case cfg = 1
  case contrast = 2
}

/// Kinds of searches.
public enum SearchMode: Int32, Sendable {
  case beam = 0
  case beamSample = 1
  case sample = 2
  case contrastive = 3
}

/// When beam search ends.
public enum EarlyStopping: Int32, Sendable {
  case heuristic = 0
  case atOnce = 1
  case never = 2
}

/// How scores of unlike lengths compare.
public enum LengthNorm: Int32, Sendable {
  case power = 0
  case gnmt = 1
}

/// What a search by sampling puts first.
public enum Rerank: Int32, Sendable {
  case order = 0
  case best = 1
  case exact = 2
  case ngram = 3
  case callback = 4
}

/// What the source of a grammar is written in.
public enum GrammarLanguage: Int32, Sendable {
  case gbnf = 0
  case jsonSchema = 1
  case regex = 2
  case json = 3
  case jsonObject = 4
  case choices = 5
  case number = 6
  case tools = 7
}

/// Where JSON may have space.
public enum JSONSpace: Int32, Sendable {
  case flexible = 0
  case compact = 1
  case oneSpace = 2
}

/// Where guesses at the next tokens come from.
public struct Draft: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let lookup = Draft(rawValue: 1)
  public static let session = Draft(rawValue: 2)
  public static let earlyExit = Draft(rawValue: 4)
  public static let lookahead = Draft(rawValue: 8)
  public static let callback = Draft(rawValue: 16)
}
