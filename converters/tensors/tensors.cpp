#include "converters/tensors/tensors.h"

#include <utility>

#include "converters/tensors/pytorch.h"
#include "converters/tensors/safetensors.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kIndexLimit = 100'000'000;

}  // namespace

bool is_tensor_file(const std::filesystem::path& path) { return is_safetensors(path) || is_pytorch(path); }

std::shared_ptr<const TensorFile> open_tensor_file(const std::filesystem::path& path) {
  if (is_pytorch(path)) return std::make_shared<PytorchFile>(path);
  return std::make_shared<SafetensorsFile>(path);
}

Tensors::Tensors(const std::shared_ptr<const TensorFile>& file) : path_(file->path()) {
  for (const auto& [name, entry] : file->tensors()) places_[name] = {file, name, {}};
}

Tensors Tensors::from_index(const std::filesystem::path& index) {
  const std::string where = index.string();
  const json root = parse_strict_json(read_text_file(index, kIndexLimit), where);
  if (!root.is_object() || !root.contains("weight_map") || !root["weight_map"].is_object()) {
    fail_at(where, "\"weight_map\" is missing or not an object");
  }
  Tensors tensors;
  tensors.path_ = index;
  std::map<std::string, std::shared_ptr<const TensorFile>> shards;
  for (const auto& [name, value] : root["weight_map"].items()) {
    if (!value.is_string()) {
      fail_at(where, "the file of tensor " + in_quotes(name) + " is not a string");
    }
    const auto& shard_name = value.get_ref<const std::string&>();
    const std::filesystem::path plain = std::filesystem::path(shard_name).filename();
    if (shard_name.empty() || plain != shard_name || plain == ".." || plain == "." ||
        shard_name.find('\0') != std::string::npos) {
      fail_at(where, in_quotes(shard_name) + " is not the name of a file next to the index");
    }
    auto& shard = shards[shard_name];
    if (!shard) shard = open_tensor_file(index.parent_path() / plain);
    if (shard->tensors().count(name) == 0) {
      fail_at(tensor_label(shard->path(), name), "is missing, though the index says it is here");
    }
    tensors.places_[name] = {shard, name, {}};
  }
  return tensors;
}

std::vector<std::string> Tensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const Tensors::Place& Tensors::place_of(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) fail_at(tensor_label(path_, name), "is missing");
  return found->second;
}

const TensorEntry& Tensors::entry(const std::string& name) const {
  const Place& place = place_of(name);
  return place.file->tensors().at(place.name);
}

std::vector<float> Tensors::read(const std::string& name, uint64_t first, uint64_t count) const {
  const Place& place = place_of(name);
  std::vector<float> values = place.file->read(place.name, first, count);
  for (const Change& change : place.changes) change(first, values);
  return values;
}

std::string Tensors::where(const std::string& name) const {
  const Place& place = place_of(name);
  return tensor_label(place.file->path(), place.name);
}

void Tensors::rename(const std::function<std::string(const std::string& name)>& rename) {
  std::map<std::string, Place> renamed;
  for (auto& [name, place] : places_) {
    const std::string new_name = rename(name);
    if (new_name.empty()) continue;
    if (!renamed.emplace(new_name, place).second) {
      fail_at(tensor_label(place.file->path(), name), "another tensor stands for " + in_quotes(new_name) + " as well");
    }
  }
  places_ = std::move(renamed);
}

void Tensors::replace(const std::string& name, const Tensors& other, const std::string& other_name) {
  places_[name] = other.place_of(other_name);
}

void Tensors::change(const std::string& name, Change change) {
  entry(name);  // throws if the tensor is missing
  places_[name].changes.push_back(std::move(change));
}

}  // namespace sotto
