// The emulated GPU's memory.
//
// Device pointers are addresses inside a reserved range without access rights, so that host code that
// dereferences one faults at once; the emulator reaches the bytes through a read-write alias at a constant
// distance (a memfd mapped elsewhere). Managed and pinned memory is handed out at its alias address and is
// reachable from both sides. Allocations have exact bounds, lie as far apart as the first of two is
// long (512 bytes to 1 MiB), and a freed range
// is not used again.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warpgrade::emu {

inline constexpr int kMostDevices = 16;

enum class MemoryKind : uint8_t {
  device,
  managed,
  pinned,
  registered,
  variable,
  constant,
  imported,
  parameters,
  heap
};

struct Allocation {
  uint64_t begin = 0;
  uint64_t end = 0;
  int64_t alias = 0;  // host address = device address + alias
  bool freed = false;
  bool read_only = false;
  bool releasable = false;  // of the program's calls: no variable, nothing of the emulator's own
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  uint32_t element_bytes = 0;            // 0: nobody knows
  std::shared_ptr<uint8_t> initialized;  // a byte for each byte when initcheck follows this allocation
  std::string name;

  uint64_t bytes() const { return end - begin; }
  // Other kinds are every device's.
  bool is_of_one_device() const {
    return kind == MemoryKind::device || kind == MemoryKind::variable || kind == MemoryKind::constant;
  }
  uint8_t* host(uint64_t address) const { return reinterpret_cast<uint8_t*>(address + alias); }
};

class DeviceMemory {
 public:
  static DeviceMemory& instance();

  // Of the current device (cudart/current_device.h). Empty when the emulated GPU's memory, the host's or the
  // range of addresses is exhausted. `name` empty: "allocation #n".
  std::optional<uint64_t> allocate(uint64_t bytes, MemoryKind kind, std::string name = {},
                                   uint64_t align = 256);
  // False when no live allocation that allocate() named begins there, or its kind is another.
  bool release(uint64_t address, std::initializer_list<MemoryKind> kinds);
  // Of a module that the program unloads.
  void release_variable(uint64_t address);
  // What the program allocated on all devices and has not released, by address.
  std::vector<Allocation> unreleased() const;
  // Memory of the program (cudaHostRegister): device address = host address.
  bool register_host(void* host, uint64_t bytes);
  bool unregister_host(void* host);
  // Of the allocation that begins there; false: none does.
  bool rename(uint64_t address, std::string name, uint32_t element_bytes);
  // Foreign memory already mapped at `host` (a page multiple before the first byte included by the caller).
  std::optional<uint64_t> import(uint8_t* host, uint64_t bytes, uint64_t offset_in_page, bool read_only,
                                 std::string name);
  void forget(uint64_t address);

  // The allocation that holds an address, or that begins or ends there; a copy, so that it stays valid.
  std::optional<Allocation> find(uint64_t address) const;
  // The live or freed allocation nearest to an address, within 1 MiB.
  std::optional<Allocation> nearest(uint64_t address) const;
  bool is_device_range(uint64_t address) const;
  // First address and end of what is reserved for device pointers.
  std::pair<uint64_t, uint64_t> device_range() const { return {reserved_, reserved_ + range_bytes_}; }

  // All allocations sorted by address, unchanging: what a launch works on.
  std::shared_ptr<const std::vector<Allocation>> snapshot();

  // The file that all allocations but imported and registered ones lie in, and where in it.
  int file() const { return memfd_; }
  uint64_t place_in_file(const Allocation& a) const {
    return reinterpret_cast<uint64_t>(a.host(a.begin)) - reinterpret_cast<uint64_t>(alias_);
  }

  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t used_bytes() const;  // of the current device
  void mark_initialized(uint64_t address, uint64_t bytes);

 private:
  DeviceMemory();
  bool reserve();
  bool host_can_give(uint64_t bytes);
  uint64_t take_range(uint64_t bytes, uint64_t align);
  void insert(Allocation allocation);
  void give_back(Allocation& allocation);

  mutable std::mutex mutex_;
  std::map<uint64_t, Allocation> allocations_;
  std::shared_ptr<const std::vector<Allocation>> snapshot_;
  uint64_t range_bytes_ = 0;
  uint64_t reserved_ = 0;  // first address of the reserved range
  uint8_t* alias_ = nullptr;
  int memfd_ = -1;
  uint64_t next_ = 0;  // offset of the next allocation in the range
  uint64_t total_bytes_ = 0;
  std::array<uint64_t, kMostDevices> used_bytes_{};
  uint64_t live_bytes_ = 0;     // of all kinds, whether touched or not
  uint64_t unasked_bytes_ = 0;  // allocated since the host was last asked what it has
  uint64_t next_number_ = 1;
};

}  // namespace warpgrade::emu
