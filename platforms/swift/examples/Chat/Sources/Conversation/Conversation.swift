import Dispatch
import Sotto

/// A conversation with a model. Replies are generated on a queue of their own, one after the other.
public final class Conversation: Sendable {
  private static let replyTokens = 100
  private let chat: Chat
  private let queue = DispatchQueue(label: "conversation")

  public init(path: String, seed: UInt64 = .random(in: 0...UInt64.max)) throws {
    let model = try Model(path: path)
    let session = try Session(model)
    var sampler = SamplerParameters()
    sampler.temperature = 0.8
    sampler.topP = 0.95
    sampler.seed = seed
    try session.setSampler(sampler)
    let ownFormat = try model.text(.chatFormat)
    var parameters = ChatParameters()
    parameters.replyTokens = UInt32(Self.replyTokens)
    chat = try Chat(session, format: ownFormat.isEmpty ? ChatFormat.plain.text : ownFormat, parameters)
  }

  /// Returns the parts of the reply to a message. The reply ends early when nobody iterates over them any more.
  public func reply(to message: String) -> AsyncThrowingStream<String, Error> {
    AsyncThrowingStream { parts in
      queue.async { [chat] in
        do {
          try chat.add(.user, message)
          try chat.reply(maxTokens: Self.replyTokens) { piece in
            if case .terminated = parts.yield(piece.text) { return true }
            return false
          }
          parts.finish()
        } catch {
          parts.finish(throwing: error)
        }
      }
    }
  }
}
