// Builds the grammar of the objects that satisfy a list of keywords together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/json_schema/schema_compiler.h"

namespace sotto {

class SchemaObjectBuilder {
 public:
  SchemaObjectBuilder(SchemaCompiler& compiler, std::span<const Literal> atoms)
      : compiler_(compiler),
        document_(compiler.document_),
        builder_(compiler.builder_),
        json_(compiler.json_),
        atoms_(atoms),
        groups_(compiler.workspace_),
        names_(compiler.workspace_),
        mentioned_(compiler.workspace_),
        literals_(compiler.workspace_),
        due_(compiler.workspace_) {}

  // kNone: no object satisfies them.
  Status build(uint32_t* expression);

 private:
  // A name that the schema mentions.
  struct Name {
    std::string_view text;
    bool required;
    bool absent;
    uint32_t pair;  // the rule of "name":value
  };
  struct Due {
    uint32_t position;
    uint32_t count;
  };

  Status read_atoms();
  Status read_names();
  void mention(std::string_view text, bool required, bool absent);
  Status meet_names(const CharacterAutomaton& names, bool negated, uint32_t node);
  Status collect(std::string_view name, bool* allowed);
  void add_additional(uint32_t group, bool* allowed);
  Status build_others(uint32_t* others);
  Status append_others(const CharacterAutomaton* names, std::span<const uint32_t> patterns, uint32_t matched,
                       uint32_t* others);
  Status build_content(uint32_t* content);
  uint32_t state(uint32_t position, uint32_t count);
  uint32_t tail(uint32_t count);
  uint32_t reference(uint32_t position, uint32_t count);
  uint32_t pair(uint32_t rule, uint32_t count);

  SchemaCompiler& compiler_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  JsonGrammar& json_;
  std::span<const Literal> atoms_;
  GrowingArray<uint32_t> groups_;
  GrowingArray<Name> names_;                  // that can be there
  GrowingArray<std::string_view> mentioned_;  // all that the schema says something about
  GrowingArray<Literal> literals_;
  GrowingArray<Due> due_;      // states whose rules have no body yet
  uint32_t* rules_ = nullptr;  // (position, count)
  uint32_t last_count_ = 1;
  uint32_t required_ = 0;
  uint32_t minimum_ = 0;
  uint32_t maximum_ = kUnbounded;
  uint32_t counting_ = kNone;  // minProperties
  uint32_t others_ = kNone;    // the rule of a pair whose name is not mentioned
  bool restricted_ = false;
  CharacterAutomaton allowed_;  // names, if restricted
};

}  // namespace sotto
