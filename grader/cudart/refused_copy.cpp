#include "cudart/refused_copy.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "cudart/errors.h"
#include "cudart/kernels.h"

namespace warpgrade::cudart {
namespace {

std::string count_text(uint64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string error_words(cudaError_t error) {
  return std::string(" (") + error_name(error) + ": " + error_text(error) + ")";
}

std::string name_of(const void* pointer) {
  const std::string name = backend().name_of(reinterpret_cast<uint64_t>(pointer));
  return name.empty() ? "device memory" : "device memory (" + name + ")";
}

std::string side_of(const void* pointer) {
  if (pointer == nullptr) return "a null pointer";
  return may_be(pointer, Side::device) ? name_of(pointer) : "host memory";
}

const char* direction_name(bool from_device, bool to_device) {
  return from_device ? (to_device ? "cudaMemcpyDeviceToDevice" : "cudaMemcpyDeviceToHost")
                     : (to_device ? "cudaMemcpyHostToDevice" : "cudaMemcpyHostToHost");
}

// The word at an address of the host, which may be one where nothing is.
std::optional<uint64_t> word_at(const void* address) {
  uint64_t word = 0;
  iovec here{&word, sizeof word}, there{const_cast<void*>(address), sizeof word};
  const bool is_aligned = reinterpret_cast<uint64_t>(address) % alignof(void*) == 0;
  const bool is_read = is_aligned && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof word;
  return is_read ? std::optional(word) : std::nullopt;
}

// What a pointer to host memory is, where device memory was meant; empty where nobody can tell.
struct Mistaken {
  std::string what, cure;
};

// `float* d; cudaMalloc(&d, n); cudaMemcpy(&d, ...)`: the address of the pointer.
std::optional<Mistaken> pointer_to_pointer(const char* role, const void* host) {
  const auto word = word_at(host);
  if (!word || *word == 0 || !backend().is_device_address(*word)) return std::nullopt;
  return Mistaken{std::string("the ") + role + " is a variable of the host that holds a pointer to " +
                      name_of(reinterpret_cast<const void*>(*word)),
                  std::string("Pass the pointer itself, without `&`, as the ") + role +
                      ": `d`, not `&d`. Only cudaMalloc takes the pointer's address."};
}

// The name of a __device__ or __constant__ variable means, in host code, something in the host's memory.
std::optional<Mistaken> variable_name(const char* role, const char* function, const void* host) {
  const std::string name = Registry::instance().name_of_variable(host);
  if (name.empty()) return std::nullopt;
  return Mistaken{std::string("the ") + role + " is the name of the device variable `" + name +
                      "`, which is no device address in host code",
                  function + (". Or ask cudaGetSymbolAddress() for the address of `" + name + "`.")};
}

std::optional<Mistaken> mistaken_side(const void* dst, const void* src, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device && !may_be(dst, Side::device)) {
    if (auto name = variable_name("destination", "Use cudaMemcpyToSymbol(variable, source, bytes)", dst))
      return name;
    if (auto pointer = pointer_to_pointer("destination", dst)) return pointer;
  }
  if (from_device && !may_be(src, Side::device)) {
    if (auto name = variable_name("source", "Use cudaMemcpyFromSymbol(destination, variable, bytes)", src))
      return name;
    if (auto pointer = pointer_to_pointer("source", src)) return pointer;
  }
  return std::nullopt;
}

HostFinding finding_of(uint64_t bytes, std::string message, std::string cure) {
  HostFinding finding;
  finding.kind = HostFinding::Kind::invalid_copy;
  finding.bytes = bytes;
  finding.message = std::move(message);
  finding.advice = std::move(cure);
  return finding;
}

// Whether some of its rows share bytes. Of pitched memory with rows of one length alone.
bool overlaps(const RowsCopy& copy) {
  const auto apart = static_cast<int64_t>(copy.to.address - copy.from.address);
  const auto width = static_cast<int64_t>(copy.width);
  if (copy.height == 1 && copy.depth == 1) return std::llabs(apart) < width;
  if (copy.depth != 1 || copy.to.pitch != copy.from.pitch || copy.to.pitch == 0) return false;
  const auto pitch = static_cast<int64_t>(copy.to.pitch), height = static_cast<int64_t>(copy.height);
  const int64_t rows = apart / pitch;  // toward zero: the rows beside it are looked at, too
  for (int64_t row = rows - 1; row <= rows + 1; ++row) {
    if (std::llabs(row) < height && std::llabs(apart - row * pitch) < width) return true;
  }
  return false;
}

}  // namespace

bool may_be(const void* pointer, Side side) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto range = backend().find(address);
  if (range && !range->freed && range->is_on_both_sides()) return true;
  const bool on_device = range.has_value() || backend().is_device_address(address);
  return (side == Side::device) == on_device;
}

