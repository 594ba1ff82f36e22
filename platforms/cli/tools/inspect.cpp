// `sotto inspect` shows the contents of a model file and the memory that it needs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/grammar/matching.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

struct InspectOptions {
  ModelOptions model;
  bool json = false;
};

struct SessionMemory {
  uint32_t context_tokens;
  size_t size;
};

// Returns the memory of sessions whose context doubles from entry to entry. The last entry is the model's maximum.
std::vector<SessionMemory> session_memory(const LoadedModel& model) {
  const uint32_t max_context = model.info().max_context_tokens;
  std::vector<SessionMemory> rows;
  for (uint64_t context = 128;; context *= 2) {
    SessionParams params;
    params.context_tokens = static_cast<uint32_t>(std::min<uint64_t>(context, max_context));
    const size_t size = call(model.path(), [&] { return Session::required_memory(model.get(), params); });
    rows.push_back({params.context_tokens, size});
    if (context >= max_context) return rows;
  }
}

std::string model_text(const LoadedModel& model, sotto_model_text_kind kind) {
  return std::string(call(model.path(), [&] { return model.get().text(kind); }));
}

// Returns the tokens that have one of `flags`.
TokenList tokens_with(const LoadedModel& model, uint32_t flags) {
  TokenList tokens;
  for (uint32_t id = 0; id < model.info().vocabulary_size; ++id) {
    const auto token = static_cast<Token>(id);
    if ((call(model.path(), [&] { return model.get().token_flags(token); }) & flags) != 0) tokens.push_back(token);
  }
  return tokens;
}

// Returns the sampling parameters that the file recommends, without those that equal the sampler's defaults.
Json recommended_sampling(const ModelInfo& info) {
  const SamplerParams params;
  Json object = Json::object();
  visit_recommended([&](const char* name, auto parameter, auto recommended) {
    const auto value = info.*recommended;
    if (value == params.*parameter) return;
    if constexpr (std::is_same_v<decltype(value), const float>) {
      object.add(name, number_json(value));
    } else {
      object.add(name, value);
    }
  });
  return object;
}

// Returns for example `50256 "<|endoftext|>", 50257 "<|im_end|>"`, with at most eight tokens.
std::string listed(const LoadedModel& model, const TokenList& tokens) {
  constexpr size_t kMaxShown = 8;
  std::string text = tokens.empty() ? "none" : "";
  for (size_t i = 0; i < std::min(tokens.size(), kMaxShown); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(tokens[i]);
    if (const std::string bytes = model.text_of({tokens[i]}); !bytes.empty()) text += ' ' + in_quotes(bytes);
  }
  return tokens.size() > kMaxShown ? text + ", and " + std::to_string(tokens.size() - kMaxShown) + " more" : text;
}

Json tokens_json(const LoadedModel& model, const TokenList& tokens) {
  Json list = Json::array();
  for (const Token token : tokens) list.push_back({{"id", token}, {"text", to_utf8(model.text_of({token}))}});
  return list;
}

void print_row(const char* name, const std::string& value) { std::printf("%-16s %s\n", name, value.c_str()); }

void print_text(const LoadedModel& model) {
  const ModelInfo& info = model.info();
  print_row("file", model.path() + ", " + byte_size(model.file_size()));
  const auto print_some = [&](const char* name, sotto_model_text_kind kind) {
    const std::string text = model_text(model, kind);
    if (!text.empty()) print_row(name, for_terminal(to_utf8(text)));
  };
  print_some("name", SOTTO_MODEL_TEXT_NAME);
  print_some("source", SOTTO_MODEL_TEXT_SOURCE);
  print_some("licence", SOTTO_MODEL_TEXT_LICENSE);
  print_row("parameters", with_thousands(info.parameter_count));
  print_row("layers", std::to_string(info.layer_count));
  print_row("heads", std::to_string(info.head_count) + " of " + std::to_string(info.embedding_size / info.head_count));
  print_row("embedding", with_thousands(info.embedding_size));
  print_row("feed-forward", with_thousands(info.feed_forward_size));
  print_row("vocabulary", with_thousands(info.vocabulary_size - info.reward_count) + " tokens");
  if (info.reward_count != 0) print_row("rewards", std::to_string(info.reward_count));
  print_row("context", with_thousands(info.max_context_tokens) + " tokens");
  print_row("tokenizer",
            info.has_tokenizer != 0 ? "tokens of up to " + std::to_string(info.max_token_bytes) + " bytes" : "none");
  if (info.has_tokenizer != 0) {
    print_row("for grammars", info.vocabulary_bytes != 0 ? byte_size(info.vocabulary_bytes) + " prepared in the file"
                                                         : "prepared in memory");
  }
  print_row("end of text", listed(model, tokens_with(model, SOTTO_TOKEN_END_OF_TEXT)));
  if (info.has_tokenizer != 0) {
    print_row("special tokens", listed(model, tokens_with(model, SOTTO_TOKEN_SPECIAL)));
    print_row("added tokens", listed(model, tokens_with(model, SOTTO_TOKEN_ADDED)));
  }
  const std::string chat_template = model_text(model, SOTTO_MODEL_TEXT_CHAT_TEMPLATE);
  print_row("chat template", chat_template.empty() ? "none" : byte_size(chat_template.size()) + ", shown by --json");
  const std::string chat_format = model_text(model, SOTTO_MODEL_TEXT_CHAT_FORMAT);
  print_row("chat format", chat_format.empty() ? "none" : Json(to_utf8(chat_format)).dump());
  const Json sampling = recommended_sampling(info);
  print_row("sampling",
            sampling.members().empty() ? "no recommended values" : sampling.dump() + " with --model-defaults");
  print_row("instruction set", sotto_isa_text(info.isa));
  print_row("weights", byte_size(info.weight_bytes) + " read for each token, " +
                           (info.packed_in_place != 0 ? "in place from the file" : "packed at load"));
  print_row("bits per weight",
            std::to_string(info.layer_weight_bits) + ", " + std::to_string(info.head_weight_bits) + " in the head");
  print_row("model memory", byte_size(model.get().memory_size()));
  for (const SessionMemory& row : session_memory(model)) {
    print_row("session memory", byte_size(row.size) + " for " + with_thousands(row.context_tokens) + " tokens");
  }
}

