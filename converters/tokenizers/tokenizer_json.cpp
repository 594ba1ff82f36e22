#include "converters/tokenizers/tokenizer_json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/file.h"
#include "converters/tokenizers/json_members.h"
#include "converters/tokenizers/normalizer.h"
#include "converters/tokenizers/pre_tokenizer.h"

namespace sotto {
namespace {

using nlohmann::json;

// Reads a merge of the form ["left", "right"] or "left right".
std::pair<std::string, std::string> tokens_of(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    throw std::runtime_error("not two tokens");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

void add_merges(const json& merges, TokenizerNames* names) {
  if (!merges.is_array()) throw std::runtime_error("merges is not an array");
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const json& merge = merges[rank];
    try {
      const auto [left, right] = tokens_of(merge);
      names->add_merge(left, right);
    } catch (const std::exception& error) {
      throw std::runtime_error("merge " + std::to_string(rank) + ": " + error.what());
    }
  }
}

// Returns one of `texts` that may occur in some text with its beginning inside `outer`, or null. `texts` are sorted,
// and none is a prefix of another.
const std::string* find_overlap(const std::vector<std::string>& texts, std::string_view outer) {
  for (size_t at = 0; at < outer.size(); ++at) {
    const std::string_view rest = outer.substr(at);
    const auto next = std::upper_bound(texts.begin(), texts.end(), rest);
    if (next != texts.begin() && rest.starts_with(*std::prev(next))) return &*std::prev(next);
    if (next != texts.end() && next->starts_with(rest)) return &*next;
  }
  return nullptr;
}

// Adds the tokens that are matched as literal text. The tokenizers library first searches for tokens without
// "normalized", and then, in the remaining text, for the others. The runtime searches for all at once. The results
// would differ if a token of the first kind can begin inside a token of the second kind, so such tokens are rejected.
void add_added_tokens(const json& tokens, bool has_normalizer, TokenizerNames* names) {
  std::vector<std::string> first, second;
  for (const json& token : tokens) {
    const std::string text = text_member(token, "content");
    check_plain_match(token, text);
    if (has_normalizer && flag_member(token, "normalized")) {
      reject("added token " + in_quotes(text) + " with \"normalized\" and a normalizer");
    }
    (flag_member(token, "normalized") ? second : first).push_back(text);
    names->add_literal(text, token_id(find_member(token, "id"), text),
                       flag_member(token, "special") ? TokenKind::kSpecial : TokenKind::kAdded);
  }
  std::sort(first.begin(), first.end());
  const auto begins_with = [](const std::string& kept, const std::string& next) { return next.starts_with(kept); };
  first.erase(std::unique(first.begin(), first.end(), begins_with), first.end());
  for (const std::string& outer : second) {
    if (const std::string* inner = find_overlap(first, outer)) {
      reject("overlap of added tokens " + in_quotes(*inner) + " and, normalized, " + in_quotes(outer));
    }
  }
}

constexpr const char* kModels[] = {"BPE", "BPE", "Unigram", "WordPiece", "WordLevel"};

TokenizerModel read_model_type(const json& model, const PreTokenizer& pre_tokenizer) {
  const std::string type = find_member(model, "type").is_null() ? "BPE" : type_of(model);
  if (type == "BPE") return pre_tokenizer.is_byte_level ? TokenizerModel::kByteBpe : TokenizerModel::kCharacterBpe;
  for (const TokenizerModel known :
       {TokenizerModel::kUnigram, TokenizerModel::kWordPiece, TokenizerModel::kWordLevel}) {
    if (type != kModels[static_cast<size_t>(known)]) continue;
    if (pre_tokenizer.is_byte_level) reject("ByteLevel with model " + type);
    return known;
  }
  reject("model " + type);
}

// Returns a member that is a text, null, or absent.
std::string optional_text(const json& object, const char* key) {
  return find_member(object, key).is_null() ? "" : text_member(object, key);
}

class Reader {
 public:
  Reader(const json& tokenizer, uint32_t vocabulary_size)
      : tokenizer_(tokenizer), vocabulary_size_(vocabulary_size), model_(find_member(tokenizer, "model")) {
    if (!model_.is_object()) throw std::runtime_error("\"model\" is not an object");
  }

