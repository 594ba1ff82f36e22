import CSotto
import Foundation

#if os(Linux)
  private let hugePage = 2 << 20
#else
  private let hugePage = Int.max  // no block has one
#endif

/// Memory for an object of the library, freed with the block. Decoding reads all weights for every token, so large
/// blocks use huge pages where the system has them.
final class Block {
  let address: UnsafeMutableRawPointer
  let size: Int

  init(size: Int) {
    let alignment = size < hugePage ? 64 : hugePage
    address = UnsafeMutableRawPointer.allocate(byteCount: max(size, 1), alignment: alignment)
    self.size = size
    #if os(Linux)
      if size >= hugePage { _ = madvise(address, size, MADV_HUGEPAGE) }
    #endif
  }

  convenience init(copying bytes: [UInt8]) {
    self.init(size: bytes.count)
    bytes.withUnsafeBytes { address.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(address), byteCount: $0.count) }
  }

  deinit { address.deallocate() }
}

/// The bytes of a model: a mapped file, or a copy.
final class ModelFile {
  let address: UnsafeMutableRawPointer
  let size: Int
  private let copy: Block?

  init(path: String) throws {
    let file = open(path, O_RDONLY)
    if file < 0 { throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: path]) }
    defer { _ = close(file) }
    var about = stat()
    guard fstat(file, &about) == 0, about.st_size > 0,
      let mapped = mmap(nil, Int(about.st_size), PROT_READ, MAP_SHARED, file, 0),
      mapped != UnsafeMutableRawPointer(bitPattern: -1)
    else { throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: path]) }
    address = mapped
    size = Int(about.st_size)
    copy = nil
  }

  init(copying bytes: [UInt8]) {
    let block = Block(copying: bytes)
    address = block.address
    size = block.size
    copy = block
  }

  var isMapped: Bool { copy == nil }

  deinit {
    if isMapped { munmap(address, size) }
  }
}

/// Drops whole pages of a mapped file, so that the next access reads them from the file again.
func dropPages(_: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ size: Int) {
  guard let bytes else { return }
  let page = Int(getpagesize())
  let begin = Int(bitPattern: bytes)
  let first = (begin + page - 1) / page * page
  let end = (begin + size) / page * page
  if end > first { _ = madvise(UnsafeMutableRawPointer(bitPattern: first), end - first, MADV_DONTNEED) }
}

/// The targets of pointers in parameters, freed with the arena.
final class Arena {
  private var blocks: [UnsafeMutableRawPointer] = []

  deinit { blocks.forEach { $0.deallocate() } }

  func array<Value>(_ values: [Value]) -> UnsafePointer<Value> {
    let pointer = UnsafeMutablePointer<Value>.allocate(capacity: max(values.count, 1))
    pointer.initialize(from: values, count: values.count)
    blocks.append(UnsafeMutableRawPointer(pointer))
    return UnsafePointer(pointer)
  }

  func text(_ text: String) -> sotto_text {
    let bytes = text.utf8.map { CChar(bitPattern: $0) }
    return sotto_text(text: array(bytes), size: bytes.count)
  }

  func tokens(_ tokens: [Token]) -> UnsafePointer<Token> { array(tokens) }

  func stages(_ stages: [Stage]) -> UnsafePointer<Int32> { array(stages.map { $0.rawValue }) }

  func texts(_ texts: [String]) -> UnsafePointer<sotto_text> { array(texts.map { text($0) }) }

  func tokenLists(_ lists: [[Token]]) -> UnsafePointer<sotto_token_list> {
    array(lists.map { sotto_token_list(tokens: array($0), count: $0.count) })
  }

  func tokenBiases(_ biases: [TokenBias]) -> UnsafePointer<sotto_token_bias> {
    array(biases.map { sotto_token_bias(token: $0.token, bias: $0.bias) })
  }

  func sequenceBiases(_ biases: [SequenceBias]) -> UnsafePointer<sotto_sequence_bias> {
    array(
      biases.map {
        sotto_sequence_bias(tokens: array($0.tokens), count: $0.tokens.count, bias: $0.bias, reserved: 0)
      })
  }
}

func string(_ text: UnsafePointer<CChar>?, _ size: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: text, count: size), as: UTF8.self)
}

func texts(_ texts: UnsafePointer<sotto_text>?, _ count: Int) -> [String] {
  UnsafeBufferPointer(start: texts, count: count).map { string($0.text, $0.size) }
}
