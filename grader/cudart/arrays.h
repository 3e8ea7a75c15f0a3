// CUDA arrays. Ours lie in device memory row behind row, so that copies to and from them are copies of rows.
#pragma once
#include <cuda_runtime_api.h>

#include <optional>

#include "cudart/backend.h"
#include "cudart/image.h"

namespace warpgrade::cudart {

struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // as it was asked for
  unsigned flags = 0;
  uint64_t address = 0, pitch = 0;
  uint64_t width = 0, rows = 1, slices = 1;  // elements a row, rows a slice
  uint32_t element_bytes = 0;

  ImageShape shape() const;
};

// Channels and bits of a format that arrays and textures can have: 1, 2 or 4 channels of 8, 16 or 32 bits.
struct ElementFormat {
  ChannelKind kind;
  uint32_t channels, bits;
};
std::optional<ElementFormat> element_format(const cudaChannelFormatDesc& format);

// Empty for a handle that was freed or never was one.
std::optional<Array> find_array(cudaArray_const_t handle);
cudaArray_t add_array(const Array& array);
bool remove_array(cudaArray_t handle);

// The same copy with the memory of its arrays in their place, everything in bytes; empty when it names an
// array that is none, or leaves one.
std::optional<cudaMemcpy3DParms> without_arrays(const cudaMemcpy3DParms& copy);

}  // namespace warpgrade::cudart
