// Arguments of a kernel that lie in one buffer: `extra` of launches and of graphs' kernel nodes.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cudart/backend.h"

namespace warpgrade::cudart {

struct PackedArguments {
  uint8_t* begin = nullptr;
  const size_t* bytes = nullptr;
};

// False where the list names something else, or no buffer.
inline bool read_packed(void* const* extra, PackedArguments& packed) {
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      packed.begin = static_cast<uint8_t*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      packed.bytes = static_cast<const size_t*>(extra[1]);
    } else {
      return false;
    }
  }
  return packed.begin != nullptr && packed.bytes != nullptr;
}

// Where each parameter lies in the buffer; the result is the number of bytes that they take.
inline size_t place_packed(const PackedArguments& packed, std::span<const Parameter> parameters,
                           std::vector<void*>& arguments) {
  size_t needed = 0;
  for (const Parameter& p : parameters) {
    needed = p.offset + p.bytes;
    arguments.push_back(packed.begin + p.offset);
  }
  return needed;
}

}  // namespace warpgrade::cudart
