// Packs weights into the layout that the kernels of an instruction set read (kernels/linear/linear.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/linear/linear.h"

namespace sotto {

// Returns the instruction sets of this build whose kernels read packed weights. This CPU need not have them.
std::vector<Isa> packing_isas();

// Packs for one instruction set.
class Packer {
 public:
  // Packs for the instruction set called `name`, or the best one of this CPU for "native". Throws std::runtime_error if
  // packing_isas() does not contain it.
  explicit Packer(const std::string& name);

  std::string isa() const { return isa_name(isa_); }
  uint64_t fingerprint() const;
  size_t size(uint32_t inputs, uint32_t outputs) const;
  // Fills `packed`, which has size() bytes aligned to 64.
  void pack(const LinearWeights& weights, std::span<uint8_t> packed) const;

 private:
  Isa isa_;
  const TileLayout* layout_;
};

}  // namespace sotto
