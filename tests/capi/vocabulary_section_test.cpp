// Tests the vocabulary in a model file: it is used in place, built for files without one, and rejected or harmless if
// it is damaged.
#include <algorithm>
#include <cstring>
#include <string>

#include "capi/include/sotto_grammar.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/capi/open_session.h"
#include "tests/support/model_checksums.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 32, 32, 2, 48, 1};
constexpr size_t kObjectBytes = 256;

const format::Vocabulary* section_of(const std::vector<uint8_t>& file) {
  return format::GetModel(file.data() + sizeof(FileHeader))->vocabulary();
}

// Overwrites the beginning of one of the section's fields.
template <typename T>
void set(std::vector<uint8_t>& file, flatbuffers::voffset_t field, T value) {
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(section_of(file));
  const uint8_t* place = table->GetAddressOf(field);
  ASSERT_NE(place, nullptr);
  std::memcpy(file.data() + (place - file.data()), &value, sizeof value);
}

struct Outcome {
  sotto_status status = SOTTO_INTERNAL;
  size_t size = 0;
  std::string message;
  std::vector<uint64_t> mask;  // at the beginning of a grammar
};

Outcome use_vocabulary(const std::vector<uint8_t>& file) {
  LoadedModel model(file);
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.model = model.get();
  Outcome outcome;
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  outcome.status = sotto_vocabulary_memory_size(&params, &outcome.size, &error);
  if (outcome.status != SOTTO_OK) return outcome;
  AlignedBytes memory(outcome.size);
  sotto_vocabulary* vocabulary = nullptr;
  outcome.status = sotto_vocabulary_init(&params, memory.data(), outcome.size, &vocabulary, &error);
  outcome.message = error.message;
  if (outcome.status != SOTTO_OK) return outcome;

  AlignedBytes grammar_memory(size_t{1} << 20);
  sotto_grammar* grammar = nullptr;
  size_t grammar_size = 0;
  const std::string text = "root ::= [a-z0-9 ]{1,9} | \"\\\"\" [^\"]* \"\\\"\"";
  EXPECT_EQ(sotto_grammar_compile(text.data(), text.size(), nullptr, grammar_memory.data(), grammar_memory.size(),
                                  &grammar, &grammar_size, &error),
            SOTTO_OK)
      << error.message;
  size_t matcher_size = 0;
  EXPECT_EQ(sotto_matcher_memory_size(grammar, vocabulary, nullptr, &matcher_size, &error), SOTTO_OK);
  AlignedBytes matcher_memory(matcher_size);
  sotto_matcher* matcher = nullptr;
  EXPECT_EQ(sotto_matcher_init(grammar, vocabulary, nullptr, matcher_memory.data(), matcher_size, &matcher, &error),
            SOTTO_OK);
  outcome.mask.resize((kShape.vocabulary_size + 63) / 64);
  EXPECT_EQ(sotto_matcher_mask(matcher, 0, outcome.mask.data(), outcome.mask.size()), SOTTO_OK);
  return outcome;
}

uint64_t vocabulary_bytes(const std::vector<uint8_t>& file) {
  LoadedModel model(file);
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(sotto_model_get_info(model.get(), &info), SOTTO_OK);
  return info.vocabulary_bytes;
}

TEST(VocabularySection, IsUsedInPlace) {
  auto file = make_model_file(kShape, true);
  ASSERT_NE(section_of(file), nullptr);
  const Outcome outcome = use_vocabulary(file);
  ASSERT_EQ(outcome.status, SOTTO_OK) << outcome.message;
  EXPECT_EQ(outcome.size, kObjectBytes);
  EXPECT_EQ(outcome.mask['a' / 64] >> 'a' % 64 & 1, 1u);
  EXPECT_EQ(outcome.mask['A' / 64] >> 'A' % 64 & 1, 0u);
  EXPECT_EQ(vocabulary_bytes(file), section_of(file)->arrays()->size());
  EXPECT_EQ(section_of(file)->arrays()->offset() % 64, 0u);
}

TEST(VocabularySection, OtherVersionsAreBuiltFromTheTokens) {
  auto file = make_model_file(kShape, true);
  const Outcome in_place = use_vocabulary(file);
  set(file, format::Vocabulary::VT_VERSION, section_of(file)->version() + 1);
  repair_checksums(file);
  const Outcome rebuilt = use_vocabulary(file);
  ASSERT_EQ(rebuilt.status, SOTTO_OK) << rebuilt.message;
  EXPECT_GT(rebuilt.size, 256u * 9);
  EXPECT_EQ(rebuilt.mask, in_place.mask);
  EXPECT_EQ(vocabulary_bytes(file), 0u);
}

TEST(VocabularySection, FilesWithoutATokenizerHaveNone) {
  const auto file = make_model_file(kShape, false);
  EXPECT_EQ(section_of(file), nullptr);
  EXPECT_EQ(vocabulary_bytes(file), 0u);
  EXPECT_EQ(use_vocabulary(file).status, SOTTO_TOKENIZER_MISSING);
}

// The model loads although the section is damaged, because loading does not read these pages.
TEST(VocabularySection, DamageIsDetectedByItsUser) {
  const auto good = make_model_file(kShape, true);
  const Outcome expected = use_vocabulary(good);
  std::mt19937 random(3);
  size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    auto bad = good;
    const format::DataRange* arrays = section_of(bad)->arrays();
    bad[arrays->offset() + random() % arrays->size()] ^= static_cast<uint8_t>(1u << random() % 8);
    const Outcome outcome = use_vocabulary(bad);
    if (outcome.status == SOTTO_OK) {
      EXPECT_EQ(outcome.mask, expected.mask);  // between two arrays
      continue;
    }
    ++refused;
    EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
    EXPECT_EQ(outcome.message.find("vocabulary section: "), 0u) << outcome.message;
  }
  EXPECT_GT(refused, 250u);
}

TEST(VocabularySection, WrongPlacesAndCountsAreRejected) {
  const auto good = make_model_file(kShape, true);
  for (const uint32_t wrong : {0u, 1u, 255u, 300u, UINT32_MAX}) {
    for (const auto field :
         {format::Vocabulary::VT_TEXT_COUNT, format::Vocabulary::VT_NODE_COUNT, format::Vocabulary::VT_LONGEST}) {
      auto bad = good;
      set(bad, field, wrong);
      repair_checksums(bad);
      const bool is_right = std::equal(bad.begin(), bad.end(), good.begin());
      EXPECT_EQ(use_vocabulary(bad).status, is_right ? SOTTO_OK : SOTTO_MODEL_CORRUPT) << wrong;
    }
  }
  const uint64_t right = section_of(good)->arrays()->offset();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{64}, uint64_t{good.size()}, UINT64_MAX - 63, right + 8}) {
    auto bad = good;
    set(bad, format::Vocabulary::VT_ARRAYS, offset);
    repair_checksums(bad);
    AlignedBytes file(bad);
    size_t size = 0;
    EXPECT_EQ(sotto_model_memory_size(file.data(), file.size(), nullptr, &size, nullptr), SOTTO_MODEL_CORRUPT)
        << offset;
  }
}

}  // namespace
}  // namespace sotto
