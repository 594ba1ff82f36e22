// Streams a JSON object that satisfies a schema, without exceptions, until it is complete or Ctrl-C is pressed:
// json MODEL PROMPT
#define SOTTO_HPP_NO_EXCEPTIONS
#include <csignal>
#include <cstdio>
#include <optional>
#include <sotto.hpp>

namespace {

constexpr char kSchema[] = R"({
  "type": "object", "required": ["name", "age"], "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 120}}})";

sotto_session* running = nullptr;
void cancel(int) { sotto_session_cancel(running); }

int report(const sotto::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: json MODEL PROMPT\n");
    return 2;
  }
  auto model = sotto::Model::open(argv[1]);
  if (!model) return report(model.error());
  auto session = sotto::Session::create(*model);
  if (!session) return report(session.error());
  auto grammar = sotto::Grammar::compile(kSchema, sotto::GrammarParams(SOTTO_GRAMMAR_JSON_SCHEMA));
  if (!grammar) return report(grammar.error());
  if (auto set = session->set_grammar(*grammar); !set) return report(set.error());

  running = session->c_session();
  std::signal(SIGINT, cancel);
  auto stream = session->stream(argv[2], 400);
  for (const sotto::Piece& piece : stream) {
    std::fwrite(piece.text().data(), 1, piece.text().size(), stdout);
  }
  std::signal(SIGINT, SIG_DFL);
  std::printf("\n");
  if (stream.error()) return report(*stream.error());
  if (stream.status() == sotto::Status::grammar) return 0;
  std::fprintf(stderr, "the object is not complete: %s\n", text_of(stream.status()));
  return 3;
}
