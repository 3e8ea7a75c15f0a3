// Recognizes `counts[x] += 1`: a load and a store of one place with the operation between them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace warpgrade::emu {

struct Program;

struct Update {
  uint32_t store = 0;       // index of the store
  std::string atomic_name;  // the function that does it in one step: "atomicAdd"; empty when none is known
};

// The update that a load or a store of the program belongs to. Conservative: the address is the same register
// and offset in both, the store follows soon, and the value stored is made from the value loaded or both
// stand on one line.
std::optional<Update> update_of(const Program& program, uint32_t instruction);

}  // namespace warpgrade::emu
