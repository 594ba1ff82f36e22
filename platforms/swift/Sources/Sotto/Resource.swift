import Foundation

/// A handle of the library, freed when it has been closed and has neither running calls nor dependent objects.
final class Resource: @unchecked Sendable {
  let handle: OpaquePointer
  private let lock = NSLock()
  private let free: (OpaquePointer) -> Void
  private let interrupt: ((OpaquePointer) -> Void)?
  private let needs: [Resource]
  private var users = 1  // one until it is closed, and one per call and per dependent object
  private var isClosed = false
  private var isBusy = false
  private var isAttached = false

  /// `needs` were retained for this object, which releases them at its end.
  init(
    _ handle: OpaquePointer, needs: [Resource] = [], interrupt: ((OpaquePointer) -> Void)? = nil,
    free: @escaping (OpaquePointer) -> Void
  ) {
    self.handle = handle
    self.needs = needs
    self.interrupt = interrupt
    self.free = free
  }

  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  /// Rejects new calls. A running call is stopped, and the object is freed after it.
  func close() {
    let wasOpen: Bool = locked {
      if isClosed { return false }
      isClosed = true
      if isBusy { interrupt?(handle) }
      return true
    }
    if wasOpen { release() }
  }

  /// Adds a user. If `isHeld` is true, it is on behalf of an existing user, and the object may already be closed.
  func retain(isHeld: Bool = false) throws {
    try locked {
      if isClosed && !isHeld { throw ClosedError() }
      users += 1
    }
  }

  func release() {
    let isLast: Bool = locked {
      users -= 1
      return users == 0
    }
    if isLast {
      free(handle)
      needs.forEach { $0.release() }
    }
  }

  private func enter() throws {
    try locked {
      if isClosed { throw ClosedError() }
      if isBusy || isAttached { throw BusyError() }
      users += 1
      isBusy = true
    }
  }

  private func leave() {
    locked { isBusy = false }
    release()
  }

  /// Reserves the object for a session until detach.
  func attach() throws {
    try enter()
    locked {
      isBusy = false
      isAttached = true
    }
  }

  func detach() {
    locked { isAttached = false }
    release()
  }

  /// Interrupts the running call, or the next one.
  func cancel() {
    locked {
      if !isClosed { interrupt?(handle) }
    }
  }

  /// Runs a call that may run at the same time as others.
  func share<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try retain()
    defer { release() }
    return try call(handle)
  }

  /// Runs an exclusive call.
  @discardableResult
  func run<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try enter()
    defer { leave() }
    return try call(handle)
  }
}
