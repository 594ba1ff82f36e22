import CSotto

/// The tokens of a matcher's masks.
public final class Vocabulary: @unchecked Sendable {
  let resource: Resource
  let tokenCount: Int

  /// Creates the vocabulary of a model, with the model's end-of-text token.
  public convenience init(_ model: Model) throws {
    try model.resource.retain()
    try self.init(retained: model.resource)
  }

  /// Creates the vocabulary on behalf of a user of the model, which may already be closed.
  convenience init(held model: Resource) throws {
    try model.retain(isHeld: true)
    try self.init(retained: model)
  }

  private init(retained model: Resource) throws {
    var given = sotto_vocabulary_params()
    sotto_vocabulary_params_init(&given, MemoryLayout<sotto_vocabulary_params>.stride)
    given.model = model.handle
    do {
      tokenCount = Int(try modelInfo(model.handle).vocabularySize)
      let (handle, memory) = try makeVocabulary(&given)
      resource = Resource(handle, needs: [model], free: { _ in withExtendedLifetime(memory) {} })
    } catch {
      model.release()
      throw error
    }
  }

  /// Creates a vocabulary of the caller's tokens. `special` lists tokens without text, `ends` those that end a text.
  public init(tokens: [[UInt8]], special: [Token] = [], ends: [Token] = []) throws {
    let arena = Arena()
    var offsets: [UInt32] = [0]
    for token in tokens { offsets.append(offsets.last! + UInt32(token.count)) }
    var flags = [UInt8](repeating: 0, count: tokens.count)
    for token in special {
      guard tokens.indices.contains(Int(token)) else {
        throw SottoError(.invalidArgument, "special token \(token) is not in the vocabulary")
      }
      flags[Int(token)] = 1
    }
    var given = sotto_vocabulary_params()
    sotto_vocabulary_params_init(&given, MemoryLayout<sotto_vocabulary_params>.stride)
    given.token_count = UInt32(tokens.count)
    given.bytes = arena.array(tokens.joined().map { CChar(bitPattern: $0) })
    given.offsets = arena.array(offsets)
    given.special = arena.array(flags)
    given.end_tokens = arena.array(ends)
    given.end_token_count = ends.count
    tokenCount = tokens.count
    let (handle, memory) = try makeVocabulary(&given)
    resource = Resource(handle, free: { _ in withExtendedLifetime((memory, arena)) {} })
  }

  deinit { resource.close() }

  /// Frees the vocabulary when no matcher uses it.
  public func close() { resource.close() }
}

private func makeVocabulary(_ given: inout sotto_vocabulary_params) throws -> (OpaquePointer, Block) {
  var details = newError()
  var size = 0
  try check(sotto_vocabulary_memory_size(&given, &size, &details), details)
  let memory = Block(size: size)
  var made: OpaquePointer?
  try check(sotto_vocabulary_init(&given, memory.address, size, &made, &details), details)
  return (made!, memory)
}

/// The maximum number of bytes for the compilation of a grammar.
private let compileLimit = 1 << 30

/// Compiles with increasing amounts of memory, up to the limit, and returns the image of the grammar.
private func compile(_ source: String, _ parameters: GrammarParameters) throws -> Block {
  let arena = Arena()
  let callbacks = Callbacks()
  callbacks.log = parameters.log
  var given = parameters.filled(arena)
  if parameters.log != nil {
    given.log = onLog
    given.log_user_data = callbacks.pointer
  }
  let vocabulary = parameters.vocabulary?.resource
  try vocabulary?.retain()
  defer { vocabulary?.release() }
  given.vocabulary = vocabulary?.handle
  let text = arena.text(source)
  let typical = UInt(bitPattern: sotto_grammar_typical_memory(text.size))
  var capacity = Int(min(typical, UInt(compileLimit)))
  while true {
    let memory = Block(size: capacity)
    var made: OpaquePointer?
    var used = 0
    var details = newError()
    let status = sotto_grammar_compile(text.text, text.size, &given, memory.address, capacity, &made, &used, &details)
    let lacksMemory = status == Status.grammarTooLarge.rawValue && details.offset == UInt64.max
    if lacksMemory && capacity < compileLimit {
      capacity = 8 * min(capacity, compileLimit / 8)
      continue
    }
    try check(status, details)
    // The grammar is loaded from its image, because a compiled grammar occupies the working memory of the compiler.
    var imageSize = 0
    _ = sotto_grammar_save(made, nil, 0, &imageSize)
    let image = Block(size: imageSize)
    try check(sotto_grammar_save(made, image.address, image.size, &imageSize))
    withExtendedLifetime((arena, callbacks, memory)) {}
    return image
  }
}

/// A compiled grammar. It is immutable and may be shared.
public final class Grammar: @unchecked Sendable {
  let resource: Resource

  /// Loads an image, which belongs to the grammar.
  private init(_ image: Block) throws {
    var made: OpaquePointer?
    var details = newError()
    try check(sotto_grammar_load(image.address, image.size, &made, &details), details)
    resource = Resource(made!, free: { _ in withExtendedLifetime(image) {} })
  }

  deinit { resource.close() }

  /// Frees the grammar when no matcher uses it.
  public func close() { resource.close() }

  /// Compiles a source in the language of the parameters.
  public convenience init(_ source: String, _ parameters: GrammarParameters = GrammarParameters()) throws {
    try self.init(compile(source, parameters))
  }

  private convenience init(_ language: GrammarLanguage, _ source: String) throws {
    var parameters = GrammarParameters()
    parameters.language = language
    try self.init(source, parameters)
  }

  /// Compiles a JSON Schema.
  public convenience init(jsonSchema: String) throws { try self.init(.jsonSchema, jsonSchema) }

  /// Compiles a regular expression that the whole text must match.
  public convenience init(regex: String) throws { try self.init(.regex, regex) }

  /// Compiles a choice between the strings of a JSON array.
  public convenience init(choices: String) throws { try self.init(.choices, choices) }

  /// Loads an image that save returned. The image is verified, so it may come from an untrusted source.
  public convenience init(image: [UInt8]) throws {
    try self.init(Block(copying: image))
  }

  /// Returns the grammar as an image, with the same bytes on every platform.
  public func save() throws -> [UInt8] {
    try resource.share { grammar in
      var size = 0
      _ = sotto_grammar_save(grammar, nil, 0, &size)
      var image = [UInt8](repeating: 0, count: size)
      try check(sotto_grammar_save(grammar, &image, image.count, &size))
      return image
    }
  }
}
