#include "platforms/server/request.h"

#include <algorithm>
#include <functional>
#include <random>

#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/json.h"

namespace sotto::cli {
namespace {

constexpr uint32_t kMaxChoices = 64;

// Members that describe the caller or its account, and do not concern the text.
constexpr std::string_view kUnusedMembers[] = {"user", "metadata", "store", "service_tier", "safety_identifier"};

// Reads a member, and returns false if it has another name.
using ReadMember = std::function<bool(const std::string& name, const Json& value, std::string_view raw)>;

// Calls `read` for each member that is not null. Throws if the request is for another model.
void read_members(std::string_view body, const std::string& model, const ReadMember& read) {
  const Json object = parse_json(body);
  if (!object.is_object()) throw Failure("the request is not an object");
  const std::vector<JsonMember> raw = members_of(body);
  if (raw.size() != object.members().size()) throw Failure("the request repeats a parameter");
  size_t index = 0;
  for (const auto& [name, value] : object.members()) {
    const std::string_view text = raw[index++].value;
    if (value.is_null() || std::ranges::find(kUnusedMembers, name) != std::end(kUnusedMembers)) continue;
    if (name == "model") {
      if (to_text(value, name) != model) {
        throw UnknownModel("model is \"" + to_text(value, name) + "\"; this server has \"" + model + '"');
      }
    } else if (!read(name, value, text)) {
      throw Failure("unknown parameter: " + name);
    }
  }
}

size_t to_token_limit(const Json& value, const std::string& name) {
  const uint32_t count = to_count(value, name);
  if (count == 0) throw Failure(name + " is 0; it must be at least 1");
  return count;
}

std::vector<std::string> to_texts(const Json& value, const std::string& name) {
  if (value.is_string()) return {value.text()};
  std::vector<std::string> texts;
  for (const Json& text : to_list(value, name)) texts.push_back(to_text(text, name));
  return texts;
}

// Reads a text, a list of tokens, or a list of either.
std::vector<Prompt> to_prompts(const Json& value, const std::string& name) {
  if (value.is_string()) return {value.text()};
  const Json::List& list = to_list(value, name);
  if (list.empty()) throw Failure(name + " is empty");
  if (list.front().is_integer()) return {to_tokens(value, name)};
  std::vector<Prompt> prompts;
  for (const Json& entry : list) {
    if (entry.is_string()) {
      prompts.emplace_back(entry.text());
    } else {
      prompts.emplace_back(to_tokens(entry, name));
    }
  }
  return prompts;
}

std::string_view raw_member(std::string_view object, std::string_view name, const std::string& where) {
  for (const JsonMember& member : members_of(object)) {
    if (member.name == name) return member.value;
  }
  throw Failure(where + " has no member " + std::string(name));
}

// Reads a response_format such as {"type": "json_schema", "json_schema": {"schema": ...}}. The schema stays as written,
// because the order of its members counts.
std::optional<GrammarText> to_grammar(const Json& format, std::string_view raw) {
  if (!format.is_object()) throw Failure("response_format is not an object");
  const Json* type = format.find("type");
  const std::string kind = type == nullptr ? "" : to_text(*type, "response_format.type");
  if (kind == "text") return std::nullopt;
  if (kind == "json_object") return GrammarText{SOTTO_GRAMMAR_JSON_OBJECT, "", "response_format"};
  if (kind != "json_schema") {
    throw Failure("response_format.type is \"" + kind + "\"; it must be text, json_object or json_schema");
  }
  const std::string_view outer = raw_member(raw, "json_schema", "response_format");
  return GrammarText{SOTTO_GRAMMAR_JSON_SCHEMA, std::string(raw_member(outer, "schema", "response_format.json_schema")),
                     "response_format"};
}

// Reads a member that requests for texts share. The rest goes to `sampler`.
void read_shared(const std::string& name, const Json& value, std::string_view raw, GenerationRequest& request,
                 Json& sampler) {
  if (name == "max_tokens" || name == "max_completion_tokens") {
    request.max_tokens = to_token_limit(value, name);
  } else if (name == "n") {
    request.choice_count = to_count(value, name);
    if (request.choice_count == 0 || request.choice_count > kMaxChoices) {
      throw Failure("n is " + value.dump() + "; it must be from 1 to " + std::to_string(kMaxChoices));
    }
  } else if (name == "stream") {
    request.streams = to_bool(value, name);
  } else if (name == "stream_options") {
    if (!value.is_object()) throw Failure("stream_options is not an object");
    reject_other_members(value, {"include_usage"});
    if (const Json* usage = value.find("include_usage")) request.includes_usage = to_bool(*usage, "include_usage");
  } else if (name == "stop") {
    request.stops.stop_strings = to_texts(value, name);
  } else if (name == "response_format") {
    request.grammar = to_grammar(value, raw);
  } else if (name == "grammar") {
    request.grammar = GrammarText{SOTTO_GRAMMAR_GBNF, to_text(value, name), name};
  } else {
    sampler.add(name, value);
  }
}

void finish(GenerationRequest& request, const Json& sampler) {
  request.sampler.seed = std::random_device()();
  read_sampler_json(sampler, request.sampler);
}

// Sets the number of most likely tokens that are listed with log probabilities.
void list_alternatives(const Json& value, const std::string& name, SamplerParams& sampler) {
  sampler.log_probabilities = 1;
  sampler.alternative_count = to_count(value, name);
}

sotto_chat_role to_role(const std::string& name) {
  constexpr std::pair<const char*, sotto_chat_role> kRoles[] = {{"system", SOTTO_ROLE_SYSTEM},
                                                                {"developer", SOTTO_ROLE_SYSTEM},
                                                                {"user", SOTTO_ROLE_USER},
                                                                {"assistant", SOTTO_ROLE_ASSISTANT},
                                                                {"tool", SOTTO_ROLE_TOOL}};
  for (const auto& [role_name, role] : kRoles) {
    if (name == role_name) return role;
  }
  throw Failure("messages.role is \"" + name + "\"; it must be system, developer, user, assistant or tool");
}

// Reads the text of a message, which may be in parts.
std::string to_content(const Json& value) {
  if (value.is_string()) return value.text();
  std::string text;
  for (const Json& part : to_list(value, "messages.content")) {
    const Json* type = part.is_object() ? part.find("type") : nullptr;
    const Json* content = part.is_object() ? part.find("text") : nullptr;
    if (type == nullptr || *type != Json("text") || content == nullptr) {
      throw Failure("messages.content: only parts of the type text are supported");
    }
    text += to_text(*content, "messages.content.text");
  }
  return text;
}

}  // namespace

CompletionRequest read_completion_request(std::string_view body, const std::string& model,
                                          const SamplerParams& sampler) {
  CompletionRequest request;
  request.sampler = sampler;
  request.max_tokens = 16;
  Json rest = Json::object();
  read_members(body, model, [&](const std::string& name, const Json& value, std::string_view raw) {
    if (name == "prompt") {
      request.prompts = to_prompts(value, name);
    } else if (name == "logprobs") {
      list_alternatives(value, name, request.sampler);
    } else {
      read_shared(name, value, raw, request, rest);
    }
    return true;
  });
  if (request.prompts.empty()) throw Failure("prompt is missing");
  finish(request, rest);
  return request;
}

ChatRequest read_chat_request(std::string_view body, const std::string& model, const SamplerParams& sampler) {
  ChatRequest request;
  request.sampler = sampler;
  Json rest = Json::object();
  read_members(body, model, [&](const std::string& name, const Json& value, std::string_view raw) {
    if (name == "messages") {
      for (const Json& message : to_list(value, name)) {
        if (!message.is_object()) throw Failure("messages: a message is not an object");
        for (const auto& [member, content] : message.members()) {
          if (member == "role" || member == "content" || content.is_null()) continue;
          throw Failure("messages: the member " + member + " is not supported");
        }
        const Json* role = message.find("role");
        const Json* content = message.find("content");
        if (role == nullptr || content == nullptr) throw Failure("messages: a message has no role or no content");
        const sotto_chat_role kind = to_role(to_text(*role, "messages.role"));
        if (kind == SOTTO_ROLE_SYSTEM && !request.messages.empty()) {
          throw Failure("messages: the message of the system must be the first");
        }
        request.messages.emplace_back(kind, to_content(*content));
      }
    } else if (name == "logprobs") {
      request.sampler.log_probabilities = to_bool(value, name) ? 1 : 0;
    } else if (name == "top_logprobs") {
      list_alternatives(value, name, request.sampler);
    } else {
      read_shared(name, value, raw, request, rest);
    }
    return true;
  });
  if (request.messages.empty()) throw Failure("messages is missing or empty");
  finish(request, rest);
  return request;
}

EmbeddingRequest read_embedding_request(std::string_view body, const std::string& model, size_t embedding_size) {
  EmbeddingRequest request;
  read_members(body, model, [&](const std::string& name, const Json& value, std::string_view) {
    if (name == "input") {
      request.inputs = to_prompts(value, name);
    } else if (name == "encoding_format") {
      const std::string& format = to_text(value, name);
      if (format != "float" && format != "base64") {
        throw Failure("encoding_format is \"" + format + "\"; it must be float or base64");
      }
      request.is_base64 = format == "base64";
    } else if (name == "dimensions") {
      if (to_count(value, name) != embedding_size) {
        throw Failure("dimensions is " + value.dump() + "; the model has " + std::to_string(embedding_size));
      }
    } else {
      return false;
    }
    return true;
  });
  if (request.inputs.empty()) throw Failure("input is missing");
  return request;
}

}  // namespace sotto::cli
