import CSotto

/// The functions that the library calls for one object. An error that one throws ends the call, which throws it again.
final class Callbacks {
  var log: ((LogLevel, String) -> Void)?
  var piece: ((Piece) throws -> Bool)?
  var logits: ((UnsafeMutableBufferPointer<Float>) throws -> Void)?
  var processor: (([Token], UInt32, UnsafeMutableBufferPointer<Float>) throws -> Void)?
  var similarity: (([Token], [Token]) throws -> Double)?
  var step: ((UInt32, Token) throws -> Bool)?
  var draft: (([Token], [Float]?, Int) throws -> [Token])?
  private var thrown: Error?

  /// The user data of the functions below. The object must outlive its use in C.
  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func at(_ pointer: UnsafeMutableRawPointer?) -> Callbacks {
    Unmanaged<Callbacks>.fromOpaque(pointer!).takeUnretainedValue()
  }

  func rethrow() throws {
    if let error = thrown {
      thrown = nil
      throw error
    }
  }

  fileprivate func guarded<Result>(_ failed: Result, _ body: () throws -> Result) -> Result {
    if thrown != nil { return failed }
    do {
      return try body()
    } catch {
      thrown = error
      return failed
    }
  }
}

func tokenArray(_ tokens: UnsafePointer<Token>?, _ count: Int) -> [Token] {
  Array(UnsafeBufferPointer(start: tokens, count: count))
}

func onLog(_ pointer: UnsafeMutableRawPointer?, _ level: Int32, _ message: UnsafePointer<CChar>?) {
  guard let message else { return }
  Callbacks.at(pointer).log?(LogLevel(rawValue: level) ?? .info, String(cString: message))
}

func onPiece(_ pointer: UnsafeMutableRawPointer?, _ piece: UnsafePointer<sotto_piece>?) -> Int32 {
  let callbacks = Callbacks.at(pointer)
  return callbacks.guarded(1) {
    let stops = try callbacks.piece!(Piece(piece!.pointee))
    return stops ? 1 : 0
  }
}

func onLogits(_ pointer: UnsafeMutableRawPointer?, _ logits: UnsafeMutablePointer<Float>?, _ count: Int) {
  let callbacks = Callbacks.at(pointer)
  callbacks.guarded(()) { try callbacks.logits!(UnsafeMutableBufferPointer(start: logits, count: count)) }
}

func onProcessor(
  _ pointer: UnsafeMutableRawPointer?, _ tokens: UnsafePointer<Token>?, _ tokenCount: Int, _ sequence: UInt32,
  _ logits: UnsafeMutablePointer<Float>?, _ count: Int
) {
  let callbacks = Callbacks.at(pointer)
  callbacks.guarded(()) {
    let values = UnsafeMutableBufferPointer(start: logits, count: count)
    try callbacks.processor!(tokenArray(tokens, tokenCount), sequence, values)
  }
}

func onSimilarity(
  _ pointer: UnsafeMutableRawPointer?, _ a: UnsafePointer<Token>?, _ aCount: Int, _ b: UnsafePointer<Token>?,
  _ bCount: Int
) -> Double {
  let callbacks = Callbacks.at(pointer)
  return callbacks.guarded(0) { try callbacks.similarity!(tokenArray(a, aCount), tokenArray(b, bCount)) }
}

func onStep(_ pointer: UnsafeMutableRawPointer?, _ sequence: UInt32, _ token: Token) -> Int32 {
  let callbacks = Callbacks.at(pointer)
  return callbacks.guarded(1) {
    let stops = try callbacks.step!(sequence, token)
    return stops ? 1 : 0
  }
}

func onDraft(
  _ pointer: UnsafeMutableRawPointer?, _ tokens: UnsafePointer<Token>?, _ tokenCount: Int,
  _ hidden: UnsafePointer<Float>?, _ hiddenCount: Int, _ drafts: UnsafeMutablePointer<Token>?, _ capacity: Int
) -> Int {
  let callbacks = Callbacks.at(pointer)
  return callbacks.guarded(0) {
    let state = hidden.map { Array(UnsafeBufferPointer(start: $0, count: hiddenCount)) }
    let guesses = try callbacks.draft!(tokenArray(tokens, tokenCount), state, capacity).prefix(capacity)
    for (place, guess) in guesses.enumerated() { drafts![place] = guess }
    return guesses.count
  }
}
