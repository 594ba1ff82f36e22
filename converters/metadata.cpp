#include "converters/metadata.h"

#include <type_traits>
#include <vector>

#include "runtime/generated/params.h"
#include "runtime/model/model_generated.h"

namespace sotto {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

format::DataRange put(const DataRange& range) { return format::DataRange(range.offset, range.size, range.checksum); }

Offset<format::Linear> put(FlatBufferBuilder& builder, const LinearRanges& linear) {
  if (linear.tiles) {
    const format::DataRange tiles = put(*linear.tiles);
    return format::CreateLinear(builder, linear.inputs, linear.outputs, nullptr, nullptr, nullptr, &tiles);
  }
  const format::DataRange weights = put(linear.weights);
  const format::DataRange scales = put(linear.scales);
  const format::DataRange bias = put(linear.bias.value_or(DataRange{}));
  return format::CreateLinear(builder, linear.inputs, linear.outputs, &weights, &scales, linear.bias ? &bias : nullptr);
}

Offset<format::Norm> put(FlatBufferBuilder& builder, const NormRanges& norm) {
  const format::DataRange gain = put(norm.gain);
  const format::DataRange bias = put(norm.bias);
  return format::CreateNorm(builder, &gain, &bias);
}

Offset<format::Layer> put(FlatBufferBuilder& builder, const LayerRanges& layer) {
  const auto attention_norm = put(builder, layer.attention_norm);
  const auto attention_qkv = put(builder, layer.attention_qkv);
  const auto attention_output = put(builder, layer.attention_output);
  const auto feed_forward_norm = put(builder, layer.feed_forward_norm);
  const auto feed_forward_up = put(builder, layer.feed_forward_up);
  const auto feed_forward_down = put(builder, layer.feed_forward_down);
  return format::CreateLayer(builder, attention_norm, attention_qkv, attention_output, feed_forward_norm,
                             feed_forward_up, feed_forward_down);
}

Offset<format::Packed> put(FlatBufferBuilder& builder, const PackedRanges& packed) {
  std::vector<format::DataRange> weights;
  for (const DataRange& range : packed.weights) weights.push_back(put(range));
  const auto isa = builder.CreateString(packed.isa);
  return format::CreatePacked(builder, packed.fingerprint, isa, builder.CreateVectorOfStructs(weights));
}

Offset<format::Vocabulary> put(FlatBufferBuilder& builder, const VocabularyRanges& vocabulary) {
  const format::DataRange arrays = put(vocabulary.arrays);
  return format::CreateVocabulary(builder, vocabulary.version, vocabulary.text_count, vocabulary.node_count,
                                  vocabulary.longest, &arrays);
}

Offset<format::SamplingDefaults> put(FlatBufferBuilder& builder, const RecommendedSampling& sampling) {
  if (sampling == RecommendedSampling()) return {};
  format::SamplingDefaultsBuilder table(builder);
#define PUT(type, name, ...) \
  if (sampling.name) table.add_##name(*sampling.name);
  SOTTO_RECOMMENDED_PARAMETERS(PUT)
#undef PUT
  return table.Finish();
}

// Writes an array, or nothing if it is empty.
template <typename T>
Offset<flatbuffers::Vector<T>> put_some(FlatBufferBuilder& builder, const std::vector<T>& values) {
  return values.empty() ? Offset<flatbuffers::Vector<T>>() : builder.CreateVector(values);
}

Offset<flatbuffers::Vector<uint8_t>> put_some(FlatBufferBuilder& builder, const std::vector<char>& bytes) {
  return put_some(builder, std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

struct CharacterOffsets {
  Offset<flatbuffers::Vector<uint32_t>> removed;
  Offset<flatbuffers::Vector<uint32_t>> replaced;
  Offset<flatbuffers::Vector<uint32_t>> offsets;
  Offset<flatbuffers::Vector<uint8_t>> bytes;

  template <typename Table>
  void add_to(Table* table) const {
    table->add_removed_characters(removed);
    table->add_replaced_characters(replaced);
    table->add_replacement_offsets(offsets);
    table->add_replacement_bytes(bytes);
  }
};

CharacterOffsets put(FlatBufferBuilder& builder, const NormalizerData::Characters& characters) {
  return {put_some(builder, characters.removed), put_some(builder, characters.replaced),
          put_some(builder, characters.offsets), put_some(builder, characters.bytes)};
}

// Writes the steps that follow the first character map, or nothing if there are none.
Offset<format::Normalizer> put(FlatBufferBuilder& builder, const NormalizerData& normalizer) {
  NormalizerView rest = normalizer.view();
  rest.characters = {};
  if (rest.is_empty()) return {};
  const auto trie = put_some(builder, normalizer.rule_trie);
  const auto texts = put_some(builder, normalizer.rule_texts);
  const auto graphemes = put_some(builder, normalizer.graphemes);
  const auto classes = put_some(builder, normalizer.combining_classes);
  std::vector<format::Composition> pairs;
  for (const Composition& pair : normalizer.compositions) pairs.emplace_back(pair.first, pair.second, pair.result);
  const auto compositions = builder.CreateVectorOfStructs(pairs);
  const CharacterOffsets characters = put(builder, normalizer.last_characters);
  format::NormalizerBuilder table(builder);
  table.add_rule_trie(trie);
  table.add_rule_texts(texts);
  table.add_graphemes(graphemes);
  table.add_combining_classes(classes);
  table.add_compositions(compositions);
  table.add_space_rules(normalizer.space_rules);
  characters.add_to(&table);
  return table.Finish();
}

Offset<format::Tokenizer> put(FlatBufferBuilder& builder, const TokenizerData& tokenizer) {
  std::vector<uint8_t> kinds;
  for (const TokenKind kind : tokenizer.token_kinds) kinds.push_back(static_cast<uint8_t>(kind));
  std::vector<format::Merge> merges;
  for (const TokenMerge& merge : tokenizer.merges) {
    merges.emplace_back(merge.left, merge.right, merge.result);
  }
  const auto token_offsets = builder.CreateVector(tokenizer.token_offsets);
  const auto token_bytes = builder.CreateVector(reinterpret_cast<const uint8_t*>(tokenizer.token_bytes.data()),
                                                tokenizer.token_bytes.size());
  const auto token_kinds = builder.CreateVector(kinds);
  const auto byte_tokens = builder.CreateVector(tokenizer.byte_tokens.data(), tokenizer.byte_tokens.size());
  const auto merge_structs = builder.CreateVectorOfStructs(merges);
  const auto merge_index = builder.CreateVector(tokenizer.merge_index);
  const auto token_merges = builder.CreateVector(tokenizer.token_merges);
  const auto sorted_tokens = builder.CreateVector(tokenizer.sorted_tokens);
  const auto added_tokens = builder.CreateVector(tokenizer.added_tokens);
  const auto split_steps = put_some(builder, tokenizer.split_steps);
  const CharacterOffsets characters = put(builder, tokenizer.normalizer.characters);
  const auto normalizer = put(builder, tokenizer.normalizer);
  const auto scores = put_some(builder, tokenizer.token_scores);

  format::TokenizerBuilder table(builder);
  table.add_token_offsets(token_offsets);
  table.add_token_bytes(token_bytes);
  table.add_token_kinds(Offset<flatbuffers::Vector<format::TokenKind>>(token_kinds.o));
  table.add_byte_tokens(byte_tokens);
  table.add_merges(merge_structs);
  table.add_merge_index(merge_index);
  table.add_token_merges(token_merges);
  table.add_sorted_tokens(sorted_tokens);
  table.add_added_tokens(added_tokens);
  table.add_prefix_space(static_cast<format::PrefixSpace>(tokenizer.prefix_space));
  table.add_split_steps(split_steps);
  table.add_model(static_cast<format::TokenizerModel>(tokenizer.model));
  table.add_word_space(static_cast<format::WordSpace>(tokenizer.word_space));
  characters.add_to(&table);
  table.add_normalizer(normalizer);
  table.add_token_scores(scores);
  table.add_unknown_score(tokenizer.unknown_score);
  table.add_unknown_token(tokenizer.unknown_token);
  table.add_max_word_characters(tokenizer.max_word_characters);
  table.add_fuse_unknown(tokenizer.fuse_unknown);
  table.add_float_sums(tokenizer.float_sums);
  return table.Finish();
}

}  // namespace

std::vector<const LinearRanges*> ModelRanges::linears() const {
  std::vector<const LinearRanges*> result;
  for (const LayerRanges& layer : layers) {
    result.insert(result.end(),
                  {&layer.attention_qkv, &layer.attention_output, &layer.feed_forward_up, &layer.feed_forward_down});
  }
  result.push_back(head ? &*head : &token_embedding);
  return result;
}

std::vector<uint8_t> build_metadata(const CheckpointInfo& info, const TokenizerData* tokenizer,
                                    const ModelRanges& ranges) {
  FlatBufferBuilder builder;
  const auto name = builder.CreateString(info.name);
  const auto source = builder.CreateString(info.source);
  Offset<format::Tokenizer> tokenizer_table;
  if (tokenizer != nullptr) tokenizer_table = put(builder, *tokenizer);
  const auto token_embedding = put(builder, ranges.token_embedding);
  std::vector<Offset<format::Layer>> layers;
  for (const LayerRanges& layer : ranges.layers) layers.push_back(put(builder, layer));
  const auto layer_vector = builder.CreateVector(layers);
  const auto final_norm = put(builder, ranges.final_norm);
  Offset<format::Linear> head;
  if (ranges.head) head = put(builder, *ranges.head);
  std::vector<Offset<format::Packed>> packed;
  if (ranges.packed) packed.push_back(put(builder, *ranges.packed));
  const auto packed_vector = builder.CreateVector(packed);
  Offset<format::Vocabulary> vocabulary;
  if (ranges.vocabulary) vocabulary = put(builder, *ranges.vocabulary);
  const format::DataRange positions = put(ranges.positions);
  // Properties that the checkpoint does not have are omitted.
  Offset<flatbuffers::Vector<int32_t>> end_of_text_tokens;
  if (!info.other_end_of_text_tokens.empty()) end_of_text_tokens = builder.CreateVector(info.end_of_text_tokens());
  const auto put_text = [&builder](const std::string& text) {
    return text.empty() ? Offset<flatbuffers::String>() : builder.CreateString(text);
  };
  const auto license = put_text(info.license);
  const auto chat_template = put_text(info.chat_template);
  const auto chat_format = put_text(info.chat_format);
  const Offset<format::SamplingDefaults> sampling_defaults = put(builder, info.sampling);

  format::ModelBuilder model(builder);
  model.add_name(name);
  model.add_source(source);
  model.add_vocabulary_size(info.shape.vocabulary_size);
  model.add_position_count(info.shape.position_count);
  model.add_embedding_size(info.shape.embedding_size);
  model.add_head_count(info.shape.head_count);
  model.add_feed_forward_size(info.shape.feed_forward_size);
  model.add_activation(static_cast<format::Activation>(info.activation));
  model.add_norm_epsilon(info.norm_epsilon);
  model.add_end_of_text_token(info.end_of_text_token);
  model.add_tokenizer(tokenizer_table);
  model.add_positions(&positions);
  model.add_token_embedding(token_embedding);
  model.add_layers(layer_vector);
  model.add_final_norm(final_norm);
  model.add_head(head);
  model.add_packed(packed_vector);
  model.add_vocabulary(vocabulary);
  model.add_end_of_text_tokens(end_of_text_tokens);
  model.add_license(license);
  model.add_chat_template(chat_template);
  model.add_sampling_defaults(sampling_defaults);
  model.add_reward_count(info.reward_count);
  model.add_chat_format(chat_format);
  format::FinishModelBuffer(builder, model.Finish());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace sotto
