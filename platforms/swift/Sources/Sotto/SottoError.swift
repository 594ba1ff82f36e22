import CSotto

/// A token id: the index of a token in the vocabulary.
public typealias Token = Int32

/// A failed call.
public struct SottoError: Error, CustomStringConvertible, Sendable {
  public let status: Status
  public let message: String
  /// The offset of the first invalid byte of the input, if there is one.
  public let offset: UInt64?

  public var description: String {
    message.isEmpty ? String(cString: sotto_status_text(status.rawValue)) : message
  }

  init(_ status: Status, _ message: String, _ offset: UInt64? = nil) {
    self.status = status
    self.message = message
    self.offset = offset
  }

  /// Returns the same failure with the name of a file at the beginning of its message.
  func of(file: String) -> SottoError { SottoError(status, file + ": " + description, offset) }

  init(_ status: Int32, _ details: sotto_error) {
    self.status = Status(rawValue: status)
    message = withUnsafeBytes(of: details.message) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    offset = details.offset == UInt64.max ? nil : details.offset
  }
}

/// Thrown by a call of a closed object.
public struct ClosedError: Error, Sendable {}

/// Thrown by a call of an object that is busy: it is inside another call, or a session uses it.
public struct BusyError: Error, Sendable {}

func newError() -> sotto_error {
  var error = sotto_error()
  error.struct_size = UInt32(MemoryLayout<sotto_error>.stride)
  error.offset = UInt64.max
  return error
}

/// Throws for a failure; returns ok or the reason why generation ended.
@discardableResult
func check(_ status: Int32, _ details: sotto_error = newError()) throws -> Status {
  if status < 0 { throw SottoError(status, details) }
  return Status(rawValue: status)
}

/// Like check, for a session's functions without an error parameter, whose failures the session describes.
@discardableResult
func check(_ status: Int32, of session: OpaquePointer) throws -> Status {
  var details = newError()
  if status < 0 { _ = sotto_session_get_error(session, &details) }
  return try check(status, details.status == status ? details : newError())
}

/// Also throws for a stop, for calls whose outputs a stop leaves unwritten.
func checkWhole(_ status: Status) throws {
  if status != .ok { throw SottoError(status, "") }
}

/// The version of the linked library.
public func sottoVersion() -> (major: UInt32, minor: UInt32, patch: UInt32) {
  let version = sotto_version()
  return (version >> 16, version >> 8 & 255, version & 255)
}

/// Returns the features of the linked library as words separated by spaces.
public func sottoBuildText() -> String {
  String(cString: sotto_build_text())
}

extension InstructionSet: CustomStringConvertible {
  public var description: String { String(cString: sotto_isa_text(rawValue)) }
}
