import Foundation
import XCTest

@testable import Sotto

let environment = ProcessInfo.processInfo.environment
let modelPath = environment["SOTTO_DEMO_MODEL"] ?? "../models/demo.sotto"
let goldenPath = environment["SOTTO_GOLDEN"] ?? "../../tests/golden/data/bindings.txt"

func shape() -> SessionParameters {
  var parameters = SessionParameters()
  parameters.contextTokens = 256
  return parameters
}

/// The lines of one case of the golden figures that every binding must reproduce.
struct Case {
  private var fields: [String: [String]] = [:]

  init(_ name: String) throws {
    var isInside = false
    for line in try String(contentsOfFile: goldenPath, encoding: .utf8).components(separatedBy: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let value = parts.count > 1 ? parts[1] : ""
      if parts[0] == "case" {
        isInside = value == name
      } else if isInside {
        fields[parts[0], default: []].append(Case.unescape(value))
      }
    }
  }

  private static func unescape(_ text: String) -> String {
    text.replacingOccurrences(of: "\\\\", with: "\0").replacingOccurrences(of: "\\n", with: "\n")
      .replacingOccurrences(of: "\0", with: "\\")
  }

  func all(_ key: String) -> [String] { fields[key] ?? [] }
  func text(_ key: String) -> String { all(key)[0] }
  func number(_ key: String) -> Int { Int(text(key))! }
  func decimal(_ key: String) -> Float { Float(text(key))! }
  func tokens(_ key: String) -> [Token] { Case.tokens(in: text(key)) }
  static func tokens(in text: String) -> [Token] { text.split(separator: " ").map { Token($0)! } }
}

final class GoldenTests: XCTestCase {
  private func sampler(_ fields: Case) -> SamplerParameters {
    var sampler = SamplerParameters()
    sampler.temperature = fields.decimal("temperature")
    sampler.topK = UInt32(fields.number("top_k"))
    sampler.topP = fields.decimal("top_p")
    sampler.repetitionPenalty = fields.decimal("repetition_penalty")
    sampler.seed = UInt64(fields.number("seed"))
    return sampler
  }

  private func checkText(_ name: String, _ prepare: (Session, Case) throws -> Void = { _, _ in }) async throws {
    let fields = try Case(name)
    let session = try Session(Model(path: modelPath), shape())
    XCTAssertEqual(try session.tokenize(fields.text("prompt")), fields.tokens("prompt_tokens"))
    try session.setSampler(sampler(fields))
    try prepare(session, fields)
    var tokens: [Token] = []
    var text = ""
    for try await piece in session.pieces(fields.tokens("prompt_tokens"), maxTokens: fields.number("max_tokens")) {
      if piece.token >= 0 { tokens.append(piece.token) }
      text += piece.text
    }
    XCTAssertEqual(tokens, fields.tokens("tokens"))
    XCTAssertEqual(text, fields.text("text"))
    XCTAssertEqual(try session.info().stop.rawValue, Int32(fields.number("status")))

    text = ""
    try session.reset()
    let status = try session.generate(fields.tokens("prompt_tokens"), maxTokens: fields.number("max_tokens")) { piece in
      text += piece.text
      return false
    }
    XCTAssertEqual(text, fields.text("text"))
    XCTAssertEqual(status.rawValue, Int32(fields.number("status")))
  }

  func testTokenize() throws {
    let fields = try Case("tokenize")
    let model = try Model(path: modelPath)
    XCTAssertEqual(try model.tokenize(fields.text("text")), fields.tokens("tokens"))
    XCTAssertEqual(try model.detokenize(fields.tokens("tokens")), Array(fields.text("text").utf8))
  }

  func testGreedy() async throws { try await checkText("greedy") }

  func testSampled() async throws { try await checkText("sampled") }

  func testBatch() throws {
    let cases = [try Case("greedy"), try Case("sampled")]
    let model = try Model(path: modelPath)
    let sessions = try (0..<3).map { _ in try Session(model, shape()) }  // the last one stays empty
    for (session, fields) in zip(sessions, cases) {
      try session.setSampler(sampler(fields))
      try session.prefill(fields.tokens("prompt_tokens"))
      try session.setLimit(fields.number("max_tokens"))
    }
    var texts = ["", ""]
    var goesOn = true
    while goesOn {
      let steps = try Session.next(of: sessions)
      let pieces = try steps.prefix(2).map { try $0.get() }
      for (index, piece) in pieces.enumerated() { texts[index] += piece?.text ?? "" }
      goesOn = pieces.contains { $0 != nil }
      XCTAssertThrowsError(try steps[2].get()) { error in
        XCTAssertEqual("\(error)", "the stream is empty: prefill a prompt first")
      }
    }
    for (index, fields) in cases.enumerated() {
      XCTAssertEqual(texts[index], fields.text("text"))
      XCTAssertEqual(try sessions[index].info().stop.rawValue, Int32(fields.number("status")))
    }
  }

  func testStop() async throws {
    try await checkText("stop") { session, fields in
      var stops = StopParameters()
      stops.stopStrings = [fields.text("stop_string")]
      try session.setStops(stops)
    }
  }

