#include "tests/bench/workloads/grammar_sources.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

namespace sotto::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTexts = 12;

constexpr char kJson[] = R"gbnf(root ::= value
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F\x7F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [1-9] [0-9]{0,15})? ws
ws ::= "" | " " | "\n" [ \t]{0,20}
)gbnf";

constexpr char kArithmetic[] = R"gbnf(root ::= (sum "\n")+
sum ::= sum [-+] product | product
product ::= product [*/] power | power
power ::= atom "^" power | atom
atom ::= [0-9]+ ("." [0-9]{1,8})? | [a-z] [a-z0-9_]* | "(" sum ")" | [a-z]+ "(" sum ("," sum)* ")"
)gbnf";

constexpr char kPerson[] = R"({"type":"object","properties":{"name":{"type":"string","minLength":1,
"maxLength":60},"born":{"type":"string","format":"date"},"email":{"type":"string","format":"email"},
"role":{"enum":["admin","author","reader","guest"]},"age":{"type":"integer","minimum":0,
"maximum":150},"tags":{"type":"array","items":{"type":"string","pattern":"^[a-z][a-z0-9-]{1,20}$"},
"maxItems":8},"address":{"type":"object","properties":{"street":{"type":"string"},
"code":{"type":"string","pattern":"^[0-9]{5}$"},"country":{"type":"string","maxLength":2}},
"required":["street","code"],"additionalProperties":false}},"required":["name","role"],
"additionalProperties":false})";

constexpr char kTree[] = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
"label":{"type":"string"},"weight":{"type":"number"},"children":{"type":"array",
"items":{"$ref":"#/$defs/node"}},"note":{"anyOf":[{"type":"null"},{"type":"string"}]}},
"required":["label"]}}})";

constexpr char kTools[] = R"([{"name":"get_weather","parameters":{"type":"object","properties":{
"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer",
"minimum":1,"maximum":14}},"required":["city"],"additionalProperties":false}},
{"name":"send_message","parameters":{"type":"object","properties":{"to":{"type":"array",
"items":{"type":"string"},"minItems":1},"body":{"type":"string"},"urgent":{"type":"boolean"}},
"required":["to","body"],"additionalProperties":false}},{"name":"stop"}])";

constexpr char kLogLine[] =
    R"(\d{4}-(0[1-9]|1[0-2])-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z (INFO|WARN|ERROR) \[[a-z.]+\] .{1,200})";

