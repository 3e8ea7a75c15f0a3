#include "backend/loaded_code.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>

#include "backend/emulated.h"
#include "cudart/current_device.h"
#include "cudart/fat_binary.h"
#include "cudart/host_functions.h"
#include "cudart/kernels.h"
#include "loader/fatbin.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kFatBinaryWrapper = 0x466243b1, kFatBinary = 0xba55ed50;
constexpr char kElf[] =
    "\x7f"
    "ELF";
constexpr size_t kMostText = size_t{1} << 30;  // of PTX that does not say its length

// Unloaded code and its functions stay, so that an old handle is never another one's.
struct AllCode {
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<LoadedCode>> code;
  std::set<const void*> loaded;
  std::map<const void*, LoadedFunction*> functions;
};

AllCode& all() {
  static auto* instance = new AllCode;  // never destroyed: programs unload in static destructors
  return *instance;
}

// A fat binary of this text alone, in the layout that loader/fatbin.cpp reads.
std::string fat_binary_of(std::string_view ptx) {
  struct {
    uint32_t magic = kFatBinary;
    uint16_t version = 1, header_bytes = 16;
    uint64_t entries_bytes = 0;
  } container;
  struct {
    uint16_t kind = 1, attributes = 0x101;
    uint32_t header_bytes = 64;
    uint64_t payload_bytes = 0;
    uint32_t unused[10] = {};
    uint64_t flags = 0;
  } entry;
  static_assert(sizeof container == 16 && sizeof entry == 64);
  entry.payload_bytes = ptx.size() + 1;
  container.entries_bytes = sizeof entry + entry.payload_bytes;
  std::string bytes(reinterpret_cast<const char*>(&container), sizeof container);
  bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  bytes.append(ptx);
  bytes.push_back('\0');
  return bytes;
}

void report_unusable(const std::string& log) {
  cudart::HostFinding finding;
  finding.message = "the module was not loaded: " + log;
  finding.advice = "The emulator runs PTX: text of `nvcc -ptx` or NVRTC, or a fat binary that holds PTX.";
  Emulated::instance().report(finding);
}

}  // namespace

cudaError_t LoadedCode::take(const CodeImage& image, std::string& log) {
  if (image.data == nullptr) return cudaErrorInvalidValue;
  const auto* bytes = static_cast<const uint8_t*>(image.data);
  const size_t known = image.bytes != 0 ? image.bytes : sizeof(uint32_t);
  uint32_t magic = 0;
  // Text may be shorter than a number is.
  for (size_t k = 0; k < std::min(known, sizeof magic) && (k == 0 || bytes[k - 1] != 0); ++k)
    reinterpret_cast<uint8_t*>(&magic)[k] = bytes[k];
  if (magic == kFatBinaryWrapper) {
    for (const std::span<const uint8_t> container : cudart::containers_of(image.data))
      containers_.push_back(std::make_unique<std::string>(container.begin(), container.end()));
    return cudaSuccess;
  }
  if (magic == kFatBinary) {
    const uint64_t whole = cudart::container_bytes({bytes, image.bytes != 0 ? image.bytes : 16});
    if (whole == 0 || (image.bytes != 0 && whole > image.bytes)) {
      log = "its fat binary is damaged";
      return cudaErrorInvalidKernelImage;
    }
    containers_.push_back(std::make_unique<std::string>(static_cast<const char*>(image.data), whole));
    return cudaSuccess;
  }
  if (std::memcmp(&magic, kElf, sizeof magic) == 0) {
    log =
        "it holds machine code alone (a cubin); build it with `nvcc -ptx`, or with `nvcc -fatbin -gencode "
        "arch=compute_80,code=[compute_80,sm_80] -no-compress`; of NVRTC, take nvrtcGetPTX for "
        "--gpu-architecture=compute_80";
    return cudaErrorNoKernelImageForDevice;
  }
  const auto* text = static_cast<const char*>(image.data);
  const std::string_view ptx(text, strnlen(text, image.bytes != 0 ? image.bytes : kMostText));
  if (ptx.find(".version") == std::string_view::npos) {
    log = "it is neither PTX (which begins with `.version`) nor a fat binary";
    return cudaErrorInvalidPtx;
  }
  containers_.push_back(std::make_unique<std::string>(fat_binary_of(ptx)));
  return cudaSuccess;
}

