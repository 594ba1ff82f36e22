// `sotto plan` computes the memory of a model and its session, and finds the settings that fit into a budget.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/grammar.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/memory_plan.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/published_shapes.h"

namespace sotto::cli {
namespace {

constexpr char kShapeGroup[] = "Shape of a model without a file";
constexpr uint32_t kSearchCounts[] = {0, 4, 8};  // the searches that --budget tries

struct PlanOptions {
  ModelOptions model;  // a file or a checkpoint
  std::string shape;
  PlannedModel planned;  // the numbers of the options
  SessionParams session;
  GrammarOptions grammar;
  uint64_t budget = 0;  // 0 for none
  bool has_bits = false;
  bool has_searches = false;  // true if their number was given
  bool json = false;
};

// A compiled grammar, for one vocabulary.
class PlannedGrammar {
 public:
  // `vocabulary_parts` is the memory of the prepared vocabulary.
  PlannedGrammar(const GrammarOptions& options, Vocabulary vocabulary, std::vector<MemoryPart> vocabulary_parts)
      : vocabulary_(std::move(vocabulary)),
        compiled_(compile_grammar(read_grammar(options), options.params, &vocabulary_)),
        params_(options.matcher),
        vocabulary_parts_(std::move(vocabulary_parts)) {}

  // Returns the memory of the matcher for a session with a search, of the grammar and of the vocabulary.
  std::vector<MemoryPart> parts(uint32_t sequence_count) const {
    MatcherParams params = params_;
    params.sequence_count = matcher_sequence_count(sequence_count);
    GrowingMatcher matcher(compiled_.grammar, &vocabulary_, params);
    std::vector<MemoryPart> parts = {{"matcher", "matcher", matcher.get().memory_size(), false},
                                     {"grammar", "grammar", compiled_.grammar.size(), false}};
    parts.insert(parts.end(), vocabulary_parts_.begin(), vocabulary_parts_.end());
    return parts;
  }