cudaError_t refuse_copy(const void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  const std::string message =
      "a copy of " + count_text(bytes) + " from " + side_of(src) + " to " + side_of(dst) + " was not made: ";
  const std::string error = error_words(cudaErrorInvalidValue);
  if (dst == nullptr || src == nullptr) {
    backend().report(
        finding_of(bytes, message + "a pointer is null" + error,
                   "Did the cudaMalloc or malloc before it succeed, and was its pointer passed on?"));
  } else if (const auto mistaken = mistaken_side(dst, src, kind)) {
    backend().report(finding_of(bytes, message + mistaken->what + error, mistaken->cure));
  } else {
    const std::string right = direction_name(may_be(src, Side::device), may_be(dst, Side::device));
    const std::string asked =
        direction_name(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice,
                       kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice);
    backend().report(finding_of(
        bytes, message + "its direction is " + asked + ", and these pointers need " + right + error,
        "Pass " + right + ", or exchange destination and source: the destination stands first."));
  }
  return cudaErrorInvalidValue;
}

cudaError_t refuse_fill(const void* dst, size_t bytes) {
  std::string what = "cudaMemset fills device memory, and this is " + side_of(dst);
  std::string cure = "Pass a pointer that cudaMalloc returned; the host's memory takes memset().";
  auto mistaken = variable_name("destination", "Fill an array of the host and use cudaMemcpyToSymbol", dst);
  if (!mistaken) mistaken = pointer_to_pointer("destination", dst);
  if (mistaken) what = mistaken->what, cure = mistaken->cure;
  const uint64_t word = reinterpret_cast<uint64_t>(dst) / alignof(void*) * alignof(void*);
  // Where nothing is, the error says all that is known.
  if (!mistaken && !word_at(reinterpret_cast<const void*>(word))) return cudaErrorInvalidValue;
  backend().report(finding_of(
      bytes, "a fill of " + count_text(bytes) + " was not made: " + what + error_words(cudaErrorInvalidValue),
      cure));
  return cudaErrorInvalidValue;
}

cudaError_t refuse_symbol(const void* symbol, size_t offset, size_t bytes, cudaError_t error) {
  const std::string name = Registry::instance().name_of_variable(symbol);
  MemoryRange range;
  std::string what, cure;
  if (name.empty()) {
    what = "the symbol is " + std::string(may_be(symbol, Side::device) ? "a pointer to " : "not ") +
           (may_be(symbol, Side::device) ? name_of(symbol) : "the name of a variable of this program");
    cure =
        "The symbol is the name of a __device__ or __constant__ variable, without quotes and without `&`. "
        "Memory from cudaMalloc takes cudaMemcpy.";
  } else if (Registry::instance().find_variable(symbol, range) == cudaSuccess) {
    what = "the variable `" + name + "` has " + count_text(range.end - range.begin);
    if (offset != 0) what += ", and the copy begins at byte " + std::to_string(offset);
    cure = "The number is one of bytes, of the variable's type: sizeof(" + name +
           ") at most. Is the array of the host longer, or the variable too small?";
  } else {
    return error;
  }
  backend().report(finding_of(
      bytes, "a copy of " + count_text(bytes) + " was not made: " + what + error_words(error), cure));
  return error;
}

void report_overlap(const RowsCopy& copy) {
  if (copy.to.address == copy.from.address || !overlaps(copy)) return;
  const auto* from = reinterpret_cast<const void*>(copy.from.address);
  const auto apart = static_cast<int64_t>(copy.to.address - copy.from.address);
  backend().report(finding_of(
      copy.width * copy.height,
      "a copy of " + count_text(copy.width * copy.height) + " within " + side_of(from) +
          " has source and destination that overlap: the destination begins " +
          count_text(static_cast<uint64_t>(std::llabs(apart))) + (apart > 0 ? " behind" : " before") +
          " the source, and what it holds afterwards is undefined",
      "Copy into another array first and back from there, or write a kernel that reads one array and writes "
      "another."));
}

}  // namespace warpgrade::cudart
