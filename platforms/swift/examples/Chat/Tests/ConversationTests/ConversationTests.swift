import Foundation
import XCTest

@testable import Conversation

final class ConversationTests: XCTestCase {
  private func conversation() throws -> Conversation {
    let path = try XCTUnwrap(ProcessInfo.processInfo.environment["SOTTO_DEMO_MODEL"])
    return try Conversation(path: path, seed: 1)
  }

  private func reply(_ conversation: Conversation, to message: String, maxParts: Int = .max) async throws -> [String] {
    var parts: [String] = []
    for try await part in conversation.reply(to: message) {
      parts.append(part)
      if parts.count == maxParts { break }
    }
    return parts
  }

  func testRepliesDependOnTheConversation() async throws {
    let one = try conversation()
    let first = try await reply(one, to: "Hello.")
    let second = try await reply(one, to: "Hello.")
    XCTAssertFalse(first.joined().isEmpty)
    XCTAssertNotEqual(first, second)
    let same = try await reply(try conversation(), to: "Hello.")
    XCTAssertEqual(first, same)
  }

  func testAReplyEndsWithItsReader() async throws {
    let one = try conversation()
    let parts = try await reply(one, to: "Hello.", maxParts: 2)
    XCTAssertEqual(parts.count, 2)
    let next = try await reply(one, to: "Go on.")
    XCTAssertFalse(next.joined().isEmpty)
  }

  func testAMissingModelIsAnError() {
    XCTAssertThrowsError(try Conversation(path: "missing.sotto"))
  }
}
