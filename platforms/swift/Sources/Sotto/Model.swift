import CSotto

/// The weights and tokenizer of one file, for any number of sessions and threads. Sessions keep their model alive.
public final class Model: @unchecked Sendable {
  let resource: Resource
  public let info: ModelInfo
  /// The bytes of memory that the model uses in addition to its file.
  public let memoryBytes: Int

  /// Maps and opens a model file. The file must not change while the model is in use.
  public convenience init(path: String, parameters: ModelParameters = ModelParameters()) throws {
    do {
      try self.init(ModelFile(path: path), parameters)
    } catch let failure as SottoError {
      throw failure.of(file: path)
    }
  }

  /// Opens a model from a copy of a file's bytes.
  public convenience init(bytes: [UInt8], parameters: ModelParameters = ModelParameters()) throws {
    try self.init(ModelFile(copying: bytes), parameters)
  }

  private init(_ file: ModelFile, _ parameters: ModelParameters) throws {
    let callbacks = Callbacks()
    callbacks.log = parameters.log
    var given = parameters.filled()
    if parameters.log != nil {
      given.log = onLog
      given.log_user_data = callbacks.pointer
    }
    if file.isMapped { given.release = dropPages }
    var details = newError()
    var size = 0
    try check(sotto_model_memory_size(file.address, file.size, &given, &size, &details), details)
    let memory = Block(size: size)
    var made: OpaquePointer?
    try check(sotto_model_init(file.address, file.size, &given, memory.address, size, &made, &details), details)
    memoryBytes = size
    let free = { (handle: OpaquePointer) in
      sotto_model_deinit(handle)
      withExtendedLifetime((file, memory, callbacks)) {}
    }
    resource = Resource(made!, free: free)
    info = try modelInfo(made!)
  }

  deinit { resource.close() }

  /// Frees the model when no session uses it. Later calls throw ClosedError.
  public func close() { resource.close() }

  /// Returns the number of bytes of memory that a model uses in addition to its file, given the bytes of the file.
  public static func memorySize(bytes: [UInt8], parameters: ModelParameters = ModelParameters()) throws -> Int {
    let file = Block(copying: bytes)
    var given = parameters.filled()
    var details = newError()
    var size = 0
    let status = sotto_model_memory_size(file.address, file.size, &given, &size, &details)
    withExtendedLifetime(file) {}
    try check(status, details)
    return size
  }

  /// Returns the number of bytes of memory that a session uses.
  public func sessionMemorySize(_ parameters: SessionParameters = SessionParameters()) throws -> Int {
    var given = parameters.filled()
    var details = newError()
    var size = 0
    return try resource.share { model in
      try check(sotto_session_memory_size(model, &given, &size, &details), details)
      return size
    }
  }

  /// Encodes text. With `special`, text such as <|endoftext|> becomes its special token.
  public func tokenize(_ text: String, special: Bool = false) throws -> [Token] {
    try tokenize(Array(text.utf8), special: special)
  }

  /// Encodes bytes, which must be UTF-8.
  public func tokenize(_ text: [UInt8], special: Bool = false) throws -> [Token] {
    try resource.share { try encode($0, text, special: special) }
  }

  /// Returns the bytes of one token; they may begin or end inside a character.
  public func bytes(of token: Token) throws -> [UInt8] {
    try resource.share { model in
      var bytes: UnsafePointer<CChar>?
      var size = 0
      try check(sotto_token_bytes(model, token, &bytes, &size))
      return Array(UnsafeRawBufferPointer(start: bytes, count: size))
    }
  }

  /// Returns the flags of a token.
  public func flags(of token: Token) throws -> TokenFlag {
    try resource.share { model in
      var flags: UInt32 = 0
      try check(sotto_token_flags(model, token, &flags))
      return TokenFlag(rawValue: flags)
    }
  }

  /// Returns a text about the model, or an empty text.
  public func text(_ kind: ModelTextKind) throws -> String {
    try resource.share { model in
      var bytes: UnsafePointer<CChar>?
      var size = 0
      try check(sotto_model_text(model, kind.rawValue, &bytes, &size))
      return String(decoding: UnsafeRawBufferPointer(start: bytes, count: size), as: UTF8.self)
    }
  }

  /// Returns the bytes of tokens. With byte-level BPE they are exactly the bytes that were encoded.
  public func detokenize(_ tokens: [Token]) throws -> [UInt8] {
    try resource.share { model in
      var size = 0
      let status = sotto_detokenize(model, tokens, tokens.count, nil, 0, &size)
      if status != Status.bufferTooSmall.rawValue { try check(status) }
      if size == 0 { return [] }
      var bytes = [CChar](repeating: 0, count: size)
      try check(sotto_detokenize(model, tokens, tokens.count, &bytes, bytes.count, &size))
      return bytes.map { UInt8(bitPattern: $0) }
    }
  }
}

func modelInfo(_ model: OpaquePointer) throws -> ModelInfo {
  var info = sotto_model_info()
  info.struct_size = UInt32(MemoryLayout<sotto_model_info>.stride)
  try check(sotto_model_get_info(model, &info))
  return ModelInfo(info)
}

func encode(_ model: OpaquePointer, _ text: [UInt8], special: Bool) throws -> [Token] {
  let bytes = text.map { CChar(bitPattern: $0) }
  let flags: UInt32 = special ? 1 : 0  // SOTTO_TOKENIZE_SPECIAL
  var tokens = [Token](repeating: 0, count: bytes.count / 2 + 8)
  while true {
    var details = newError()
    var count = 0
    let status = sotto_tokenize(model, bytes, bytes.count, flags, &tokens, tokens.count, &count, &details)
    if status != Status.bufferTooSmall.rawValue {
      try check(status, details)
      return Array(tokens.prefix(count))
    }
    tokens = [Token](repeating: 0, count: count)
  }
}
