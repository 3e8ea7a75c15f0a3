// A load or store while its code is written.
#pragma once
#include <cstddef>

#include "native/emitter.h"

namespace warpgrade::emu {

// What is known of an access while its code is written.
struct Emitter::Access {
  const Inst& i;
  const Decoded& d;
  bool loads, shared, scalar_address;
  int64_t stride;
  uint32_t bytes, count;  // of an element in memory, elements
  uint32_t wide;          // of an element in the register
  uint32_t site;
  mutable Label slowly;

  uint32_t access_bytes() const { return bytes * count; }
  uint32_t span() const {
    return static_cast<uint32_t>(scalar_address ? stride * (kLanes - 1) : 0) + access_bytes();
  }
  bool is_row() const { return scalar_address && count == 1 && stride == int64_t(bytes); }
  bool is_uniform() const { return scalar_address && stride == 0; }
  // Elements of a lane side by side, and those of the next lane behind them.
  bool is_row_of_vectors() const {
    return scalar_address && count > 1 && stride == int64_t(access_bytes()) && interleaves();
  }
  bool is_whole_row() const { return is_row() || is_row_of_vectors(); }
  bool has_scalar_result() const { return loads && is_uniform(); }
  bool interleaves() const {
    return wide == bytes && ((bytes == 4 && (count == 2 || count == 4)) || (bytes == 8 && count == 2));
  }
  // Whether lanes that turn out to lie side by side have a way of their own.
  bool may_be_row() const { return !scalar_address && (count == 1 || interleaves()); }
  int64_t hint(size_t field) const { return int64_t(i.index) * int64_t(sizeof(NativeHint)) + int64_t(field); }
};

}  // namespace warpgrade::emu