class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }
  std::string words(uint32_t count) {
    static const char* const kWords[] = {"the",   "river",   "of",      "seven", "quietly", "Zürich",
                                         "stone", "walked",  "under",   "a",     "blue",    "naïve",
                                         "lamp",  "because", "nothing", "世界",  "remains", "café"};
    std::string text;
    for (uint32_t i = 0; i < count; ++i) {
      text += (i > 0 ? " " : "") + std::string(kWords[below(std::size(kWords))]);
    }
    return text;
  }
  std::string digits(uint32_t count) {
    std::string text;
    while (text.size() < count) text += static_cast<char>('0' + below(10));
    return text;
  }
  Json value(int depth) {
    switch (depth > 0 ? below(8) : 3 + below(5)) {
      case 0:
      case 1: {
        Json object = Json::object();
        for (uint32_t i = 0, count = below(6); i < count; ++i) {
          object[words(1) + digits(1)] = value(depth - 1);
        }
        return object;
      }
      case 2: {
        Json array = Json::array();
        for (uint32_t i = 0, count = below(6); i < count; ++i) array.push_back(value(depth - 1));
        return array;
      }
      case 3:
        return below(2) == 0;
      case 4:
        return static_cast<int32_t>(below(2'000'000)) - 1'000'000;
      case 5:
        return static_cast<double>(below(100'000)) / 64;
      default:
        return words(1 + below(12));
    }
  }
  Json node(int depth) {
    Json node = {{"label", words(2)}, {"weight", static_cast<double>(below(1000)) / 8}};
    Json children = Json::array();
    for (uint32_t i = 0; depth > 0 && i < 3; ++i) children.push_back(this->node(depth - 1));
    node["children"] = children;
    return node;
  }
  Json person() {
    return {{"name", words(2)},
            {"born", "19" + digits(2) + "-0" + std::to_string(1 + below(9)) + "-1" + digits(1)},
            {"email", "reader" + digits(3) + "@mail.example.org"},
            {"role", "author"},
            {"age", below(100)},
            {"tags", {"blue-lamp", "stone" + digits(2), "river"}},
            {"address", {{"street", words(3) + " " + digits(2)}, {"code", digits(5)}}}};
  }
  Json call() {
    if (below(2) == 0) {
      return {{"name", "get_weather"},
              {"arguments", {{"city", words(1)}, {"unit", "celsius"}, {"days", 1 + below(14)}}}};
    }
    return {{"name", "send_message"},
            {"arguments", {{"to", {words(1), words(1)}}, {"body", words(30)}, {"urgent", true}}}};
  }
  std::string log_line() {
    return "2031-0" + std::to_string(1 + below(9)) + "-1" + digits(1) + "T1" + digits(1) + ":2" + digits(1) + ":3" +
           digits(1) + "." + digits(3) + "Z WARN [store.index] " + words(12);
  }
  std::string formula() {
    std::string text = "x" + digits(1);
    for (int i = 0; i < 20; ++i) {
      const uint32_t kind = below(4);
      if (kind == 0) text = "(" + text + ")*" + digits(3);
      if (kind == 1) text += "+sin(" + digits(2) + "." + digits(2) + ",a_b)";
      if (kind == 2) text = digits(4) + "/" + text;
      if (kind == 3) text += "-alpha^2";
    }
    return text + "\n";
  }

 private:
  std::mt19937 random_;
};

template <typename Make>
std::vector<std::string> repeat(Make make) {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < kTexts; ++i) {
    Writer writer(i + 1);
    texts.push_back(make(writer));
  }
  return texts;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_schema(const std::filesystem::path& path, GrammarSet* set) {
  const Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object() || !json.contains("schema") || !json.contains("tests")) return;
  GrammarSource source{SOTTO_GRAMMAR_JSON_SCHEMA, json.at("schema").dump(), {}};
  for (const Json& test : json.at("tests")) {
    if (test.value("valid", false)) source.samples.push_back(test.at("data").dump());
  }
  set->sources.push_back(source);
}

}  // namespace

std::vector<GrammarSet> made_grammars() {
  const auto objects = repeat([](Writer& writer) {
    return Json{{writer.words(1), writer.value(5)}, {"list", writer.value(4)}}.dump();
  });
  return {
      {"json.gbnf", {{SOTTO_GRAMMAR_GBNF, kJson, objects}}},
      {"any JSON", {{SOTTO_GRAMMAR_JSON, "", objects}}},
      {"arithmetic", {{SOTTO_GRAMMAR_GBNF, kArithmetic, repeat([](Writer& w) { return w.formula(); })}}},
      {"person", {{SOTTO_GRAMMAR_JSON_SCHEMA, kPerson, repeat([](Writer& w) { return w.person().dump(); })}}},
      {"tree", {{SOTTO_GRAMMAR_JSON_SCHEMA, kTree, repeat([](Writer& w) { return w.node(3).dump(); })}}},
      {"tools", {{SOTTO_GRAMMAR_TOOLS, kTools, repeat([](Writer& w) { return w.call().dump(); })}}},
      {"log line", {{SOTTO_GRAMMAR_REGEX, kLogLine, repeat([](Writer& w) { return w.log_line(); })}}},
  };
}

std::vector<GrammarSet> read_grammars(const std::filesystem::path& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) throw std::runtime_error(directory.string() + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  GrammarSet gbnf{"GBNF files", {}};
  GrammarSet schemas{"schema files", {}};
  for (const auto& path : paths) {
    if (path.extension() == ".gbnf") {
      gbnf.sources.push_back({SOTTO_GRAMMAR_GBNF, read_text(path), {}});
    } else if (path.extension() == ".json") {
      add_schema(path, &schemas);
    }
  }
  std::vector<GrammarSet> sets;
  if (!gbnf.sources.empty()) sets.push_back(gbnf);
  if (!schemas.sources.empty()) sets.push_back(schemas);
  if (sets.empty()) throw std::runtime_error(directory.string() + ": neither .gbnf nor schemas");
  return sets;
}

}  // namespace sotto::bench
