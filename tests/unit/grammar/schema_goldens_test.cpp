// Compares random schemas and values with the results of another validator (tests/tools/make_schema_goldens.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

TEST(SchemaGoldens, RandomSchemasMatchWhatJsonschemaAccepts) {
  const char* other = std::getenv("SOTTO_SCHEMA_GOLDENS");
  std::ifstream file(other != nullptr ? other : SOTTO_SOURCE_DIR "/tests/unit/grammar/data/schema_goldens.jsonl");
  size_t schemas = 0;
  size_t supported = 0;
  size_t values = 0;
  for (std::string line; std::getline(file, line);) {
    const Json golden = Json::parse(line);
    ++schemas;
    BuiltGrammar grammar = BuiltGrammar::schema(golden[0].dump());
    if (!grammar.valid() && !grammar.empty()) {
      if (other != nullptr) std::cout << "REFUSED " << grammar.message() << "\n";
      continue;
    }
    ++supported;
    for (const size_t side : {1, 2}) {
      for (const Json& value : golden[side]) {
        ++values;
        EXPECT_EQ(grammar.accepts(value), side == 1) << value << "\n" << golden[0];
        EXPECT_EQ(grammar.limit(), Status::kOk) << golden[0];
      }
    }
  }
  std::cout << supported << " of " << schemas << " schemas, " << values << " values\n";
  EXPECT_GT(supported, schemas * 8 / 10);
}

}  // namespace
}  // namespace sotto::test
