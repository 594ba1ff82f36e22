import Foundation

/// The pieces that follow a prompt. Each iteration evaluates the prompt again, after the stream, on the session's
/// own queue. A cancelled task ends the text immediately, even inside a long prompt, with CancellationError, and
/// the session stays usable.
public struct Pieces: AsyncSequence, Sendable {
  public typealias Element = Piece

  let session: Session
  let prompt: [Token]
  let maxTokens: Int?

  public struct AsyncIterator: AsyncIteratorProtocol {
    let session: Session
    let prompt: [Token]
    let maxTokens: Int?
    var isPrefilled = false
    var isOver = false

    public mutating func next() async throws -> Piece? {
      if isOver { return nil }
      if !isPrefilled {
        isPrefilled = true
        let (used, tokens, limit) = (session, prompt, maxTokens)
        let status = try await session.cancellable { () -> Status in
          _ = try used.size(ofLimit: limit)
          let status = try used.prefill(tokens)
          if status == .ok { try used.setLimit(limit) }
          return status
        }
        isOver = status != .ok
        if isOver { return nil }
      }
      let used = session
      let piece = try await session.cancellable { () -> Piece? in try used.next() }
      isOver = (piece?.token ?? -1) < 0
      return piece
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(session: session, prompt: prompt, maxTokens: maxTokens)
  }
}

/// Like Pieces, but returns text.
public struct Texts: AsyncSequence, Sendable {
  public typealias Element = String

  let pieces: Pieces

  public struct AsyncIterator: AsyncIteratorProtocol {
    var pieces: Pieces.AsyncIterator

    public mutating func next() async throws -> String? {
      while let piece = try await pieces.next() {
        if !piece.text.isEmpty { return piece.text }
      }
      return nil
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: pieces.makeAsyncIterator()) }
}

/// Records whether the cancellation of a task has reached the session.
private final class Cancellation: @unchecked Sendable {
  private let lock = NSLock()
  private var isRequested = false

  func request(_ session: Session) {
    lock.lock()
    defer { lock.unlock() }
    isRequested = true
    session.cancel()
  }

  var wasRequested: Bool {
    lock.lock()
    defer { lock.unlock() }
    return isRequested
  }
}

extension Session {
  /// Returns the pieces that follow a prompt, until a stop or after maxTokens. Without it there is no limit. An empty
  /// prompt continues the text.
  public func pieces(_ prompt: [Token], maxTokens: Int? = nil) -> Pieces {
    Pieces(session: self, prompt: prompt, maxTokens: maxTokens)
  }

  /// Like pieces, but returns text: `for try await text in try session.stream("Once upon a time")`.
  public func stream(_ prompt: String, maxTokens: Int? = nil) throws -> Texts {
    Texts(pieces: pieces(try tokenize(prompt), maxTokens: maxTokens))
  }

  /// Runs a blocking call on the session's queue and cancels it with the task.
  fileprivate func cancellable<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
    try Task.checkCancellation()
    let cancellation = Cancellation()
    let outcome: Result<Value, Error> = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Error>, Never>) in
        queue.async { continuation.resume(returning: Result { try call() }) }
      }
    } onCancel: {
      cancellation.request(self)
    }
    if cancellation.wasRequested {
      if !endedByCancellation(outcome) { try? clearCancellation() }
      throw CancellationError()
    }
    return try outcome.get()
  }

  /// Returns whether the library has observed the cancellation: from the status of a prefill or the reason of the stop.
  private func endedByCancellation<Value>(_ outcome: Result<Value, Error>) -> Bool {
    guard case .success(let value) = outcome else { return false }
    if let status = value as? Status { return status == .stopCancelled }
    return (try? info())?.stop == .stopCancelled
  }
}
