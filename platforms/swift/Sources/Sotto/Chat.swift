import CSotto

extension ChatFormat {
  /// The text of a format with a name.
  public var text: String { String(cString: sotto_chat_format_text(rawValue)) }
}

/// A conversation over a session, whose sampler and grammar apply to the replies.
public final class Chat: @unchecked Sendable {
  private let session: Session
  private let memory: Block
  private let handle: OpaquePointer

  /// Begins a conversation with the text of a predefined format or of the caller.
  public init(_ session: Session, format: String, _ parameters: ChatParameters = ChatParameters()) throws {
    let text = Array(format.utf8)
    (memory, handle) = try session.run { used in
      var given = parameters.filled()
      var details = newError()
      var size = 0
      try check(sotto_chat_memory_size(used, &given, &size, &details), details)
      let memory = Block(size: size)
      var made: OpaquePointer?
      try text.withUnsafeBytes { bytes in
        let start = bytes.bindMemory(to: CChar.self).baseAddress
        try check(
          sotto_chat_init(used, &given, start, bytes.count, memory.address, size, &made, &details), details)
      }
      return (memory, made!)
    }
    self.session = session
  }

  // Methods of sotto_chat, written by capi/generate from capi/params.

  /// Sets the stops of the session, and adds the string that ends a reply.
  public func setStops(_ params: StopParameters) throws {
    let arena = Arena()
    try session.run { _ in
      var given = params.filled(arena)
      var details = newError()
      try check(sotto_chat_set_stops(handle, &given, &details), details)
    }
    withExtendedLifetime(arena) {}
  }

  /// Adds a message. A system message replaces an earlier one.
  public func add(_ role: ChatRole, _ text: String) throws {
    let arena = Arena()
    let textBytes = arena.text(text)
    try session.run { _ in
      var details = newError()
      try check(sotto_chat_add(handle, role.rawValue, textBytes.text, textBytes.size, &details), details)
    }
    withExtendedLifetime(arena) {}
  }

  /// Removes all messages.
  public func reset() throws {
    try session.run { _ in sotto_chat_reset(handle) }
  }

  /// Returns the state of the conversation.
  public func info() throws -> ChatInfo {
    var info = sotto_chat_info()
    info.struct_size = UInt32(MemoryLayout<sotto_chat_info>.stride)
    try session.run { _ in try check(sotto_chat_get_info(handle, &info)) }
    return ChatInfo(info)
  }

  /// Removes the last turn.
  public func undo() throws {
    try session.run { _ in
      var details = newError()
      try check(sotto_chat_undo(handle, 0, &details), details)
    }
  }

  /// Removes the last reply. Another one can then be generated.
  public func undoReply() throws {
    try session.run { _ in
      var details = newError()
      try check(sotto_chat_undo(handle, 1, &details), details)
    }
  }

  /// Generates a reply. Calls `onPiece` with each piece until it returns true, on the calling thread. Returns the
  /// reason why the text ended. There is no limit if `maxTokens` is nil.
  @discardableResult
  public func reply(maxTokens: Int? = nil, onPiece receive: ((Piece) throws -> Bool)? = nil) throws -> Status {
    let limit = try session.size(ofLimit: maxTokens)
    return try session.run { _ in
      session.callbacks.piece = receive
      defer { session.callbacks.piece = nil }
      var callback: sotto_piece_fn?
      if receive != nil { callback = onPiece }
      var details = newError()
      return try check(sotto_chat_reply(handle, limit, callback, session.callbacks.pointer, &details), details)
    }
  }

  /// Returns the messages as bytes, the same on every platform.
  public func save() throws -> [UInt8] {
    try session.run { _ in
      var size = 0
      _ = sotto_chat_save(handle, nil, 0, &size)
      var bytes = [UInt8](repeating: 0, count: size)
      try check(sotto_chat_save(handle, &bytes, bytes.count, &size))
      return bytes
    }
  }

  /// Restores saved messages. The state is validated, so it may come from an untrusted source.
  public func restore(_ state: [UInt8]) throws {
    try session.run { _ in
      var details = newError()
      try check(sotto_chat_restore(handle, state, state.count, &details), details)
    }
  }

  // End of the generated methods.
}
