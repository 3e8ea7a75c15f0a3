// nvJitLink before the emulator. PTX goes through: what is linked is the texts, one behind the other, and stands where a
// program expects machine code (nvJitLinkGetLinkedCubin); the emulator's loader takes it. LTO-IR becomes PTX by the
// toolkit's own nvJitLink, which needs no GPU. Options, codes and logs are those of NVIDIA's library.
#include "nvjitlink/nvjitlink.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "backend/driver_bridge.h"
#include "toolkit_library.h"

namespace warpgrade::nvjitlink {
namespace {

constexpr std::string_view kElf = "\177ELF";
constexpr uint32_t kFatBinary = 0xba55ed50, kLtoIr = 0x7f4e43ed;

}  // namespace

struct Input {
  std::string name, bytes;
};

struct Link {
  Options options;
  std::vector<std::string> texts;  // of the options
  std::string errors, image;       // the image: PTX with a zero behind it
  std::vector<Input> lto;
  std::string ptx;
  bool is_linked = false;
};

namespace {

bool begins_with(std::string_view bytes, uint32_t magic) {
  return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), &magic, sizeof magic) == 0;
}

bool is_ptx(std::string_view bytes) {
  return bytes.find(".version") != std::string_view::npos &&
         bytes.find(".target") != std::string_view::npos && bytes.substr(0, kElf.size()) != kElf &&
         !begins_with(bytes, kFatBinary) && !begins_with(bytes, kLtoIr);
}

const char* name_of(int type) {
  constexpr const char* kNames[] = {"NONE", "CUBIN", "PTX", "LTOIR", "FATBIN", "OBJECT", "LIBRARY", "INDEX"};
  return kNames[type];
}

Result refuse(Link& link, Result result, const std::string& line) {
  link.errors += line + "\n";
  return result;
}

// What NVIDIA's library takes and this one cannot: told on stderr as well, since few programs print the log.
Result left_out(Link& link, const std::string& name, const char* what, const char* advice) {
  std::fprintf(stderr, "emulator: nvJitLink cannot link %s, which is %s\n  %s\n", name.c_str(), what, advice);
  return refuse(link, invalid_input, name + " is " + what + ". " + advice);
}

// The highest architecture that the text's `.target` lines name.
int target_of(std::string_view ptx) {
  int highest = 0;
  for (size_t at = ptx.find(".target"); at != std::string_view::npos; at = ptx.find(".target", at + 1)) {
    const size_t number = ptx.find("sm_", at);
    if (number != std::string_view::npos && number - at < 16)
      highest = std::max(highest, std::atoi(std::string(ptx.substr(number + 3, 4)).c_str()));
  }
  return highest;
}

Result add_ptx(Link& link, const std::string& ptx, const std::string& name) {
  if (target_of(ptx) > link.options.arch)
    return refuse(
        link, ptx_compile,
        "ptxas fatal   : SM version specified by .target is higher than default SM version assumed\n"
        "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (" +
            name + ")");
  link.ptx += ptx + "\n";
  return success;
}

// A fat binary's PTX for the emulated device.
Result add_fat_binary(Link& link, const std::string& bytes, const std::string& name) {
  std::string ptx, log;
  if (warpemu_driver_bridge().read({bytes.data(), bytes.size()}, ptx, log) != cudaSuccess)
    return refuse(link, invalid_input, name + ": " + log);
  return add_ptx(link, ptx, name);
}

Result add(Link& link, int type, std::string bytes, const std::string& name) {
  if (link.is_linked) return internal;
  if ((type < cubin || type > index) && type != any)
    return refuse(link, incorrect_input_type, "unsupported input type: " + name);
  if (bytes.empty()) return invalid_input;
  // The device's runtime is the emulator's own.
  if ((type == library || type == any) && name.find("cudadevrt") != std::string::npos) return success;
  const bool is_text = is_ptx(bytes), is_elf = bytes.rfind(kElf, 0) == 0,
             is_fat_binary = begins_with(bytes, kFatBinary), is_lto = begins_with(bytes, kLtoIr),
             is_archive = bytes.rfind("!<arch>", 0) == 0;
  if (is_text &&
      (type == ptx || type == any || type == cubin)) {  // "machine code" of the emulator's NVRTC is PTX
    bytes.resize(std::strlen(bytes.c_str()));
    return add_ptx(link, bytes, name);
  }
  if (is_fat_binary && (type == fatbin || type == any)) return add_fat_binary(link, bytes, name);
  if (is_lto && (type == ltoir || type == any)) {
    if (!link.options.lto)
      return refuse(link, lto_not_enabled,
                    "ERROR NVJITLINK_ERROR_LTO_NOT_ENABLED: -lto is needed for " + name);
    link.lto.push_back({name, std::move(bytes)});
    return success;
  }
  if (is_elf && (type == cubin || type == object || type == any))
    return left_out(
        link, name, "machine code or an object file",
        "The emulator runs PTX: add PTX (`nvcc -ptx -rdc=true`), or a fat binary that holds PTX.");
  if (is_archive && (type == library || type == any))
    return left_out(link, name, "a library",
                    "Add the PTX of its parts (`nvcc -ptx -rdc=true`) in its place.");
  if (type == any) return refuse(link, unrecognized_input, "unrecognized input type: " + name);
  return refuse(
      link, incorrect_input_type,
      std::string("ERROR 1: bad input: does not match type NVJITLINK_INPUT_") + name_of(type) + name);
}

