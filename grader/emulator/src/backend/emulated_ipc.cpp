// Memory and events of several processes. Device memory is a file without a name (memfd) already: a handle says
// which process has it open, and where in it the memory lies. The other process opens it by /proc, which wants the
// same user, and nothing is left behind when a process crashes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "backend/emulated.h"
#include "backend/mapped_memory.h"
#include "memory/device_memory.h"

namespace warpgrade::emu {
namespace {

constexpr char kMagic[8] = "warpemu";
enum class Shared : uint32_t { memory = 1, event = 2 };

struct Handle {
  char magic[sizeof kMagic] = {};
  Shared what = Shared::memory;
  int32_t process = 0, file = 0;
  uint32_t unused = 0;
  uint64_t disk = 0, inode = 0;  // of the file, since numbers of processes and files come again
  uint64_t offset = 0, bytes = 0;

  auto key() const { return std::pair(inode, offset); }
};
static_assert(sizeof(Handle) <= sizeof(cudart::IpcHandle));

cudart::IpcHandle packed(Shared what, uint64_t offset, uint64_t bytes) {
  Handle handle;
  std::memcpy(handle.magic, kMagic, sizeof kMagic);
  handle.what = what;
  handle.process = getpid();
  handle.file = DeviceMemory::instance().file();
  struct stat own {};
  fstat(handle.file, &own);
  handle.disk = own.st_dev;
  handle.inode = own.st_ino;
  handle.offset = offset;
  handle.bytes = bytes;
  cudart::IpcHandle bytes_of_handle{};
  std::memcpy(bytes_of_handle.data(), &handle, sizeof handle);
  return bytes_of_handle;
}

// Empty for bytes that no process of an emulator made.
std::optional<Handle> unpacked(const cudart::IpcHandle& bytes, Shared what) {
  Handle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  if (std::memcmp(handle.magic, kMagic, sizeof kMagic) != 0 || handle.what != what) return std::nullopt;
  return handle;
}

using Kind = cudart::HostFinding::Kind;

cudaError_t refuse(const std::string& message, const std::string& advice, cudaError_t error,
                   Kind kind = Kind::invalid_copy) {
  cudart::HostFinding finding;
  finding.kind = kind;
  finding.message = message;
  finding.advice = advice;
  Emulated::instance().report(finding);
  return error;
}

// The file of the other process. -1: it is gone, or not this user's.
int open_file(const Handle& handle) {
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found {};
  if (fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == handle.disk && found.st_ino == handle.inode)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool is_of_this_process(const Handle& handle) {
  struct stat own {};
  return fstat(DeviceMemory::instance().file(), &own) == 0 && own.st_dev == handle.disk &&
         own.st_ino == handle.inode;
}

// Calls `map` with the file that the handle names.
template <class Map>
cudaError_t with_file(const Handle& handle, const char* call, Map map) {
  const int fd = open_file(handle);
  if (fd < 0)
    return refuse(
        std::string(call) + " of a handle of process " + std::to_string(handle.process) +
            ", which has ended or is another user's or container's",
        "The process that made the handle must run, and keep what it gave, until the others have opened it "
        "and closed it.",
        cudaErrorMapBufferObjectFailed);
  const cudaError_t error = map(fd);
  close(fd);
  return error;
}

// What this process has opened: once each, however often it asks.
struct Opened {
  uint64_t address = 0;
  int times = 0;
};
std::mutex g_opened_mutex;
std::map<std::pair<uint64_t, uint64_t>, Opened> g_opened;

}  // namespace

cudaError_t Emulated::share_memory(uint64_t address, cudart::IpcHandle& handle) {
  DeviceMemory& memory = DeviceMemory::instance();
  const auto a = memory.find(address);
  if (!a || a->freed || a->begin != address || a->kind != MemoryKind::device || !a->releasable)
    return refuse(
        "cudaIpcGetMemHandle of an address where no memory of cudaMalloc begins",
        "Pass the pointer that cudaMalloc returned: managed and pinned memory cannot be given away, and "
        "the others get the whole allocation.",
        cudaErrorInvalidValue);
  memory.mark_initialized(a->begin, a->bytes());  // others may write it
  handle = packed(Shared::memory, memory.place_in_file(*a), a->bytes());
  return cudaSuccess;
}

cudaError_t Emulated::open_memory(const cudart::IpcHandle& bytes, uint64_t& address) {
  const auto handle = unpacked(bytes, Shared::memory);
  if (!handle) return cudaErrorInvalidValue;
  if (is_of_this_process(*handle))
    return refuse(
        "cudaIpcOpenMemHandle in the process that made the handle",
        "A handle is for other processes: this one uses the pointer that it gave to cudaIpcGetMemHandle.",
        cudaErrorDeviceUninitialized);
  const std::lock_guard lock(g_opened_mutex);
  const auto known = g_opened.find(handle->key());
  if (known != g_opened.end()) {
    ++known->second.times;
    address = known->second.address;
    return cudaSuccess;
  }
  const cudaError_t error = with_file(*handle, "cudaIpcOpenMemHandle", [&](int fd) {
    return map_as_device_memory(fd, handle->offset, handle->bytes,
                                "memory of process " + std::to_string(handle->process), false, address);
  });
  if (error == cudaSuccess) g_opened[handle->key()] = {address, 1};
  return error;
}

cudaError_t Emulated::close_memory(uint64_t address) {
  const std::lock_guard lock(g_opened_mutex);
  for (auto at = g_opened.begin(); at != g_opened.end(); ++at) {
    if (at->second.address != address) continue;
    if (--at->second.times > 0) return cudaSuccess;
    unmap_device_memory(address);
    g_opened.erase(at);
    return cudaSuccess;
  }
  return refuse("cudaIpcCloseMemHandle of an address that cudaIpcOpenMemHandle did not return",
                "Close each opened handle once, with the pointer that opening it gave.",
                cudaErrorInvalidValue, Kind::invalid_free);
}

std::shared_ptr<cudart::SharedEvent> Emulated::new_shared_event() {
  DeviceMemory& memory = DeviceMemory::instance();
  const auto address =
      memory.allocate(sizeof(cudart::SharedEvent), MemoryKind::parameters, "state of an event");
  if (!address) return nullptr;
  // Stays when the event is destroyed: others may look at it.
  return {new (memory.find(*address)->host(*address)) cudart::SharedEvent, [](cudart::SharedEvent*) {}};
}

cudaError_t Emulated::share_event(const cudart::SharedEvent& event, cudart::IpcHandle& handle) {
  const auto snapshot = DeviceMemory::instance().snapshot();
  for (const Allocation& a : *snapshot) {
    if (a.kind != MemoryKind::parameters || a.host(a.begin) != reinterpret_cast<const uint8_t*>(&event))
      continue;
    handle = packed(Shared::event, DeviceMemory::instance().place_in_file(a), a.bytes());
    return cudaSuccess;
  }
  return cudaErrorInvalidResourceHandle;  // one that another process gave
}

cudaError_t Emulated::open_event(const cudart::IpcHandle& bytes,
                                 std::shared_ptr<cudart::SharedEvent>& event) {
  const auto handle = unpacked(bytes, Shared::event);
  if (!handle || handle->bytes != sizeof(cudart::SharedEvent)) return cudaErrorInvalidValue;
  return with_file(*handle, "cudaIpcOpenEventHandle", [&](int fd) {
    MappedBytes mapped;
    if (const cudaError_t error = map_bytes(fd, handle->offset, handle->bytes, false, mapped);
        error != cudaSuccess)
      return error;
    event = {reinterpret_cast<cudart::SharedEvent*>(mapped.first),
             [mapped](cudart::SharedEvent*) { unmap_bytes(mapped); }};
    return cudaSuccess;
  });
}

}  // namespace warpgrade::emu
