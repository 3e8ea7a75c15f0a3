#include "cusparse/call.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

namespace warpgrade::cusparse {
namespace {

template <class T>
Indices widened(const std::vector<unsigned char>& bytes) {
  Indices indices(bytes.size() / sizeof(T));
  for (size_t k = 0; k < indices.size(); ++k) {
    T index;
    std::memcpy(&index, &bytes[k * sizeof(T)], sizeof(T));
    indices[k] = index;
  }
  return indices;
}

template <class T>
std::vector<T> narrowed(const Indices& indices) {
  return std::vector<T>(indices.begin(), indices.end());
}

Lines one_line(int64_t count) {
  return {1, count, count};
}

}  // namespace

void say(const char* function, const std::string& why) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // never destroyed: programs call in static destructors
  const std::lock_guard lock(mutex);
  if (said.insert(function + why).second) std::fprintf(stderr, "emulator: %s: %s\n", function, why.c_str());
}

size_t bytes_of(cusparseIndexType_t type) {
  switch (type) {
    case CUSPARSE_INDEX_16U:
      return 2;
    case CUSPARSE_INDEX_32I:
      return 4;
    case CUSPARSE_INDEX_64I:
      return 8;
  }
  return 0;
}

void require_no_capture(const cusparseContext& context) {
  if (!libraries::is_captured(context.stream)) return;
  throw Failure{CUSPARSE_STATUS_NOT_SUPPORTED,
                "the handle's stream is being captured, and the host needs the result"};
}

const unsigned char* Call::on_host(const void* at, size_t bytes) const {
  if (is_rehearsal_) host_.keep(at, bytes);
  const void* found = is_in_graph_ ? host_.find(at, bytes) : at;
  if (found == nullptr) throw Failure{CUSPARSE_STATUS_INTERNAL_ERROR, "a graph lacks a value of the host"};
  return static_cast<const unsigned char*>(found);
}

std::vector<unsigned char> Call::read(const void* from, const Lines& lines, size_t element,
                                      const char* what) const {
  const size_t width = static_cast<size_t>(lines.length) * element;
  std::vector<unsigned char> bytes(width * static_cast<size_t>(lines.count));
  if (!bytes.empty())
    move(bytes.data(), width, from, static_cast<size_t>(lines.pitch) * element, width,
         static_cast<size_t>(lines.count), cudaMemcpyDeviceToHost, what);
  return bytes;
}

void Call::write(void* to, const Lines& lines, size_t element, const void* from, const char* what) const {
  const size_t width = static_cast<size_t>(lines.length) * element;
  if (width == 0 || lines.count == 0) return;
  move(to, static_cast<size_t>(lines.pitch) * element, from, width, width, static_cast<size_t>(lines.count),
       cudaMemcpyHostToDevice, what);
}

void Call::move(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                cudaMemcpyKind kind, const char* what) const {
  require(to != nullptr && from != nullptr, "an array with elements has a null pointer");
  if (is_rehearsal_) throw Rehearsed{};
  const cudaError_t error =
      rows == 1 ? cudaMemcpyAsync(to, from, width, kind, context_.stream)
                : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, context_.stream);
  // The host's memory is pageable: the copy is done. In a graph nobody waits, so that branches stay without an order.
  if (error == cudaSuccess && (is_in_graph_ || cudaStreamSynchronize(context_.stream) == cudaSuccess)) return;
  const size_t bytes = rows == 0               ? 0
                       : to_pitch > from_pitch ? to_pitch * (rows - 1) + width
                                               : from_pitch * (rows - 1) + width;
  throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED,
                std::string(what) + " (" + std::to_string(bytes) + " bytes) could not be " +
                    (kind == cudaMemcpyDeviceToHost ? "read" : "written") +
                    ": the pointer must be the device's, with so many bytes behind it"};
}

Indices Call::read_indices(const void* from, cusparseIndexType_t type, int64_t count,
                           const char* what) const {
  const auto bytes = read(from, one_line(count), bytes_of(type), what);
  if (type == CUSPARSE_INDEX_16U) return widened<uint16_t>(bytes);
  return type == CUSPARSE_INDEX_32I ? widened<int32_t>(bytes) : widened<int64_t>(bytes);
}

void Call::write_indices(void* to, cusparseIndexType_t type, const Indices& indices, const char* what) const {
  const Lines lines = one_line(static_cast<int64_t>(indices.size()));
  if (type == CUSPARSE_INDEX_64I) return write(to, lines, 8, indices.data(), what);
  if (type == CUSPARSE_INDEX_32I) return write(to, lines, 4, narrowed<int32_t>(indices).data(), what);
  write(to, lines, 2, narrowed<uint16_t>(indices).data(), what);
}

}  // namespace warpgrade::cusparse
