// Copies and fills as the API states them: checked, then handed to the backend.
#pragma once
#include <cuda_runtime_api.h>

#include "cudart/backend.h"

namespace warpgrade::cudart {

cudaMemcpy3DParms linear_copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);
// What is wrong with a copy of rows of pitched memory or of arrays.
cudaError_t check_copy_3d(const cudaMemcpy3DParms& copy);
RowsCopy rows_of(const cudaMemcpy3DParms& copy);
// `waits`: for the copy to be done, where the host goes on in CUDA's order.
cudaError_t copy_3d(const cudaMemcpy3DParms& copy, StreamId stream, bool waits);
// Whether a graph of the backend's can hold the copy: no side is pageable memory of the host, and the
// direction is right.
bool fits_into_graph(const cudaMemcpy3DParms& copy);
bool fits_into_graph(const cudaMemsetParams& fill);
Fill fill_of(const cudaMemsetParams& fill);
// Rows of 1-, 2- or 4-byte elements.
cudaError_t fill_elements(const cudaMemsetParams& fill, StreamId stream);
// The same in a stream of the program's, which may be captured or hold its work. Records no error.
cudaError_t fill_in_stream(cudaStream_t stream, const cudaMemsetParams& fill);

}  // namespace warpgrade::cudart
