// What an address is made of, as far as the instructions before it tell: for advice, never for a verdict.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

struct Program;

struct AddressShape {
  bool by_thread = false;  // the thread's number in its block is part of it
  bool by_lane = false;    // its number in its warp alone is, as in `sums[threadIdx.x % 32]`
  bool by_block = false;   // and so is the block's
  bool by_data = false;    // and so is a value from memory, as in `count[key[i]]`
  // A loop adds something to it in which the size of the grid is no factor, as in `i += blockDim.x`.
  bool steps_within_block = false;
};

// Of a load, a store or an atomic operation.
AddressShape address_shape(const Program& program, uint32_t instruction);

// Whether the value that an instruction loads is the address of a function that is called: an entry of a
// table of virtual functions.
bool loads_function(const Program& program, uint32_t instruction);

}  // namespace warpgrade::emu
