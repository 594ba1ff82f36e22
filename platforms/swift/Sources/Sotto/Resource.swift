import Foundation

/// A handle of the library, freed once it is closed and nothing uses it any more: no call, and no object that needs it.
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

  /// `needs` were retained for this object, which lets them go at its end.
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

  /// Refuses new calls; one that runs is stopped, and the object freed after it.
  func close() {
    let wasOpen: Bool = locked {
      if isClosed { return false }
      isClosed = true
      if isBusy { interrupt?(handle) }
      return true
    }
    if wasOpen { release() }
  }

  /// Keeps the object. `isHeld`: for one who keeps it already, even if it has been closed.
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

  /// Gives the object to a session, which alone uses it until detach.
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

  /// A call beside others.
  func share<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try retain()
    defer { release() }
    return try call(handle)
  }

  /// A call alone.
  @discardableResult
  func run<Result>(_ call: (OpaquePointer) throws -> Result) throws -> Result {
    try enter()
    defer { leave() }
    return try call(handle)
  }
}