 private:
  Vocabulary vocabulary_;
  LoadedGrammar compiled_;
  MatcherParams params_;
  std::vector<MemoryPart> vocabulary_parts_;
};

// A model with its name, and its grammar, if there is one.
struct Subject {
  std::string name;
  PlannedModel model;
  bool has_fixed_bits = false;
  std::shared_ptr<const PlannedGrammar> grammar;
};

PlannedModel published_model(const PublishedShape& shape) {
  return {.vocabulary_size = kPublishedVocabulary,
          .max_context_tokens = kPublishedPositions,
          .embedding_size = shape.embedding,
          .head_count = shape.heads,
          .layer_count = shape.layers,
          .feed_forward_size = 4 * shape.embedding};
}

void check_shape(const std::string& subject, const PlannedModel& model) {
  const auto check = [&subject](const char* name, uint32_t value, uint32_t max) {
    if (value >= 1 && value <= max) return;
    throw Failure(subject + ": " + name + " is " + std::to_string(value) + "; it must be from 1 to " +
                  std::to_string(max));
  };
  check("the vocabulary", model.vocabulary_size, 1 << 24);
  check("the number of positions", model.max_context_tokens, 1 << 24);
  check("the embedding", model.embedding_size, 1 << 16);
  check("the number of layers", model.layer_count, 1 << 14);
  check("the feed-forward width", model.feed_forward_size, 1 << 16);
  check("the number of heads", model.head_count, 1 << 16);
  if (model.embedding_size % model.head_count == 0) return;
  throw Failure(subject + ": the number of heads is " + std::to_string(model.head_count) +
                "; it must divide the embedding, " + std::to_string(model.embedding_size));
}

// Reads the shape from config.json of a checkpoint. GPT-2 and OPT, BioGPT have different names for the numbers.
PlannedModel checkpoint_model(const std::string& path) {
  const std::string file = (std::filesystem::path(path) / "config.json").string();
  if (!std::filesystem::exists(file)) {
    throw Failure(path + ": has no config.json; convert it with sotto-convert, or give its shape with --shape custom");
  }
  const Json config = call(file, [&] { return parse_json(read_all(file)); });
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  if (type != nullptr && type->is_string() && type->text() != "gpt2" && type->text() != "opt" &&
      type->text() != "biogpt") {
    throw Failure(file + ": model_type is " + in_quotes(type->text()) + "; it must be gpt2, opt or biogpt");
  }
  const auto number = [&](std::initializer_list<const char*> names, uint32_t otherwise) {
    for (const char* name : names) {
      const Json* value = config.is_object() ? config.find(name) : nullptr;
      if (value != nullptr && !value->is_null()) return to_count(*value, file + ": " + name);
    }
    if (otherwise == 0) throw Failure(file + ": has no " + *names.begin());
    return otherwise;
  };
  PlannedModel model;
  model.vocabulary_size = number({"vocab_size"}, 0);
  model.max_context_tokens = number({"n_positions", "n_ctx", "max_position_embeddings"}, 0);
  model.embedding_size = number({"n_embd", "hidden_size"}, 0);
  model.head_count = number({"n_head", "num_attention_heads"}, 0);
  model.layer_count = number({"n_layer", "num_hidden_layers"}, 0);
  model.feed_forward_size =
      number({"n_inner", "ffn_dim", "intermediate_size"}, static_cast<uint32_t>(4 * uint64_t{model.embedding_size}));
  check_shape(file, model);
  return model;
}

std::shared_ptr<const PlannedGrammar> grammar_of_model(const GrammarOptions& options, const LoadedModel& model) {
  if (!options.is_on()) return nullptr;
  if (model.info().has_tokenizer == 0) throw Failure(model.path() + ": the model has no tokenizer, so no grammar");
  sotto_vocabulary_params vocabulary;
  sotto_vocabulary_params_init(&vocabulary, sizeof vocabulary);
  vocabulary.model = model.get().c_model();
  size_t bytes = 0;
  sotto_vocabulary_memory_size(&vocabulary, &bytes, nullptr);
  const std::vector<MemoryPart> parts = {
      {"vocabulary", "vocabulary for grammars", bytes, false},
      {"vocabulary", "vocabulary for grammars", model.info().vocabulary_bytes, true}};
  return std::make_shared<PlannedGrammar>(options, model_vocabulary(model), parts);
}

// The sizes of matchers and grammars depend on the number of tokens and on the size of the longest one, not on their
// texts. The longest token and the prepared vocabulary have the sizes of GPT-2's.
std::shared_ptr<const PlannedGrammar> grammar_of_shape(const GrammarOptions& options, uint32_t vocabulary_size) {
  if (!options.is_on()) return nullptr;
  constexpr double kTrieNodesPerToken = 1.95;
  constexpr size_t kLongestToken = 128;
  constexpr double kBytesPerToken = 5 + 9 * kTrieNodesPerToken;
  VocabularyTokens tokens;
  tokens.texts.resize(vocabulary_size);
  tokens.texts.front().assign(kLongestToken, 'a');
  tokens.end_tokens = {static_cast<Token>(vocabulary_size - 1)};
  const auto bytes = static_cast<uint64_t>(vocabulary_size * kBytesPerToken);
  const std::vector<MemoryPart> parts = {{"vocabulary", "vocabulary for grammars, about", bytes, true}};
  return std::make_shared<PlannedGrammar>(options, Vocabulary::create(tokens), parts);
}

Subject model_subject(PlanOptions& options) {
  // The scalar kernels use every file in place, so that no weight is read.
  options.model.isa = SOTTO_ISA_REFERENCE;
  options.model.verify_checksums = false;
  const LoadedModel model(options.model);
  Subject subject = {model.path(), planned_model(model.info()), true, grammar_of_model(options.grammar, model)};
  options.model.isa = SOTTO_ISA_AUTO;
  subject.model.is_packed = model_memory_size(options.model) <= model_object_bytes(subject.model);
  return subject;
}

Subject read_subject(PlanOptions& options) {
  const std::string& path = options.model.path;
  Subject subject;
  if (!path.empty() && !std::filesystem::is_directory(path)) return model_subject(options);
  if (!path.empty()) {
    subject = {path, checkpoint_model(path), options.has_bits, nullptr};
  } else if (options.shape == "custom") {
    subject = {"custom", options.planned, options.has_bits, nullptr};
    if (subject.model.feed_forward_size == 0) subject.model.feed_forward_size = 4 * subject.model.embedding_size;
    check_shape("--shape custom", subject.model);
  } else {
    for (const PublishedShape& known : kPublishedShapes) {
      if (options.shape == known.name) subject = {options.shape, published_model(known), options.has_bits, nullptr};
    }
  }
  subject.model.layer_bits = options.planned.layer_bits;
  subject.model.head_bits = options.planned.head_bits;
  subject.model.is_packed = options.planned.is_packed;
  subject.grammar = grammar_of_shape(options.grammar, subject.model.vocabulary_size);
  return subject;
}

// Returns the memory that a grammar takes in addition to plan_memory().
std::vector<MemoryPart> grammar_parts(const Subject& subject, const SessionParams& params) {
  if (subject.grammar == nullptr) return {};
  std::vector<MemoryPart> parts = subject.grammar->parts(params.sequence_count);
  std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
  return parts;
}

// Of one choice of bits and of a search: the largest context that fits, or none.
struct Choice {
  PlannedModel model;
  SessionParams params;
  std::optional<uint32_t> context_tokens;
  uint64_t total_bytes;  // of this context, or of the smallest one
};

Choice largest_context(const Subject& subject, SessionParams params, uint64_t budget) {
  uint64_t grammar_bytes = 0;
  for (const MemoryPart& part : grammar_parts(subject, params)) grammar_bytes += part.bytes;
  const auto total = [&](uint32_t context) {
    params.context_tokens = context;
    return plan_memory(subject.model, resolved_session(subject.model, params)).total_bytes() + grammar_bytes;
  };
  const uint32_t positions = subject.model.max_context_tokens;
  // A given context is the only one. The sizes of all others grow with the number of tokens.
  const uint32_t given = params.context_tokens;
  uint32_t fits = given != 0 ? given : std::min(16u, positions);
  const uint64_t least = total(fits);
  Choice choice = {subject.model, params, std::nullopt, least};
  if (choice.total_bytes > budget) return choice;
  uint32_t too_large = given != 0 ? given + 1 : positions + 1;
  while (too_large - fits > 1) {
    const uint32_t middle = fits + (too_large - fits) / 2;
    (total(middle) <= budget ? fits : too_large) = middle;
  }
  choice.context_tokens = fits;
  choice.total_bytes = total(fits);
  return choice;
}

// Returns the choices in rows of equal bits, the largest bits first.
std::vector<std::vector<Choice>> choices_within(const PlanOptions& options, Subject subject) {
  std::vector<std::pair<uint32_t, uint32_t>> bits = {{8, 8}, {4, 8}, {4, 4}};
  if (subject.has_fixed_bits) bits = {{subject.model.layer_bits, subject.model.head_bits}};
  std::vector<uint32_t> searches(std::begin(kSearchCounts), std::end(kSearchCounts));
  if (options.has_searches) searches = {options.session.sequence_count};
  std::vector<std::vector<Choice>> rows;
  for (const auto& [layer_bits, head_bits] : bits) {
    subject.model.layer_bits = layer_bits;
    subject.model.head_bits = head_bits;
    std::vector<Choice>& row = rows.emplace_back();
    for (const uint32_t count : searches) {
      SessionParams params = options.session;
      params.sequence_count = count;
      row.push_back(largest_context(subject, params, options.budget));
    }
  }
  return rows;
}

std::string bits_text(const PlannedModel& model) {
  return std::to_string(model.layer_bits) + " bits, " + std::to_string(model.head_bits) + " in the head";
}

std::string search_text(uint32_t count) {
  return count == 0 ? "no search" : std::to_string(count) + (count == 1 ? " sequence" : " sequences");
}

std::string shape_text(const Subject& subject) {
  const PlannedModel& model = subject.model;
  return subject.name + ": " + std::to_string(model.layer_count) + " layers, " + std::to_string(model.head_count) +
         " heads, embedding " + with_thousands(model.embedding_size) + ", feed-forward " +
         with_thousands(model.feed_forward_size) + ", vocabulary " + with_thousands(model.vocabulary_size) +
         ", at most " + with_thousands(model.max_context_tokens) + " tokens\n";
}

Json shape_json(const Subject& subject) {
  const PlannedModel& model = subject.model;
  return {{"name", to_utf8(subject.name)},
          {"vocabulary_size", model.vocabulary_size},
          {"embedding_size", model.embedding_size},
          {"heads", model.head_count},
          {"layers", model.layer_count},
          {"feed_forward_size", model.feed_forward_size},
          {"max_context_tokens", model.max_context_tokens}};
}

Json choice_json(const Choice& choice) {
  return {{"layer_weight_bits", choice.model.layer_bits},
          {"head_weight_bits", choice.model.head_bits},
          {"sequence_count", choice.params.sequence_count},
          {"context_tokens", choice.context_tokens ? Json(*choice.context_tokens) : Json()},
          {"total_bytes", choice.total_bytes}};
}

int run_budget(const PlanOptions& options, const Subject& subject) {
  const std::vector<std::vector<Choice>> rows = choices_within(options, subject);
  const Choice* best = nullptr;
  for (const auto& row : rows) {
    if (best == nullptr && row.front().context_tokens) best = &row.front();
  }
  OutputWriter stream;
  if (options.json) {
    Json list = Json::array();
    for (const auto& row : rows) {
      for (const Choice& choice : row) list.push_back(choice_json(choice));
    }
    const Json object = {{"model", shape_json(subject)},
                         {"budget_bytes", options.budget},
                         {"choices", std::move(list)},
                         {"best", best != nullptr ? choice_json(*best) : Json()}};
    stream.write(object.dump(2) + '\n');
    return best != nullptr ? kExitOk : kExitFailure;
  }
  std::vector<Table::Column> columns = {{"weights", Table::Style::kText}};
  for (const Choice& choice : rows.front()) columns.push_back({search_text(choice.params.sequence_count)});
  Table table(std::move(columns));
  for (const auto& row : rows) {
    std::vector<std::string> cells = {bits_text(row.front().model)};
    for (const Choice& choice : row) {
      cells.push_back(choice.context_tokens ? with_thousands(*choice.context_tokens) : "-");
    }
    table.add_row(std::move(cells));
  }
  stream.write(shape_text(subject) + "largest context in tokens within " + byte_size(options.budget) + ":\n");
  table.print(stream);
  if (best != nullptr) {
    stream.write("fits: " + bits_text(best->model) + ", " + search_text(best->params.sequence_count) + ", " +
                 with_thousands(*best->context_tokens) + " tokens, in " + byte_size(best->total_bytes) + '\n');
    return kExitOk;
  }
  const Choice& least = rows.back().front();
  stream.write("nothing fits: " + bits_text(least.model) + " with " + with_thousands(least.params.context_tokens) +
               " tokens takes " + byte_size(least.total_bytes) + '\n');
  return kExitFailure;
}

int run_plan(PlanOptions options) {
  const Subject subject = read_subject(options);
  const uint32_t positions = subject.model.max_context_tokens;
  if (options.session.sequence_tokens == 0) options.session.sequence_tokens = std::min(128u, positions);
  if (options.budget != 0) return run_budget(options, subject);
  const SessionParams params = resolved_session(subject.model, options.session);
  MemoryPlan plan = plan_memory(subject.model, params);
  const std::vector<MemoryPart> grammar = grammar_parts(subject, params);
  plan.parts.insert(plan.parts.end(), grammar.begin(), grammar.end());
  OutputWriter stream;
  if (options.json) {
    Json parts = Json::array();
    for (const MemoryPart& part : plan.parts) {
      parts.push_back(
          {{"part", part.json_name}, {"bytes", part.bytes}, {"place", part.is_in_file ? "file" : "memory"}});
    }
    const Json object = {{"model", shape_json(subject)},
                         {"layer_weight_bits", subject.model.layer_bits},
                         {"head_weight_bits", subject.model.head_bits},
                         {"context_tokens", params.context_tokens},
                         {"batch_tokens", params.batch_tokens},
                         {"sequence_count", params.sequence_count},
                         {"sequence_tokens", params.sequence_tokens},
                         {"draft_tokens", params.draft_tokens},
                         {"parts", std::move(parts)},
                         {"memory_bytes", plan.allocated_bytes()},
                         {"file_bytes", plan.file_bytes()},
                         {"total_bytes", plan.total_bytes()},
                         {"loading_bytes", plan.loading_bytes},
                         {"peak_bytes", plan.peak_bytes()}};
    stream.write(object.dump(2) + '\n');
    return kExitOk;
  }
  Table table({{"part", Table::Style::kText}, {"size"}, {"in", Table::Style::kText}});
  for (const MemoryPart& part : plan.parts) {
    table.add_row({part.name, byte_size(part.bytes), part.is_in_file ? "file" : "memory"});
  }
  table.add_row({"all", byte_size(plan.total_bytes()), ""});
  stream.write(shape_text(subject));
  table.print(stream);
  stream.write("of it, " + byte_size(plan.allocated_bytes()) + " are allocated; " + byte_size(plan.file_bytes()) +
               " are pages of the model file that are used in place\n");
  if (plan.loading_bytes > plan.total_bytes()) {
    stream.write("while the model is loaded: " + byte_size(plan.loading_bytes) +
                 ", with pages of the file that are read once\n");
  }
  return kExitOk;
}

void add_shape_options(Command& command, PlanOptions& options) {
  std::vector<std::string> names;
  std::string list;
  for (const PublishedShape& known : kPublishedShapes) {
    names.push_back(known.name);
    list += std::string(known.name) + ", ";
  }
  names.push_back("custom");
  command.add_option("--shape", options.shape, "A model without a file: " + list + "or custom")
      .metavar("NAME")
      .choices(names)
      .excludes("MODEL")
      .group(kShapeGroup);
  const auto add = [&](const char* name, uint32_t& value, const char* help) -> Option& {
    return add_value(command, name, value, help, "N").group(kShapeGroup);
  };
  PlannedModel& model = options.planned;
  const auto add_custom = [&](const char* name, uint32_t& value, const char* help) {
    add(name, value, help).shown_default("").needs("--shape");
  };
  add_custom("--vocabulary-size", model.vocabulary_size, "Custom: number of tokens");
  add_custom("--positions", model.max_context_tokens, "Custom: number of positions, which limits the context");
  add_custom("--embedding", model.embedding_size, "Custom: width of the embedding");
  add_custom("--heads", model.head_count, "Custom: number of heads, a divisor of the width");
  add_custom("--layers", model.layer_count, "Custom: number of layers");
  add_custom("--feed-forward", model.feed_forward_size,
             "Custom: width of the feed-forward part; 4 x embedding if absent");
  add("--bits", model.layer_bits, "Bits per weight of the layers, 8 or 4").choices({"8", "4"});
  add("--head-bits", model.head_bits, "Bits per weight of the head, 8 or 4").choices({"8", "4"});
  command
      .add_flag("--packed", model.is_packed,
                "8-bit weights are packed in the file (sotto-convert --pack), so that they are used in place")
      .group(kShapeGroup);
}

void validate(const Command& command, PlanOptions& options) {
  if (first_given(command, {"MODEL", "--shape"}).empty()) throw UsageError("MODEL or --shape is required");
  const bool is_custom = options.shape == "custom";
  for (const char* name :
       {"--vocabulary-size", "--positions", "--embedding", "--heads", "--layers", "--feed-forward"}) {
    if (!is_custom && is_given(command, name)) reject(name, "needs --shape custom");
    if (is_custom && !is_given(command, name) && std::string(name) != "--feed-forward") {
      reject("--shape custom", std::string("needs ") + name);
    }
  }
  const std::string& path = options.model.path;
  if (!path.empty() && !std::filesystem::is_directory(path)) {
    const std::string option = first_given(command, {"--bits", "--head-bits", "--packed"});
    if (!option.empty()) reject(option, "is for models without a file; " + path + " has its own weights");
  }
  options.has_bits = !first_given(command, {"--bits", "--head-bits"}).empty();
  options.has_searches = is_given(command, "--num-beams");
  if (is_given(command, "--budget") && options.budget == 0) reject("--budget", "is 0; it must be at least 1 byte");
}

}  // namespace

void declare_plan(Command& command, Run& run) {
  auto options = std::make_shared<PlanOptions>();
  command.add_option("MODEL", options->model.path, "A .sotto file, or the directory of a checkpoint with config.json")
      .check(check_file_name)
      .completes({}, kModelSuffix);
  add_size(command, "--budget", options->budget, "Find the largest context that fits into this memory");
  command.add_flag("--json", options->json, "Print one JSON object");
  sotto_session_params& c_params = options->session;
  add_parameters(command, kSessionParameters, &c_params);
  add_value(command, "--num-beams,--beams,--beam-size,--n,--best-of", options->session.sequence_count,
            "Number of sequences of a search, beams or samples; 0 without a search", "N")
      .group(kSessionGroup);
  add_value(command, "-n,--max-tokens", options->session.sequence_tokens, "Number of new tokens per sequence", "N")
      .shown_default("128")
      .needs("--num-beams,--budget")
      .group(kSessionGroup);
  const auto set_contrastive = [options] { options->session.features |= SOTTO_FEATURE_HIDDEN_HISTORY; };
  command.add_flag("--contrastive", set_contrastive, "Contrastive search (sotto generate --penalty-alpha)")
      .group(kSessionGroup);
  add_value(command, "--draft-tokens,--draft-max", options->session.draft_tokens,
            "Number of draft tokens of speculative decoding", "N")
      .group(kSessionGroup);
  add_languages(command, options->grammar, Values::kOne);
  add_shape_options(command, *options);
  command.set_footer(
      "The sizes are those of the library's functions and of sotto_memory.h. Not counted: the program\n"
      "itself, the stacks of threads, and the tokenizer, whose pages the system can drop.\n"
      "With --budget, the exit code is 1 if nothing fits.\n"
      "\n"
      "Examples:\n"
      "  sotto plan demo.sotto -c 256 --beams 4\n"
      "  sotto plan --shape gpt2-medium --bits 4\n"
      "  sotto plan --shape gpt2 --budget 96MiB\n"
      "  sotto plan --shape gpt2 --any-json\n"
      "  sotto plan checkpoint/ --budget 1.5GiB --beams 8 -n 64 --json");
  command.on_parsed([&run, options, &command] {
    validate(command, *options);
    run = [options] { return run_plan(*options); };
  });
}

}  // namespace sotto::cli
