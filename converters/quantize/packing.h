// Weights in the layout in which one kind of CPU multiplies from them (kernels/linear/linear.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/linear/linear.h"

namespace sotto {

class Packer {
 public:
  // `name`: an instruction set as isa_name() spells it, or "native" for the best here.
  // Settles the instruction set of the process. Throws std::runtime_error where this CPU
  // or build cannot pack for it.
  explicit Packer(const std::string& name);

  std::string isa() const { return isa_name(isa_); }
  uint64_t fingerprint() const;
  size_t size(uint32_t inputs, uint32_t outputs) const;
  // Fills `packed`, size() bytes on a boundary of 64.
  void pack(const LinearWeights& weights, std::span<uint8_t> packed) const;

 private:
  Isa isa_;
};

}  // namespace sotto
