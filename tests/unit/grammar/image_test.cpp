// Tests grammar images: a loaded grammar equals the compiled one, and a damaged image is rejected or harmless.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/xxhash64.h"
#include "runtime/grammar/compiler/grammar_image.h"
#include "runtime/grammar/grammar_generated.h"
#include "runtime/grammar/vocabulary/token_prefilter.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

constexpr size_t kBlock = 64;  // offset of the compiled grammar
constexpr size_t kChecksum = 24;

const char* const kGrammars[] = {
    "root ::= \"a\"",
    "root ::= \"\"",
    "root ::= e\ne ::= e \"+\" t | t\nt ::= \"(\" e \")\" | [a-z]+ | [0-9]{1,40}",
    "root ::= (\"ab\" root)* [^a]{3,300} | s\ns ::= s s | \"x\" | \"\"",
    "root ::= <[1-3]> (!<[1]>)* ([a-c]{2,} \"\\n\")* <[0]>",
};

// An image that is aligned to 64 bytes and ends where its memory ends.
class Image {
 public:
  explicit Image(std::span<const uint8_t> bytes) : memory_(aligned_memory(bytes.size())) {
    bytes_ = {static_cast<uint8_t*>(memory_.get()), bytes.size()};
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  explicit Image(const CompiledGrammar& grammar) : memory_(aligned_memory(grammar_image_size(grammar))) {
    bytes_ = {static_cast<uint8_t*>(memory_.get()), grammar_image_size(grammar)};
    write_grammar_image(grammar, bytes_.data());
  }

  std::span<uint8_t> bytes() { return bytes_; }
  uint8_t& operator[](size_t at) { return bytes_[at]; }
  void set_checksum() {
    const uint64_t checksum = xxhash64(bytes_.data() + kBlock, bytes_.size() - kBlock);
    std::memcpy(bytes_.data() + kChecksum, &checksum, sizeof checksum);
  }
  // Returns null if the image is rejected with a message.
  const CompiledGrammar* open() {
    const CompiledGrammar* grammar = nullptr;
    Error error;
    const Status status = open_grammar_image(bytes_, &grammar, &error);
    EXPECT_TRUE(status == Status::kOk || status == Status::kGrammarCorrupt || status == Status::kGrammarTooLarge);
    status_ = status;
    EXPECT_EQ(status == Status::kOk, error.message[0] == '\0');
    message_ = error.message;
    return grammar;
  }
  const std::string& message() const { return message_; }
  Status status() const { return status_; }

 private:
  Memory memory_;
  std::span<uint8_t> bytes_;
  Status status_ = Status::kOk;
  std::string message_;
};

// Returns the image of a grammar of "a", "b" and any number of "c" in any order, after commas.
Image image_of_set() {
  std::vector<uint64_t> memory(1 << 16);
  Workspace workspace(memory.data(), memory.size() * sizeof(uint64_t));
  GrammarBuilder builder(workspace);
  std::vector<SetMember> members;
  for (const std::string_view name : {",a", ",b", ",c"}) {
    const uint32_t first = builder.anonymous_rule(builder.text(as_span(name.substr(1))));
    const uint32_t more = builder.anonymous_rule(builder.text(as_span(name)));
    members.push_back({first, more, name == ",a" ? 1u : 0u, name == ",c" ? kUnbounded : 1u});
  }
  const uint32_t root = builder.anonymous_rule(builder.any_order(members));
  const CompiledGrammar* grammar = nullptr;
  EXPECT_EQ(compile_grammar(builder, {}, root, {}, {}, &grammar, nullptr), Status::kOk);
  return Image(*grammar);
}

// Returns an image that is correct but slow to verify. `callers` states claim that strings of any length may follow,
// because they call a rule with `moves_per_letter` moves by each letter. Only the last of these moves leads to a state
// that allows such strings.
Image slow_image(uint32_t callers, uint32_t moves_per_letter) {
  constexpr uint8_t kLetters = kLowerClass | kUpperClass;
  constexpr uint8_t kEnd = GrammarState::kFinal | GrammarState::kLast;
  const uint32_t endless = 1 + moves_per_letter;  // after moves_per_letter - 1 states that end the rule
  const uint32_t rule = endless + 1;
  const uint32_t root = rule + 1;
  std::vector<GrammarState> states;
  std::vector<GrammarMove> moves;
  std::vector<GrammarCall> calls;
  const auto add_state = [&](uint8_t flags, uint8_t classes) {
    states.push_back({static_cast<uint32_t>(moves.size()), static_cast<uint32_t>(calls.size()), flags, 0, classes, 0});
  };
  while (states.size() < endless) add_state(kEnd, 0);
  add_state(0, kLetters);
  for (uint32_t byte = 0; byte < 256; ++byte) moves.push_back({byte, endless});
  add_state(GrammarState::kStart, kLetters);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    for (uint32_t target = 2; is_letter && target <= endless; ++target) moves.push_back({byte, target});
  }
  for (uint32_t caller = 0; caller < callers; ++caller) {
    add_state(caller == 0 ? GrammarState::kStart : 0, kLetters);
    calls.push_back({rule, kNoLoop, endless});
  }
  add_state(0, 0);
  std::vector<uint8_t> block(sizeof(CompiledGrammar));
  std::vector<uint32_t> offsets;
  const auto append = [&](const auto& list) {
    offsets.push_back(static_cast<uint32_t>(block.size()));
    const auto* bytes = reinterpret_cast<const uint8_t*>(list.data());
    block.insert(block.end(), bytes, bytes + list.size() * sizeof list[0]);
  };
  append(states);
  append(moves);
  append(calls);
  append(std::vector<GrammarLoop>());
  append(std::vector<TokenRange>());
  size_t at = 0;
  const auto put = [&](auto value) {
    std::memcpy(block.data() + at, &value, sizeof value);
    at += sizeof value;
  };
  put(uint64_t{block.size()});
  put(CompiledGrammar::Counts{static_cast<uint32_t>(states.size() - 1), static_cast<uint32_t>(moves.size()),
                              static_cast<uint32_t>(calls.size()), 0, 0, 256, 256});
  put(root);
  for (const uint32_t offset : offsets) put(offset);
  for (uint32_t byte = 0; byte < 256; ++byte) put(static_cast<uint8_t>(byte));
  put(uint32_t{2});  // number of rules
  const Memory memory = aligned_memory(block.size());
  std::memcpy(memory.get(), block.data(), block.size());
  return Image(*static_cast<const CompiledGrammar*>(memory.get()));
}

