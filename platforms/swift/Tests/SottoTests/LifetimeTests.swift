import XCTest

@testable import Sotto

/// Tests of lifetimes: no use after free, and callbacks and tasks that call back or throw.
final class LifetimeTests: XCTestCase {
  private func text(_ session: Session, _ prompt: String, _ maxTokens: Int) async throws -> String {
    var text = ""
    for try await part in try session.stream(prompt, maxTokens: maxTokens) { text += part }
    return text
  }

  func testClosedObjectsRefuseCalls() throws {
    let model = try Model(path: modelPath)
    let session = try Session(model, shape())
    let grammar = try Grammar(regex: "[a-z]+")
    let matcher = try Matcher(grammar)
    session.close()
    session.close()
    model.close()
    matcher.close()
    grammar.close()
    session.cancel()
    let calls: [() throws -> Void] = [
      { try session.prefill([1]) }, { _ = try session.next() }, { try session.generate([1]) }, { try session.heal() },
      { try session.reset() }, { _ = try session.logits() }, { _ = try session.save() }, { _ = try session.search() },
      { try session.setSampler(SamplerParameters()) }, { try session.setGrammar(Grammar(regex: "a")) },
      { _ = try session.info() }, { _ = try session.stream("a") }, { _ = try model.tokenize("a") },
      { _ = try Session(model) }, { _ = try Vocabulary(model) }, { _ = try grammar.save() }, { try matcher.reset() },
    ]
    for call in calls {
      XCTAssertThrowsError(try call()) { XCTAssertTrue($0 is ClosedError, "\($0)") }
    }
  }

  func testSessionsKeepWhatTheyNeed() async throws {
    let model = try Model(path: modelPath)
    var parameters = shape()
    parameters.features = .guide
    let session = try Session(model, parameters)
    let guide = try Session(model, shape())
    try guide.prefill(model.tokenize("It was"))
    try session.setGrammar(Grammar(regex: "[a-z ]*"))
    try session.setGuide(guide)
    XCTAssertThrowsError(try guide.next()) { XCTAssertTrue($0 is BusyError) }
    model.close()
    guide.close()
    let guided = try await text(session, "It was", 10)
    XCTAssertFalse(guided.isEmpty)
    try session.setGuide(nil)
    try session.setGrammar(nil)
    let alone = try await text(session, "It was", 10)
    XCTAssertFalse(alone.isEmpty)
  }

  func testCallbacksCannotBreakASession() throws {
    struct Mine: Error {}
    let session = try Session(Model(path: modelPath), shape())
    XCTAssertThrowsError(try session.generate([1], maxTokens: 5) { _ in throw Mine() }) { XCTAssertTrue($0 is Mine) }
    XCTAssertThrowsError(try session.generate([1], maxTokens: 5) { _ in try session.next() == nil }) {
      XCTAssertTrue($0 is BusyError)
    }
    XCTAssertEqual(try session.generate([1], maxTokens: 5) { _ in true }, .stopCallback)
    let status = try session.generate([1]) { _ in
      session.close()
      return false
    }
    XCTAssertEqual(status, .stopCancelled)
  }

  func testWhatLetsATextGoOn() throws {
    struct Mine: Error {}
    let model = try Model(path: modelPath)
    let session = try Session(model, shape())
    var sampler = SamplerParameters()
    sampler.ignoreEnd = true
    try session.setSampler(sampler)
    let prompt = try model.tokenize("It was")
    let fail = { XCTAssertThrowsError(try session.generate([], maxTokens: 3) { _ in throw Mine() }) }
    let ways: [(Status, () throws -> Void)] = [
      (.ok, { _ = try session.score([11]) }), (.ok, { _ = try session.embed([11]) }),
      (.ok, { try session.setStops(StopParameters()) }), (.ok, { try session.setMatcher(nil) }),
      (.ok, { try session.setLimit(5) }), (.stopCallback, fail),
    ]
    for (stop, goOn) in ways {
      XCTAssertEqual(try session.generate(prompt, maxTokens: 3), .stopMaxTokens)
      XCTAssertNil(try session.next())
      try goOn()
      XCTAssertEqual(try session.info().stop, stop)
      XCTAssertNotNil(try session.next())
    }
    try session.prefill(prompt)
    session.cancel()
    XCTAssertNil(try session.next())
    XCTAssertEqual(try session.info().stop, .stopCancelled)
    XCTAssertNotNil(try session.next())
    XCTAssertEqual(try session.info().stop, .ok)
  }

  func testProcessorSeesTheTokens() throws {
    let session = try Session(Model(path: modelPath), shape())
    var sampler = SamplerParameters()
    sampler.statistics = true
    sampler.logitsProcessor = { tokens, sequence, logits in
      XCTAssertEqual(sequence, 0)
      logits[Int(tokens.last!) + 1] = .infinity
    }
    try session.setSampler(sampler)
    try session.prefill([5])
    for expected in 6..<9 {
      let piece = try session.next()!
      XCTAssertEqual(piece.token, Token(expected))
      XCTAssertEqual(piece.keptCount, 1)
      XCTAssertEqual(piece.effectiveVocabulary, Float(exp(Double(piece.entropy))), accuracy: 0.1)
      XCTAssertEqual(piece.repetitiveness, 0)
    }
  }

  func testTasksCancel() async throws {
    var parameters = shape()
    parameters.overflow = .ring
    let session = try Session(Model(path: modelPath), parameters)
    var sampler = SamplerParameters()
    sampler.ignoreEnd = true
    try session.setSampler(sampler)
    for round in 0..<10 {
      let (parts, continuation) = AsyncStream.makeStream(of: String.self)
      let endless = Task {
        defer { continuation.finish() }
        for try await part in try session.stream("It was") { continuation.yield(part) }
      }
      if round % 2 == 0 {  // else immediately
        for await _ in parts { break }
      }
      endless.cancel()
      let outcome = await endless.result
      XCTAssertThrowsError(try outcome.get()) { XCTAssertTrue($0 is CancellationError) }
      let after = try await text(session, "It was", 3)
      XCTAssertFalse(after.isEmpty)
    }
  }

  #if os(Linux)
    func testLargeBlocksBeginAtHugePages() {
      XCTAssertEqual(Int(bitPattern: Block(size: 4 << 20).address) % (2 << 20), 0)
    }
  #endif

  func testMatchersAndSamplers() throws {
    let words = ["a", "b", "ab", "c", "</s>"].map { Array($0.utf8) }
    let vocabulary = try Vocabulary(tokens: words, special: [4], ends: [4])
    let matcher = try Matcher(Grammar("root ::= \"ab\"+"), vocabulary)
    XCTAssertEqual(try matcher.allowedTokens(), [0, 2])
    try matcher.accept(0)
    XCTAssertEqual(try matcher.forcedText(), Array("b".utf8))
    XCTAssertTrue(try matcher.test("b").matches)
    try matcher.rewind(1)
    XCTAssertEqual(try matcher.info().tokenCount, 0)
    var parameters = SamplerParameters()
    XCTAssertEqual(parameters.dryBreakers.count, 4)
    parameters.temperature = 1
    parameters.topK = 0
    parameters.topP = 0.8
    parameters.minP = 0
    let sampler = try Sampler(vocabularySize: 4, parameters)
    var input = Sampler.Input(logits: [1, 2, 3, 2.5])
    XCTAssertEqual(try sampler.apply(input).tokens, [1, 2, 3])
    input.allowed = [1]
    XCTAssertEqual(try sampler.sample(input), 0)
  }
}