// ---- LTO-IR

// NVIDIA's own library; all functions or none.
struct Toolkits {
  int (*create)(void**, uint32_t, const char* const*) = nullptr;
  int (*add)(void*, int, const void*, size_t, const char*) = nullptr;
  int (*complete)(void*) = nullptr;
  int (*ptx_size)(void*, size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
  int (*log_size)(void*, size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  Toolkits() {
    void* library = libraries::open_toolkits(WARPEMU_TOOLKIT_LIBRARIES, NVJITLINK_SONAME);
    if (library == nullptr) return;
    find(library, "nvJitLinkCreate", create);
    find(library, "nvJitLinkAddData", add);
    find(library, "nvJitLinkComplete", complete);
    find(library, "nvJitLinkGetLinkedPtxSize", ptx_size);
    find(library, "nvJitLinkGetLinkedPtx", ptx);
    find(library, "nvJitLinkGetErrorLogSize", log_size);
    find(library, "nvJitLinkGetErrorLog", log);
    find(library, "nvJitLinkDestroy", destroy);
  }
  bool is_there() const { return destroy != nullptr; }

 private:
  template <class Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
};

std::string text_of(void* link, int (*size)(void*, size_t*), int (*get)(void*, char*)) {
  size_t bytes = 0;
  if (size(link, &bytes) != success || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (get(link, text.data()) != success) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

// The PTX of all LTO-IR, linked and optimized as for a GPU.
Result compile_lto(Link& link, std::string& ptx) {
  static const Toolkits toolkits;
  if (!toolkits.is_there()) {
    link.errors += "LTO-IR needs the toolkit's own " NVJITLINK_SONAME "\n";
    std::fputs(
        "emulator: nvJitLink got LTO-IR, which the toolkit's own " NVJITLINK_SONAME
        " makes PTX of, and that was not found\n  Set CUDA_HOME to the folder of the CUDA toolkit (or "
        "install "
        "nvidia-nvjitlink), or make PTX in the place of LTO-IR (nvcc -ptx, no -dlto; Numba: lto=False).\n",
        stderr);
    return nvvm_compile;
  }
  std::vector<const char*> options;
  for (const std::string& text : link.texts) options.push_back(text.c_str());
  if (!link.options.ptx) options.push_back("-ptx");
  void* theirs = nullptr;
  int result = toolkits.create(&theirs, static_cast<uint32_t>(options.size()), options.data());
  for (const Input& input : link.lto) {
    if (result == success)
      result = toolkits.add(theirs, ltoir, input.bytes.data(), input.bytes.size(), input.name.c_str());
  }
  if (result == success) result = toolkits.complete(theirs);
  if (result == success) ptx = text_of(theirs, toolkits.ptx_size, toolkits.ptx);
  link.errors += text_of(theirs, toolkits.log_size, toolkits.log);
  toolkits.destroy(&theirs);
  return static_cast<Result>(result);
}

Result complete(Link& link) {
  if (link.is_linked) return internal;
  std::string ptx;
  if (link.options.lto) {
    if (link.options.ptx && !link.ptx.empty())
      return refuse(link, incorrect_input_type, "ERROR: -ptx requires that all inputs have LTOIR");
    if (link.lto.empty())
      return refuse(link, nvvm_compile, "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM");
    if (const Result result = compile_lto(link, ptx); result != success) return result;
    ptx += "\n";
  }
  link.image = ptx + link.ptx;
  if (link.image.empty())  // NVIDIA's makes an empty image
    link.image = ".version 7.0\n.target sm_" + std::to_string(link.options.arch) + "\n.address_size 64\n";
  link.image.push_back('\0');
  link.is_linked = true;
  return success;
}

Result size_of(const std::string& text, size_t* bytes) {
  if (bytes == nullptr) return null_input;
  *bytes = text.empty() ? 0 : text.size() + 1;
  return success;
}
Result copy(const std::string& text, char* to) {
  if (to == nullptr) return null_input;
  if (!text.empty()) std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}

Result result_there(const Link* link, const void* to, bool wants_ptx) {
  if (link == nullptr || to == nullptr) return null_input;
  if (wants_ptx && !link->options.ptx) return invalid_input;
  if (!link->is_linked || (!wants_ptx && link->options.ptx)) return internal;
  return success;
}

}  // namespace
}  // namespace warpgrade::nvjitlink

using namespace warpgrade::nvjitlink;

extern "C" {

Result nvJitLinkCreate(Link** handle, uint32_t count, const char* const* options) {
  if (handle == nullptr || (count != 0 && options == nullptr)) return null_input;
  *handle = new Link;  // also where the options are refused: its log says why
  Link& link = **handle;
  const Result result = read_options(count, options, link.options, link.errors);
  if (result == success) link.texts.assign(options, options + count);
  return result;
}
Result nvJitLinkDestroy(Link** handle) {
  if (handle == nullptr || *handle == nullptr) return null_input;
  delete *handle;
  *handle = nullptr;
  return success;
}
Result nvJitLinkAddData(Link* link, int type, const void* data, size_t bytes, const char* name) {
  if (link == nullptr || data == nullptr) return null_input;
  return add(*link, type, {static_cast<const char*>(data), bytes}, name != nullptr ? name : "input");
}
Result nvJitLinkAddFile(Link* link, int type, const char* path) {
  if (link == nullptr || path == nullptr) return null_input;
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(*link, invalid_input, std::string("no such file: ") + path);
  return add(*link, type, {std::istreambuf_iterator<char>(file), {}}, path);
}
Result nvJitLinkComplete(Link* link) {
  if (link == nullptr) return null_input;
  return complete(*link);
}
Result nvJitLinkGetLinkedCubinSize(Link* link, size_t* bytes) {
  const Result result = result_there(link, bytes, false);
  if (result == success) *bytes = link->image.size();
  return result;
}
Result nvJitLinkGetLinkedCubin(Link* link, void* image) {
  const Result result = result_there(link, image, false);
  if (result == success) std::memcpy(image, link->image.data(), link->image.size());
  return result;
}
Result nvJitLinkGetLinkedPtxSize(Link* link, size_t* bytes) {
  const Result result = result_there(link, bytes, true);
  if (result == success) *bytes = link->image.size();
  return result;
}
Result nvJitLinkGetLinkedPtx(Link* link, char* ptx) {
  const Result result = result_there(link, ptx, true);
  if (result == success) std::memcpy(ptx, link->image.data(), link->image.size());
  return result;
}
Result nvJitLinkGetErrorLogSize(Link* link, size_t* bytes) {
  return link == nullptr ? null_input : size_of(link->errors, bytes);
}
Result nvJitLinkGetErrorLog(Link* link, char* log) {
  return link == nullptr ? null_input : copy(link->errors, log);
}
Result nvJitLinkGetInfoLogSize(Link* link, size_t* bytes) {
  return link == nullptr ? null_input : size_of("", bytes);
}
Result nvJitLinkGetInfoLog(Link* link, char* log) {
  return link == nullptr ? null_input : copy("", log);
}
Result nvJitLinkVersion(unsigned* major, unsigned* minor) {
  if (major == nullptr || minor == nullptr) return null_input;
  *major = NVJITLINK_MAJOR;
  *minor = NVJITLINK_MINOR;
  return success;
}
// What NVIDIA's other libraries reach it by; its header does not have it.
void* __nvJitLinkAPI() {
  return nullptr;
}

}  // extern "C"

// The names that programs call by the version whose header they were compiled with.
#define WITH_VERSION(version)                                                                 \
  asm(".irp name,Create,Destroy,AddData,AddFile,Complete,GetLinkedCubinSize,GetLinkedCubin,"  \
      "GetLinkedPtxSize,GetLinkedPtx,GetErrorLogSize,GetErrorLog,GetInfoLogSize,GetInfoLog\n" \
      ".globl __nvJitLink\\name\\()_" version                                                 \
      "\n"                                                                                    \
      ".set __nvJitLink\\name\\()_" version                                                   \
      ", nvJitLink\\name\n"                                                                   \
      ".endr\n")
WITH_VERSION("12_0");
WITH_VERSION("12_1");
WITH_VERSION("12_2");
WITH_VERSION("12_3");
WITH_VERSION("12_4");
WITH_VERSION("12_5");
WITH_VERSION("12_6");
WITH_VERSION("12_7");
WITH_VERSION("12_8");
WITH_VERSION("12_9");
WITH_VERSION("13_0");
WITH_VERSION("13_1");
WITH_VERSION("13_2");
WITH_VERSION("13_3");