  func testGrammar() async throws {
    try await checkText("grammar") { session, fields in
      var parameters = GrammarParameters()
      parameters.language = GrammarLanguage(rawValue: Int32(fields.number("language")))!
      parameters.jsonSpace = JSONSpace(rawValue: Int32(fields.number("json_space")))!
      try session.setGrammar(Grammar(fields.text("source"), parameters))
    }
  }

  func testSearch() throws {
    let fields = try Case("search")
    var parameters = shape()
    parameters.sequenceCount = UInt32(fields.number("sequence_count"))
    parameters.sequenceTokens = 32
    let session = try Session(Model(path: modelPath), parameters)
    try session.prefill(session.tokenize(fields.text("prompt")))
    var search = SearchParameters()
    search.maxTokens = UInt32(fields.number("max_tokens"))
    XCTAssertEqual(try session.search(search).map { $0.tokens }, fields.all("sequence").map { Case.tokens(in: $0) })
  }

  func testEmbedding() throws {
    let fields = try Case("embedding")
    let session = try Session(Model(path: modelPath), shape())
    let pooling = Pooling(rawValue: Int32(fields.number("pooling")))!
    let embedding = try session.embed(session.tokenize(fields.text("prompt")), pooling: pooling)
    XCTAssertEqual(embedding.count, fields.number("size"))
    let bits = fields.text("first_bits").split(separator: " ").map { UInt32($0, radix: 16)! }
    XCTAssertEqual(embedding.prefix(bits.count).map { $0.bitPattern }, bits)
  }

  private func stops(_ argument: String) -> StopParameters {
    let parts = argument.split(separator: " ", maxSplits: 1).map(String.init)
    var parameters = StopParameters()
    switch parts.first ?? "" {
    case "stop_string": parameters.stopStrings = [String(argument.dropFirst("stop_string ".count))]
    case "banned_string": parameters.bannedStrings = [String(argument.dropFirst("banned_string ".count))]
    case "stop_token": parameters.stopTokens = Case.tokens(in: parts[1])
    case "max_time_ns": parameters.maxTimeNs = UInt64(parts[1])!
    case "repetition_limit": parameters.repetitionLimit = Float(parts[1])!
    default: XCTAssertEqual(argument, "")
    }
    return parameters
  }

  /// Makes one call of the case `calls` and returns the text that it generates.
  private func execute(_ session: Session, _ name: String, _ argument: String) throws -> String {
    var text = ""
    switch name {
    case "prefill": try session.prefill(session.tokenize(argument))
    case "next": return try session.next()?.text ?? ""
    case "generate":
      try session.generate([], maxTokens: Int(argument)!) { piece in
        text += piece.text
        return false
      }
    case "callback":
      var rest = Int(argument)!
      try session.generate([]) { piece in
        text += piece.text
        rest -= 1
        return rest == 0
      }
    case "limit": try session.setLimit(Int(argument)!)
    case "stops": try session.setStops(stops(argument))
    case "allow":
      var sampler = SamplerParameters()
      sampler.temperature = 0
      sampler.allowedTokens = Case.tokens(in: argument)
      try session.setSampler(sampler)
    case "grammar": try session.setGrammar(argument.isEmpty ? nil : Grammar(regex: argument))
    case "score": _ = try session.score(session.tokenize(argument))
    case "embed": _ = try session.embed(session.tokenize(argument))
    case "rewind": try session.rewind(to: UInt64(argument)!)
    case "restore": try session.restore(session.save())
    case "cancel": session.cancel()
    case "reset": try session.reset()
    default: XCTFail("unknown call: \(name)")
    }
    return text
  }

  func testCallsEndAndContinueTexts() throws {
    let fields = try Case("calls")
    let session = try Session(Model(path: modelPath), shape())
    for (call, result) in zip(fields.all("call"), fields.all("result")) {
      let name = String(call.prefix { $0 != " " })
      let argument = String(call.dropFirst(name.count + 1))
      do {
        let text = try execute(session, name, argument)
        let stop = try session.info().stop
        XCTAssertEqual("\(stop.rawValue) \(text)", result, call)
      } catch let failure as SottoError {
        XCTAssertEqual("\(failure.status.rawValue) ", result, call)
      }
    }
  }

  private func checkFailure(_ name: String, _ call: (Case) throws -> Void) throws {
    let fields = try Case(name)
    XCTAssertThrowsError(try call(fields)) { error in
      let failure = error as? SottoError
      XCTAssertEqual(failure?.status.rawValue, Int32(fields.number("status")))
      XCTAssertEqual(failure?.message, fields.text("message"))
      XCTAssertEqual(failure?.offset, UInt64(fields.text("offset")))
    }
  }

  func testFailures() throws {
    let model = try Model(path: modelPath)
    let session = try Session(model, shape())
    try checkFailure("bad_grammar") { _ = try Grammar($0.text("source")) }
    try checkFailure("bad_text") { fields in
      _ = try model.tokenize(fields.text("bytes").split(separator: " ").map { UInt8($0, radix: 16)! })
    }
    try checkFailure("bad_parameter") { fields in
      var sampler = SamplerParameters()
      sampler.temperature = fields.decimal("temperature")
      try session.setSampler(sampler)
    }
    try checkFailure("bad_model") { fields in
      let bytes = try Data(contentsOf: URL(fileURLWithPath: modelPath)).prefix(fields.number("kept_bytes"))
      _ = try Model(bytes: Array(bytes))
    }
  }
}
