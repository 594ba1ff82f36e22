import Foundation
import Sotto

/// Streams a JSON object that satisfies a schema: swift run JSONOutput demo.sotto "A person: "
@main
struct JSONOutput {
  static let schema = """
    {"type": "object", "required": ["name", "age"], "additionalProperties": false, "properties":
     {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}}}
    """

  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count != 3 {
      fputs("usage: JSONOutput MODEL PROMPT\n", stderr)
      exit(2)
    }
    let session = try Session(Model(path: arguments[1]))
    try session.setGrammar(Grammar(jsonSchema: schema))
    for try await text in try session.stream(arguments[2], maxTokens: 400) {
      print(text, terminator: "")
      fflush(nil)
    }
    print()
    if try session.info().stop != .stopGrammar {
      fputs("the object is not complete\n", stderr)
      exit(3)
    }
  }
}