  TokenizerData read() {
    const json& normalizer = find_member(tokenizer_, "normalizer");
    const std::string type = optional_text(model_, "type");
    const bool has_bare_words = type == "WordPiece" || type == "WordLevel";
    pre_tokenizer_ =
        read_pre_tokenizer(find_member(tokenizer_, "pre_tokenizer"), {isolates_chinese(normalizer), has_bare_words});
    normalizer_ = read_normalizer(normalizer, pre_tokenizer_.space);
    type_ = read_model_type(model_, pre_tokenizer_);
    check_decoder(find_member(tokenizer_, "decoder"));
    check_post_processor();
    const NameStyle style = read_style();
    TokenizerNames names(vocabulary_size_, style);
    describe(&names.description());
    add_model(&names);
    add_added_tokens(find_member(tokenizer_, "added_tokens"), !normalizer.is_null(), &names);
    TokenizerData data = names.build();
    data.notes.insert(data.notes.end(), notes_.begin(), notes_.end());
    return data;
  }

 private:
  bool is_byte_level() const { return type_ == TokenizerModel::kByteBpe; }

  // Components that only affect decoding are not needed, because tokens have bytes (runtime/text/README.md).
  void check_decoder(const json& decoder) const {
    if (decoder.is_null()) return;
    const std::string type = type_of(decoder);
    if (type == "Sequence") {
      for (const json& each : find_member(decoder, "decoders")) check_decoder(each);
      return;
    }
    const std::vector<std::string> known =
        is_byte_level() ? std::vector<std::string>{"ByteLevel"}
                        : std::vector<std::string>{"Metaspace", "WordPiece", "BPEDecoder", "ByteFallback",
                                                   "Fuse",      "Strip",     "Replace"};
    if (std::find(known.begin(), known.end(), type) == known.end()) reject("decoder " + type);
  }

  void check_post_processor() {
    const json& processor = find_member(tokenizer_, "post_processor");
    if (processor.is_null() || type_of(processor) == "ByteLevel") return;
    const bool is_bert = type_of(processor) == "BertProcessing";
    if (is_byte_level() ? type_of(processor) != "TemplateProcessing"
                        : type_of(processor) != "TemplateProcessing" && !is_bert) {
      reject("post_processor " + type_of(processor));
    }
    bool adds_tokens = is_bert;
    for (const json& piece : find_member(processor, "single")) adds_tokens |= piece.contains("SpecialToken");
    if (!adds_tokens) return;
    if (is_byte_level()) reject("a template that adds special tokens");
    notes_.push_back("the tokens that the tokenizer's post_processor adds to texts are not added");
  }

  NameStyle read_style() const {
    NameStyle style;
    style.is_byte_alphabet = is_byte_level();
    style.has_byte_tokens = flag_member(model_, "byte_fallback");
    style.space = normalizer_.space;
    style.continuing_prefix = optional_text(model_, "continuing_subword_prefix");
    style.word_suffix = optional_text(model_, "end_of_word_suffix");
    style.bare_characters = pre_tokenizer_.bare_characters;
    style.word_space = read_word_space(style);
    return style;
  }

  // A token has the space that the pre-tokenizer removes from its word.
  WordSpace read_word_space(const NameStyle& style) const {
    const bool has_prefix = !style.continuing_prefix.empty();
    const bool has_suffix = !style.word_suffix.empty();
    if (is_byte_level()) {
      if (has_prefix) reject("continuing_subword_prefix");
      if (has_suffix) reject("end_of_word_suffix");
      if (style.has_byte_tokens) reject("byte_fallback");
      if (!style.space.empty()) reject("a replacement for spaces with ByteLevel");
      return WordSpace::kNone;
    }
    if (has_prefix && has_suffix) reject("continuing_subword_prefix with end_of_word_suffix");
    const std::string name = kModels[static_cast<size_t>(type_)];
    if (!pre_tokenizer_.removes_space) {
      if (type_ == TokenizerModel::kWordPiece || has_prefix || has_suffix) {
        reject(name + " without a pre_tokenizer that removes white space");
      }
      return WordSpace::kNone;
    }
    if (!style.space.empty()) reject("a replacement for spaces with a pre_tokenizer that removes them");
    if (type_ == TokenizerModel::kWordLevel || has_prefix) return WordSpace::kBefore;
    if (has_suffix) return WordSpace::kAfter;
    reject(name + " that does not mark where words begin, with a pre_tokenizer that removes white space,");
  }

