import Foundation
import Sotto

/// Streams text: swift run StreamText demo.sotto "Once upon a time"
@main
struct StreamText {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count != 3 {
      fputs("usage: StreamText MODEL PROMPT\n", stderr)
      exit(2)
    }
    let session = try Session(Model(path: arguments[1]))
    var sampler = SamplerParameters()
    sampler.temperature = 0.8
    try session.setSampler(sampler)
    print(arguments[2], terminator: "")
    for try await text in try session.stream(arguments[2], maxTokens: 100) {
      print(text, terminator: "")
      fflush(nil)
    }
    print()
  }
}
