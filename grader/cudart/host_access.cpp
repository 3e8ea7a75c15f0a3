#include "cudart/host_access.h"

#include <string>
#include <utility>

#include "cudart/arrays.h"
#include "cudart/refused_copy.h"

namespace warpgrade::cudart {
namespace {

cudaError_t check_direction(const void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  if (dst == nullptr || src == nullptr) return refuse_copy(dst, src, bytes, kind);
  if (kind == cudaMemcpyDefault) return cudaSuccess;
  if (static_cast<unsigned>(kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool fits = may_be(dst, to_device ? Side::device : Side::host) &&
                    may_be(src, from_device ? Side::device : Side::host);
  return fits ? cudaSuccess : refuse_copy(dst, src, bytes, kind);
}

cudaError_t copy_bytes(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind, StreamId stream,
                       bool waits) {
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = check_direction(dst, src, bytes, kind); error != cudaSuccess) return error;
  report_overlap({{reinterpret_cast<uint64_t>(dst)}, {reinterpret_cast<uint64_t>(src)}, bytes});
  return backend().copy(dst, src, bytes, stream, waits);
}

}  // namespace

cudaMemcpy3DParms linear_copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.dstPtr = {dst, bytes, bytes, 1};
  copy.srcPtr = {const_cast<void*>(src), bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

cudaError_t check_copy_3d(const cudaMemcpy3DParms& asked) {
  const auto open = without_arrays(asked);
  if (!open) return cudaErrorInvalidValue;
  const cudaMemcpy3DParms& copy = *open;
  const cudaExtent& e = copy.extent;
  if (e.width == 0 || e.height == 0 || e.depth == 0) return cudaSuccess;
  const auto fits = [&](const cudaPitchedPtr& p, const cudaPos& at) {
    return p.ptr != nullptr && (e.height * e.depth == 1 || at.x + e.width <= p.pitch) &&
           (e.depth == 1 || at.y + e.height <= p.ysize);
  };
  return fits(copy.srcPtr, copy.srcPos) && fits(copy.dstPtr, copy.dstPos) ? cudaSuccess
                                                                          : cudaErrorInvalidValue;
}

// A copy whose array was freed after the check is one of nothing.
RowsCopy rows_of(const cudaMemcpy3DParms& asked) {
  const auto open = without_arrays(asked);
  if (!open) return {{}, {}, 0, 0, 0};
  const cudaMemcpy3DParms& copy = *open;
  const auto side = [](const cudaPitchedPtr& p, const cudaPos& at) {
    const auto begin = reinterpret_cast<uint64_t>(p.ptr);
    return RowsCopy::Side{begin + (at.z * p.ysize + at.y) * p.pitch + at.x, p.pitch, p.ysize};
  };
  return {side(copy.dstPtr, copy.dstPos), side(copy.srcPtr, copy.srcPos), copy.extent.width,
          copy.extent.height, copy.extent.depth};
}

cudaError_t copy_3d(const cudaMemcpy3DParms& copy, StreamId stream, bool waits) {
  if (!without_arrays(copy)) return cudaErrorInvalidValue;
  const RowsCopy rows = rows_of(copy);
  if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return cudaSuccess;
  const auto at = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  if (rows.height == 1 && rows.depth == 1)
    return copy_bytes(at(rows.to.address), at(rows.from.address), rows.width, copy.kind, stream, waits);
  const uint64_t y = rows.height - 1, z = rows.depth - 1;
  for (const auto& [to, from] : {std::pair{rows.to.row(0, 0), rows.from.row(0, 0)},
                                 std::pair{rows.to.row(y, z), rows.from.row(y, z)}}) {
    const cudaError_t error = check_direction(at(to), at(from), rows.width, copy.kind);
    if (error != cudaSuccess) return error;
  }
  report_overlap(rows);
  return backend().copy_rows(rows, stream, waits);
}

bool fits_into_graph(const cudaMemcpy3DParms& copy) {
  const RowsCopy rows = rows_of(copy);
  if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return true;
  const auto knows = [](uint64_t address) {
    const auto range = backend().find(address);
    return (range && !range->freed) || backend().is_device_address(address);
  };
  if (!knows(rows.to.address) || !knows(rows.from.address)) return false;
  const auto* to = reinterpret_cast<const void*>(rows.to.address);
  const auto* from = reinterpret_cast<const void*>(rows.from.address);
  const cudaMemcpyKind kind = copy.kind;
  if (kind == cudaMemcpyDefault) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return may_be(to, to_device ? Side::device : Side::host) &&
         may_be(from, from_device ? Side::device : Side::host);
}

bool fits_into_graph(const cudaMemsetParams& fill) {
  return fill.width == 0 || fill.height == 0 || may_be(fill.dst, Side::device);
}

Fill fill_of(const cudaMemsetParams& fill) {
  return {reinterpret_cast<uint64_t>(fill.dst),
          fill.pitch,
          fill.value,
          fill.elementSize,
          fill.width,
          fill.height};
}

cudaError_t fill_elements(const cudaMemsetParams& fill, StreamId stream) {
  if (fill.width == 0 || fill.height == 0) return cudaSuccess;
  for (size_t y = 0; y < fill.height; ++y) {
    const char* row = static_cast<char*>(fill.dst) + y * fill.pitch;
    if (!may_be(row, Side::device)) return refuse_fill(row, fill.width * fill.elementSize);
  }
  return backend().fill(fill_of(fill), stream);
}

}  // namespace warpgrade::cudart