  void describe(TokenizerDescription* description) const {
    description->model = type_;
    description->split_steps = pre_tokenizer_.split_steps;
    description->prefix_space = pre_tokenizer_.prefix_space;
    if (normalizer_.prepends_space) {
      if (description->prefix_space != PrefixSpace::kNever) reject("Prepend with a pre_tokenizer that adds a space");
      description->prefix_space = PrefixSpace::kAlways;
    }
    description->normalizer = normalizer_.tables;
  }

  void add_model(TokenizerNames* names) {
    const json& dropout = find_member(model_, "dropout");
    if (!dropout.is_null() && dropout != 0) reject("dropout");
    if (flag_member(model_, "ignore_merges")) reject("ignore_merges");
    TokenizerDescription& description = names->description();
    if (type_ == TokenizerModel::kUnigram) {
      add_pieces(names);
    } else {
      add_vocabulary(find_member(model_, "vocab"), names);
    }
    if (is_byte_level() || type_ == TokenizerModel::kCharacterBpe) add_merges(find_member(model_, "merges"), names);
    description.fuse_unknown = type_ == TokenizerModel::kUnigram || flag_member(model_, "fuse_unk");
    if (type_ == TokenizerModel::kWordPiece) {
      const json& limit = find_member(model_, "max_input_chars_per_word");
      if (!limit.is_null() && !limit.is_number_unsigned()) {
        throw std::runtime_error("\"max_input_chars_per_word\" is not a number");
      }
      constexpr uint64_t kDefault = 100, kMax = std::numeric_limits<uint32_t>::max();
      description.max_word_characters =
          static_cast<uint32_t>(std::min(limit.is_null() ? kDefault : limit.get<uint64_t>(), kMax));
    }
    if (flag_member(model_, "byte_fallback") &&
        std::count(description.byte_tokens.begin(), description.byte_tokens.end(), kNoToken) > 0) {
      reject("byte_fallback without the tokens of all bytes");
    }
    if (is_byte_level() || type_ == TokenizerModel::kUnigram) return;
    const std::string unknown = optional_text(model_, "unk_token");
    const auto token = names->find(unknown);
    if (!token || unknown.empty()) return;
    set_unknown(*token, &description);
    for (const TokenMerge& merge : description.merges) {
      if (merge.left == *token || merge.right == *token) reject("a merge of the unknown token");
    }
  }

  static void set_unknown(uint32_t token, TokenizerDescription* description) {
    description->unknown_token = token;
    description->tokens[token].kind = TokenKind::kSpecial;
  }

  // Adds the tokens of Unigram with their scores.
  void add_pieces(TokenizerNames* names) const {
    const json& pieces = find_member(model_, "vocab");
    if (!pieces.is_array()) throw std::runtime_error("the vocabulary is not an array");
    TokenizerDescription& description = names->description();
    description.token_scores.assign(vocabulary_size_, 0);
    double min_score = 0;
    for (size_t id = 0; id < pieces.size(); ++id) {
      const json& piece = pieces[id];
      if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
        throw std::runtime_error("piece " + std::to_string(id) + " is not a text with a score");
      }
      names->add_token(piece[0].get<std::string>(), static_cast<int64_t>(id));
      description.token_scores[id] = piece[1].get<double>();
      min_score = id == 0 ? description.token_scores[id] : std::min(min_score, description.token_scores[id]);
    }
    constexpr double kUnknownPenalty = 10;
    description.unknown_score = min_score - kUnknownPenalty;
    const json& unknown = find_member(model_, "unk_id");
    if (unknown.is_null()) return;
    const int64_t token = token_id(unknown, "unk_id");
    if (token < 0 || token >= static_cast<int64_t>(pieces.size()))
      throw std::runtime_error("\"unk_id\" is not a token");
    set_unknown(static_cast<uint32_t>(token), &description);
  }

  const json& tokenizer_;
  const uint32_t vocabulary_size_;
  const json& model_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  TokenizerModel type_ = TokenizerModel::kByteBpe;
  std::vector<std::string> notes_;
};

}  // namespace

TokenizerData read_tokenizer_json(const json& tokenizer, uint32_t vocabulary_size) {
  return Reader(tokenizer, vocabulary_size).read();
}

void add_vocabulary(const json& vocabulary, TokenizerNames* names) {
  if (!vocabulary.is_object()) throw std::runtime_error("the vocabulary is not a JSON object");
  for (const auto& [name, id] : vocabulary.items()) {
    names->add_token(name, token_id(id, name));
  }
}

}  // namespace sotto
