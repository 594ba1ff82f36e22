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
  throw std::runtime_error("\"" + name + "\" is not an instruction set with packed weights");
}

}  // namespace

std::vector<Isa> packing_isas() {
  std::vector<Isa> isas;
  for (int32_t number = 1; std::string_view(isa_name(static_cast<Isa>(number))) != "unknown"; ++number) {
    if (linear_needs_packing(static_cast<Isa>(number))) isas.push_back(static_cast<Isa>(number));
  }
  return isas;
}

Packer::Packer(const std::string& name) : isa_(find_isa(name)) {
  if (!linear_needs_packing(isa_)) {
    throw std::runtime_error("this CPU uses plain weights; packing does not apply");
  }
  if (find_kernels(isa_) == nullptr || !select_linear_isa(isa_)) {
    throw std::runtime_error("weights for " + isa() + " can be packed only on a CPU that has this instruction set");
  }
}

uint64_t Packer::fingerprint() const { return packed_layout_fingerprint(); }

size_t Packer::size(uint32_t inputs, uint32_t outputs) const { return packed_size(inputs, outputs); }

void Packer::pack(const LinearWeights& weights, std::span<uint8_t> packed) const {
  assert(packed.size() >= size(weights.inputs, weights.outputs));
  pack_linear(weights, packed.data());
}

}  // namespace sotto