void print_json(const LoadedModel& model) {
  const ModelInfo& info = model.info();
  Json sessions = Json::array();
  for (const SessionMemory& row : session_memory(model)) {
    sessions.push_back({{"context_tokens", row.context_tokens}, {"bytes", row.size}});
  }
  const auto optional = [](bool present, auto value) { return present ? Json(value) : Json(); };
  const bool has_tokenizer = info.has_tokenizer != 0;
  const auto text_or_null = [&](sotto_model_text_kind kind) {
    const std::string text = model_text(model, kind);
    return optional(!text.empty(), to_utf8(text));
  };
  const Json object = {{"file", to_utf8(model.path())},
                       {"name", text_or_null(SOTTO_MODEL_TEXT_NAME)},
                       {"source", text_or_null(SOTTO_MODEL_TEXT_SOURCE)},
                       {"license", text_or_null(SOTTO_MODEL_TEXT_LICENSE)},
                       {"file_bytes", model.file_size()},
                       {"parameters", info.parameter_count},
                       {"layers", info.layer_count},
                       {"heads", info.head_count},
                       {"embedding_size", info.embedding_size},
                       {"feed_forward_size", info.feed_forward_size},
                       {"vocabulary_size", info.vocabulary_size},
                       {"reward_count", info.reward_count},
                       {"max_context_tokens", info.max_context_tokens},
                       {"has_tokenizer", has_tokenizer},
                       {"max_token_bytes", optional(has_tokenizer, info.max_token_bytes)},
                       {"end_of_text_token", optional(info.end_of_text_token >= 0, info.end_of_text_token)},
                       {"end_of_text_tokens", tokens_json(model, tokens_with(model, SOTTO_TOKEN_END_OF_TEXT))},
                       {"special_tokens", tokens_json(model, tokens_with(model, SOTTO_TOKEN_SPECIAL))},
                       {"added_tokens", tokens_json(model, tokens_with(model, SOTTO_TOKEN_ADDED))},
                       {"chat_template", text_or_null(SOTTO_MODEL_TEXT_CHAT_TEMPLATE)},
                       {"chat_format", text_or_null(SOTTO_MODEL_TEXT_CHAT_FORMAT)},
                       {"sampling_defaults", recommended_sampling(info)},
                       {"isa", sotto_isa_text(info.isa)},
                       {"weight_bytes", info.weight_bytes},
                       {"layer_weight_bits", info.layer_weight_bits},
                       {"head_weight_bits", info.head_weight_bits},
                       {"vocabulary_bytes", info.vocabulary_bytes},
                       {"packed_in_place", info.packed_in_place != 0},
                       {"model_memory_bytes", model.get().memory_size()},
                       {"session_memory", sessions}};
  std::printf("%s\n", object.dump(2).c_str());
}

int run_inspect(const InspectOptions& options) {
  const LoadedModel model(options.model);
  // Loading a model does not verify its prepared vocabulary, but using it does.
  if (options.model.verify_checksums && model.info().vocabulary_bytes != 0) model_vocabulary(model);
  if (options.json) {
    print_json(model);
  } else {
    print_text(model);
  }
  flush_output();
  return kExitOk;
}

}  // namespace

void declare_inspect(Command& command, Run& run) {
  auto options = std::make_shared<InspectOptions>();
  options->model.verify_checksums = false;
  command.add_option("MODEL", options->model.path, "A .sotto file")
      .required()
      .check(check_file_name)
      .completes({}, kModelSuffix);
  command.add_flag("--verify", options->model.verify_checksums,
                   "Verify the bytes of the tensors and the vocabulary, not only the structure");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_isa_option(command, options->model);
  command.set_footer(
      "Examples:\n"
      "  sotto inspect demo.sotto\n"
      "  sotto inspect --verify --json demo.sotto");
  command.on_parsed([&run, options] { run = [options] { return run_inspect(*options); }; });
}

}  // namespace sotto::cli