std::vector<Image> images(const TestVocabulary& vocabulary) {
  std::vector<Image> made;
  made.push_back(image_of_set());
  for (const char* text : kGrammars) {
    for (const uint32_t unrolled : {64u, 0u}) {
      const TestGrammar grammar(text, {.unrolled_states = unrolled}, &vocabulary);
      EXPECT_TRUE(grammar.valid()) << grammar.message();
      made.emplace_back(grammar.view());
    }
  }
  return made;
}

// Uses a grammar of a damaged image: every call must return one of the documented statuses.
void use(const CompiledGrammar& grammar, const Vocabulary& vocabulary) {
  MatcherParams limits;
  limits.node_count = limits.state_set_count = 64;
  limits.frame_count = limits.state_count = limits.visit_count = 256;
  limits.mask_bytes = 4096;
  limits.step_budget = 20'000;
  OwnedMatcher matcher;
  // The grammar may refer to tokens that the vocabulary lacks.
  if (matcher.init(grammar, &vocabulary, limits) != Status::kOk) return;
  for (int step = 0; step < 8; ++step) {
    TokenMask mask;
    if (matcher->mask(0, &mask) != Status::kOk) return;
    uint32_t token = static_cast<uint32_t>(step) * 37 % vocabulary.token_count;
    while (!mask.allows(token)) token = (token + 1) % vocabulary.token_count;
    const Status status = matcher->accept_token(0, static_cast<int32_t>(token));
    ASSERT_TRUE(status == Status::kOk || status == Status::kGrammarTooLarge);
  }
}

TEST(GrammarImage, DoesNotDependOnTheAddress) {
  for (const char* text : kGrammars) {
    const auto vocabulary = small_vocabulary();
    const TestGrammar grammar(text, {}, &vocabulary);
    const TestGrammar loaded = grammar.reloaded();
    ASSERT_TRUE(loaded.valid()) << loaded.message();
    ASSERT_EQ(loaded.view().size(), grammar.view().size());
    EXPECT_EQ(std::memcmp(&loaded.view(), &grammar.view(), grammar.view().size()), 0);
    Image first(grammar.view());
    Image second(loaded.view());
    EXPECT_TRUE(std::equal(first.bytes().begin(), first.bytes().end(), second.bytes().begin(), second.bytes().end()));
  }
}