cudaError_t LoadedCode::read(const CodeImage& image, std::string& ptx, std::string& log) {
  LoadedCode reader;
  cudaError_t error = reader.take(image, log);
  if (error == cudaSuccess) {
    FatbinPtx found = ptx_of_containers(reader.containers(), settings().device.arch());
    ptx = std::move(found.text);
    log = found.problem;
    if (!log.empty()) error = cudaErrorNoKernelImageForDevice;
  }
  if (!log.empty()) report_unusable(log);
  return error;
}

std::vector<std::span<const uint8_t>> LoadedCode::containers() const {
  std::vector<std::span<const uint8_t>> all;
  for (const auto& bytes : containers_)
    all.emplace_back(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size());
  return all;
}

cudaError_t LoadedCode::load(std::span<const CodeImage> images, bool is_library, LoadedCode*& code,
                             std::string& log) {
  auto loaded = std::make_unique<LoadedCode>();
  cudaError_t error = cudaSuccess;
  for (const CodeImage& image : images) {
    if (error == cudaSuccess) error = loaded->take(image, log);
  }
  if (error == cudaSuccess) {
    Emulated& emulated = Emulated::instance();
    error = emulated.add_module(loaded->containers(), loaded->module_);
    if (error == cudaSuccess) log = emulated.load_now(loaded->module_, true);
    if (!log.empty())
      error = log.find("of the PTX)") != std::string::npos ? cudaErrorInvalidPtx
                                                           : cudaErrorNoKernelImageForDevice;
  }
  if (error != cudaSuccess) {
    if (!log.empty()) report_unusable(log);
    return error;
  }
  if (!is_library) loaded->device_ = cudart::current_device();
  AllCode& known = all();
  const std::lock_guard lock(known.mutex);
  code = known.code.emplace_back(std::move(loaded)).get();
  known.loaded.insert(code);
  return cudaSuccess;
}

LoadedCode* LoadedCode::find(const void* handle) {
  AllCode& known = all();
  const std::lock_guard lock(known.mutex);
  const auto found = known.loaded.find(handle);
  return found == known.loaded.end() ? nullptr : static_cast<LoadedCode*>(const_cast<void*>(*found));
}

LoadedFunction* LoadedCode::find_function(const void* handle) {
  AllCode& known = all();
  const std::lock_guard lock(known.mutex);
  const auto found = known.functions.find(handle);
  return found == known.functions.end() || found->second->owner == nullptr ? nullptr : found->second;
}

bool LoadedCode::unload(const void* handle) {
  if (cudart::wait_for_all_held() != cudaSuccess) return false;  // a launch of it may be among that
  AllCode& known = all();
  const std::lock_guard lock(known.mutex);
  LoadedCode* code = find(handle);
  if (code == nullptr) return false;
  for (auto& [name, function] : code->functions_) {
    cudart::Registry::instance().remove_kernel(function.get());
    function->owner = nullptr;
  }
  Emulated::instance().unload(code->module_);
  known.loaded.erase(handle);
  return true;
}

LoadedFunction* LoadedCode::function(const std::string& name) {
  AllCode& known = all();
  const std::lock_guard lock(known.mutex);
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second.get();
  const std::vector<std::string> names = kernels();
  if (!std::binary_search(names.begin(), names.end(), name)) return nullptr;
  auto function = std::make_unique<LoadedFunction>(LoadedFunction{this, name});
  LoadedFunction* handle = function.get();
  cudart::Registry::instance().add_kernel(module_, handle, name.c_str());
  functions_[name] = std::move(function);
  known.functions[handle] = handle;
  return handle;
}

std::vector<std::string> LoadedCode::kernels() {
  return Emulated::instance().kernels_of(module_);
}

cudaError_t LoadedCode::find_variable(const std::string& name, cudart::MemoryRange& variable) {
  return Emulated::instance().find_variable(module_, name, variable);
}

}  // namespace warpgrade::emu
