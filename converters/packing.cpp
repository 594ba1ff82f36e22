#include "converters/packing.h"

#include <cassert>
#include <stdexcept>
#include <string_view>

namespace sotto {
namespace {

Isa find_isa(const std::string& name) {
  if (name == "native") return find_kernels(Isa::kAuto)->isa;
  for (const Isa isa : packing_isas()) {
    if (name == isa_name(isa)) return isa;
  }
  throw std::runtime_error("\"" + name + "\" is not an instruction set of this build with packed weights");
}

}  // namespace

std::vector<Isa> packing_isas() {
  std::vector<Isa> isas;
  for (int32_t number = 1; std::string_view(isa_name(static_cast<Isa>(number))) != "unknown"; ++number) {
    if (packed_layout(static_cast<Isa>(number)) != nullptr) isas.push_back(static_cast<Isa>(number));
  }
  return isas;
}

Packer::Packer(const std::string& name) : isa_(find_isa(name)), layout_(packed_layout(isa_)) {
  if (layout_ == nullptr) throw std::runtime_error("this CPU uses plain weights; packing does not apply");
}

uint64_t Packer::fingerprint() const { return layout_fingerprint(*layout_); }

size_t Packer::size(uint32_t inputs, uint32_t outputs) const { return packed_size(*layout_, inputs, outputs); }

void Packer::pack(const LinearWeights& weights, std::span<uint8_t> packed) const {
  assert(packed.size() >= size(weights.inputs, weights.outputs));
  pack_linear(*layout_, weights, packed.data());
}

}  // namespace sotto