// Opens images that were made earlier and on other machines. A change that makes this fail must raise kGrammarVersion.
TEST(GrammarImage, ThisVersionStaysReadable) {
  const std::string corpus = SOTTO_SOURCE_DIR "/tests/fuzz/corpus/grammar_image/";
  const struct {
    const char* name;
    const char* text;
  } files[] = {{"expression", "(a+12)+b"}, {"counted", "abaccc"}, {"json", "{\"a\":[1,\"x\"]}"}};
  for (const auto& file : files) {
    const std::string bytes = read_file(corpus + file.name);
    Image image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    const CompiledGrammar* grammar = image.open();
    ASSERT_NE(grammar, nullptr) << image.message();
    OwnedMatcher matcher;
    ASSERT_EQ(matcher.init(*grammar, nullptr), Status::kOk);
    ASSERT_EQ(matcher->accept_text(0, as_span(file.text)), Status::kOk) << file.name;
    EXPECT_TRUE(matcher->may_end(0)) << file.name;
    EXPECT_EQ(matcher->accept_text(0, as_span("?")), Status::kInvalidArgument);
  }
}

// The image conforms to the schema: FlatBuffers reads it, and writes the same bytes.
TEST(GrammarImage, IsAFlatBuffer) {
  const TestGrammar grammar(kGrammars[2]);
  Image image(grammar.view());
  const auto* table = format::GetGrammarImage(image.bytes().data());
  EXPECT_EQ(table->version(), kGrammarVersion);
  ASSERT_EQ(table->block()->size(), grammar.view().size());
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceVectorAlignment(table->block()->size(), 1, alignof(CompiledGrammar));
  const auto block = builder.CreateVector(table->block()->data(), table->block()->size());
  format::FinishGrammarImageBuffer(builder,
                                   format::CreateGrammarImage(builder, table->version(), table->checksum(), block));
  Image written({builder.GetBufferPointer(), builder.GetSize()});
  const CompiledGrammar* loaded = written.open();
  ASSERT_NE(loaded, nullptr) << written.message();
  EXPECT_EQ(std::memcmp(loaded, &grammar.view(), grammar.view().size()), 0);
}

TEST(GrammarImage, TruncatedImagesAreRejected) {
  const auto vocabulary = small_vocabulary();
  for (Image& image : images(vocabulary)) {
    for (size_t size = 0; size < image.bytes().size(); ++size) {
      Image cut(image.bytes().first(size));
      EXPECT_EQ(cut.open(), nullptr) << size;
    }
  }
}

// The checksum detects every change of the block. Only a few bytes come before it.
TEST(GrammarImage, ChangedBytesAreRejectedOrHarmless) {
  const auto vocabulary = small_vocabulary({"ab", "(a", "12"});
  size_t harmless = 0;
  for (Image& original : images(vocabulary)) {
    for (size_t at = 0; at < original.bytes().size(); ++at) {
      for (const uint8_t change : {0x01, 0x80, 0xFF}) {
        Image image(original.bytes());
        image[at] = static_cast<uint8_t>(image[at] ^ change);
        const CompiledGrammar* grammar = image.open();
        if (at >= kBlock) {
          EXPECT_EQ(grammar, nullptr) << at;
          image.set_checksum();
          grammar = image.open();
        }
        if (grammar == nullptr) continue;
        harmless += at >= kBlock ? 1 : 0;
        use(*grammar, vocabulary.view());
        if (HasFatalFailure()) FAIL() << "byte " << at;
      }
    }
  }
  EXPECT_GT(harmless, 100u);  // the checks after the checksum were reached and passed
}

TEST(GrammarImage, ImagesThatAreSlowToVerifyAreRejected) {
  Image quick = slow_image(100, 100);
  EXPECT_NE(quick.open(), nullptr) << quick.message();
  // Without a limit, this image of 3 MB takes 5 billion steps.
  Image slow = slow_image(100000, 1000);
  EXPECT_EQ(slow.open(), nullptr);
  EXPECT_EQ(slow.status(), Status::kGrammarTooLarge);
  EXPECT_EQ(slow.message(),
            "grammar: verifying its lookahead takes more than 100000000 steps; compile it from its source");
}

TEST(GrammarImage, OtherVersionsAreRejectedByNumber) {
  const TestGrammar grammar(kGrammars[0]);
  Image image(grammar.view());
  image[32] = 77;
  EXPECT_EQ(image.open(), nullptr);
  EXPECT_EQ(image.message(),
            "grammar format version 77; this library reads version " + std::to_string(kGrammarVersion));
  image[32] = kGrammarVersion;
  EXPECT_NE(image.open(), nullptr);
  image[4] = 'X';
  EXPECT_EQ(image.open(), nullptr);
  EXPECT_EQ(image.message(), "not a grammar image");
}

TEST(GrammarImage, MustBeAligned) {
  const TestGrammar grammar(kGrammars[0]);
  Image image(grammar.view());
  const CompiledGrammar* loaded = nullptr;
  EXPECT_EQ(open_grammar_image(image.bytes().subspan(8), &loaded, nullptr), Status::kMemoryMisaligned);
}

}  // namespace
}  // namespace sotto::test
