// Packs weights into the layout that the kernels of one instruction set read (kernels/linear/linear.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/linear/linear.h"

namespace sotto {

// Returns the instruction sets whose kernels read packed weights.
std::vector<Isa> packing_isas();

// Packs for one instruction set. A process has one layout of packed weights, so all of its packers must have the same.
class Packer {
 public:
  // Selects the instruction set of the process: the one called `name`, or the best one of this CPU for "native". Throws
  // std::runtime_error if this CPU or build cannot pack for it.
  explicit Packer(const std::string& name);

  std::string isa() const { return isa_name(isa_); }
  uint64_t fingerprint() const;
  size_t size(uint32_t inputs, uint32_t outputs) const;
  // Fills `packed`, which has size() bytes aligned to 64.
  void pack(const LinearWeights& weights, std::span<uint8_t> packed) const;

 private:
  Isa isa_;
};

}  // namespace sotto
