#include "converters/tokenizers/sentencepiece.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "converters/file.h"
#include "converters/tensors/wire_format.h"
#include "converters/tokenizers/json_members.h"
#include "converters/tokenizers/names.h"
#include "converters/tokenizers/normalizer.h"

namespace sotto {
namespace {

constexpr uint64_t kLargestFile = uint64_t{256} << 20;
constexpr const char* kSymbolText = "\u2581";  // stands for a space in the names of tokens

// The parts of sentencepiece_model.proto that encoding depends on, with their defaults.
struct Piece {
  enum Type : uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  std::string name;
  float score = 0;
  uint64_t type = kNormal;
};
enum ModelType : uint64_t { kUnigramModel = 1, kBpeModel = 2 };
struct ModelProto {
  std::vector<Piece> pieces;
  uint64_t type = kUnigramModel;
  bool has_bytes = false;
  bool has_suffixes = false;  // true if the symbol for a space ends words instead of beginning them
  std::string_view rules;
  bool adds_prefix = true;
  bool merges_spaces = true;
  bool escapes_spaces = true;
};

Piece read_piece(std::string_view bytes, const std::string& where) {
  Piece piece;
  read_message(Bytes(bytes, where), [&](uint64_t number, uint64_t value, std::string_view text) {
    if (number == 1) piece.name = text;
    if (number == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(value));
    if (number == 3) piece.type = value;
  });
  if (piece.name.empty()) throw std::runtime_error(where + ": it has no text");
  if (!std::isfinite(piece.score)) throw std::runtime_error(where + ": its score is not a finite number");
  if (piece.type < Piece::kNormal || piece.type > Piece::kByte) {
    throw std::runtime_error(where + ": its type is " + std::to_string(piece.type) + "; it must be from 1 to 6");
  }
  return piece;
}

void read_trainer(std::string_view bytes, const std::string& where, ModelProto* model) {
  read_message(Bytes(bytes, where), [&](uint64_t number, uint64_t value, std::string_view) {
    if (number == 3) model->type = value;
    if (number == 24) model->has_suffixes = value != 0;
    if (number == 35) model->has_bytes = value != 0;
  });
}

void read_normalizer_spec(std::string_view bytes, const std::string& where, ModelProto* model) {
  read_message(Bytes(bytes, where), [&](uint64_t number, uint64_t value, std::string_view text) {
    if (number == 2) model->rules = text;
    if (number == 3) model->adds_prefix = value != 0;
    if (number == 4) model->merges_spaces = value != 0;
    if (number == 5) model->escapes_spaces = value != 0;
  });
}

ModelProto read_model(std::string_view bytes, const std::string& path) {
  ModelProto model;
  read_message(Bytes(bytes, path), [&](uint64_t number, uint64_t, std::string_view part) {
    if (number == 1) model.pieces.push_back(read_piece(part, path + ": piece " + std::to_string(model.pieces.size())));
    if (number == 2) read_trainer(part, path + ": trainer_spec", &model);
    if (number == 3) read_normalizer_spec(part, path + ": normalizer_spec", &model);
  });
  if (model.pieces.empty()) throw std::runtime_error(path + ": no pieces; it is not a model of SentencePiece");
  return model;
}

// Adds the merges of a BPE model. SentencePiece does not store them, but joins the two adjacent pieces whose
// concatenation is the piece with the best score. Each way to split a piece into two pieces is therefore a merge.
void add_merges(const ModelProto& model, TokenizerNames* names) {
  std::vector<const Piece*> order;
  for (const Piece& piece : model.pieces) {
    if (piece.type == Piece::kUnused) reject("BPE with unused pieces");
    if (piece.type == Piece::kNormal) order.push_back(&piece);
  }
  std::stable_sort(order.begin(), order.end(), [](const Piece* a, const Piece* b) { return a->score > b->score; });
  for (const Piece* piece : order) {
    if (piece->name.size() > kMaxTokenBytes) reject("a piece of " + std::to_string(piece->name.size()) + " bytes");
    for (size_t at = 1; at < piece->name.size(); ++at) {
      const std::string left = piece->name.substr(0, at);
      const std::string right = piece->name.substr(at);
      if (names->find(left) && names->find(right)) names->add_merge(left, right);
    }
  }
}

// Returns the text that a piece stands for.
std::string text_of(const Piece& piece) {
  const std::string symbol = kSymbolText;
  std::string text = piece.name;
  for (size_t at = 0; (at = text.find(symbol, at)) != std::string::npos; ++at) text.replace(at, symbol.size(), " ");
  return text;
}

void describe_normalizer(const ModelProto& model, NormalizerData* tables) {
  read_rules(model.rules, tables);
  if (model.merges_spaces) tables->space_rules = kMergeSpaces | kStripStart | kStripEnd | kStripSymbol;
  tables->last_characters.replace(0x2581, " ");
}

TokenizerData build(const ModelProto& model, uint32_t vocabulary_size) {
  if (model.type != kUnigramModel && model.type != kBpeModel) {
    reject("the model type " + std::to_string(model.type) + " of SentencePiece (1 is Unigram, 2 is BPE)");
  }
  if (model.has_suffixes) reject("treat_whitespace_as_suffix");
  if (!model.escapes_spaces) reject("a normalizer without escape_whitespaces");
  NameStyle style;
  style.is_byte_alphabet = false;
  style.has_byte_tokens = model.has_bytes;
  style.space = kSymbolText;
  TokenizerNames names(vocabulary_size, style);
  TokenizerDescription& description = names.description();
  description.model = model.type == kBpeModel ? TokenizerModel::kCharacterBpe : TokenizerModel::kUnigram;
  description.prefix_space = model.adds_prefix ? PrefixSpace::kAlways : PrefixSpace::kNever;
  description.fuse_unknown = true;
  describe_normalizer(model, &description.normalizer);
  description.token_scores.assign(vocabulary_size, 0);
  double min_score = 0;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    const auto id = static_cast<int64_t>(i);
    if (piece.type == Piece::kControl || piece.type == Piece::kUserDefined) {
      names.add_literal(text_of(piece), id, piece.type == Piece::kControl ? TokenKind::kSpecial : TokenKind::kAdded);
      continue;
    }
    names.add_token(piece.name, id);
    description.token_scores[i] = piece.score;
    if (piece.type == Piece::kNormal) min_score = std::min(min_score, double{piece.score});
    if (piece.type == Piece::kUnused) description.tokens[i].is_found = false;
    if (piece.type == Piece::kUnknown) {
      description.unknown_token = static_cast<uint32_t>(i);
      description.tokens[i].kind = TokenKind::kSpecial;
    }
  }
  constexpr double kUnknownPenalty = 10;
  description.unknown_score = static_cast<float>(min_score - kUnknownPenalty);
  description.float_sums = true;
  if (model.type == kBpeModel) {
    add_merges(model, &names);
    description.token_scores.clear();
  }
  return names.build();
}

}  // namespace

TokenizerData read_sentencepiece(const std::filesystem::path& path, uint32_t vocabulary_size) {
  const std::string bytes = read_text_file(path, kLargestFile);
  const ModelProto model = read_model(bytes, path.string());
  try {
    return build(model, vocabulary_size);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

}  // namespace sotto
