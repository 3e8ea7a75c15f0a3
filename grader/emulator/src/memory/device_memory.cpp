#include "memory/device_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "cudart/current_device.h"
#include "cudart/host_fault.h"
#include "support/host_memory.h"
#include "support/host_process.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kWholeRangeBytes = 1ull << 40, kLeastRangeBytes = 64ull << 20;
constexpr uint64_t kGap = 512, kWideGap = 1 << 20;
constexpr uint64_t kNear = 1 << 20;  // farther away, an address belongs to no allocation
constexpr uint64_t kPage = 4096;
static_assert(kMostDevices == cudart::kMostDevices);
constexpr uint64_t kPreferredAddress = 0x700000000000ull;

uint64_t g_reserved_begin = 0, g_reserved_end = 0;
bool is_reserved(uint64_t address) {
  return address >= g_reserved_begin && address < g_reserved_end;
}

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr,
               "emulator: cannot reserve device address space (%s): %s; raise the limit of the address space "
               "(ulimit -v) to 1 GiB or more\n",
               what, std::strerror(errno));
  std::abort();
}

// Both views together leave half of a limited address space to the program.
uint64_t wanted_range_bytes() {
  rlimit limit{};
  uint64_t bytes = kWholeRangeBytes;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  while (bytes > kLeastRangeBytes && bytes > limit.rlim_cur / 4) bytes /= 2;
  return bytes;
}

uint64_t round_up(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

// Whoever started the program may give the file, to see how much of its memory is the device's.
int own_or_given_file() {
  if (const char* given = std::getenv("WARPEMU_MEMORY_FD"); given != nullptr && *given != '\0') {
    const int fd = std::atoi(given);
    if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return fd;
  }
  return memfd_create("warpemu", MFD_CLOEXEC);
}

bool counts_as_device_memory(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed || kind == MemoryKind::variable ||
         kind == MemoryKind::constant;
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  // Never destroyed: programs free device memory in their own static destructors.
  static DeviceMemory* memory = new DeviceMemory;
  return *memory;
}

DeviceMemory::DeviceMemory() : total_bytes_(settings().memory_bytes) {
  memfd_ = own_or_given_file();
  if (memfd_ < 0 || ftruncate(memfd_, static_cast<off_t>(kWholeRangeBytes)) != 0) die("memfd");
  range_bytes_ = wanted_range_bytes();
  while (!reserve()) {
    if (range_bytes_ <= kLeastRangeBytes) die("mmap");
    range_bytes_ /= 2;
  }
  g_reserved_begin = reserved_;
  g_reserved_end = reserved_ + range_bytes_;
  if (range_bytes_ < kWholeRangeBytes && !settings().quiet) {
    std::fprintf(
        stderr,
        "emulator: the address space is limited (ulimit -v): all allocations of this process together "
        "have %llu MiB, freed ones included\n",
        static_cast<unsigned long long>(range_bytes_ >> 20));
  }
  total_bytes_ = std::min(total_bytes_, range_bytes_);
  next_ = 1 << 20;
  cudart::watch_host_faults("emulator", is_reserved);
}

// Both views of the range, or none.
bool DeviceMemory::reserve() {
  void* reserved = mmap(reinterpret_cast<void*>(kPreferredAddress), range_bytes_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  void* alias = mmap(nullptr, range_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd_, 0);
  if (alias == MAP_FAILED) {
    munmap(reserved, range_bytes_);
    return false;
  }
  reserved_ = reinterpret_cast<uint64_t>(reserved);
  alias_ = static_cast<uint8_t*>(alias);
  return true;
}

// A page that the host cannot give ends the process when it is touched, so what was handed out and not
// touched yet counts as taken. Asking costs some ten microseconds: once for many small allocations.
bool DeviceMemory::host_can_give(uint64_t bytes) {
  constexpr uint64_t kUnasked = 16 << 20;
  if (unasked_bytes_ + bytes < kUnasked) {
    unasked_bytes_ += bytes;
    return true;
  }
  struct stat touched {};
  if (fstat(memfd_, &touched) != 0) return true;
  const uint64_t resident = static_cast<uint64_t>(touched.st_blocks) * 512;
  const uint64_t untouched = live_bytes_ - std::min(live_bytes_, resident);
  const uint64_t available = available_host_bytes();
  if (untouched > available || bytes > available - untouched) return false;
  unasked_bytes_ = 0;
  return true;
}

uint64_t DeviceMemory::take_range(uint64_t bytes, uint64_t align) {
  const uint64_t offset = round_up(next_, align);
  // As wide as the allocation, so that a program that runs past its end does not reach the next one unseen.
  const bool roomy = range_bytes_ == kWholeRangeBytes && next_ < range_bytes_ / 2;
  const uint64_t gap = roomy ? std::clamp(bytes, kGap, kWideGap) : kGap;
  if (offset + bytes + gap > range_bytes_) return 0;
  next_ = offset + bytes + gap;
  return offset;
}

void DeviceMemory::insert(Allocation allocation) {
  snapshot_.reset();
  allocations_.insert_or_assign(allocation.begin, std::move(allocation));
}

std::optional<uint64_t> DeviceMemory::allocate(uint64_t bytes, MemoryKind kind, std::string name,
                                               uint64_t align) {
  std::lock_guard lock(mutex_);
  const bool counted = counts_as_device_memory(kind);
  const int device = cudart::current_device();
  uint64_t& used = used_bytes_[static_cast<size_t>(device)];
  if (bytes > range_bytes_ || (counted && used + bytes > total_bytes_)) return std::nullopt;
  if (!host_can_give(bytes)) return std::nullopt;
  const uint64_t offset = take_range(std::max<uint64_t>(bytes, 1), std::max<uint64_t>(align, 256));
  if (offset == 0) return std::nullopt;
  const bool host_visible = kind == MemoryKind::managed || kind == MemoryKind::pinned;
  Allocation a;
  a.begin = (host_visible ? reinterpret_cast<uint64_t>(alias_) : reserved_) + offset;
  a.end = a.begin + bytes;
  a.alias = host_visible ? 0 : static_cast<int64_t>(reinterpret_cast<uint64_t>(alias_) - reserved_);
  a.kind = kind;
  a.device = device;
  a.releasable = name.empty();
  a.name = name.empty() ? "allocation #" + std::to_string(next_number_++) : std::move(name);
  if (settings().init_check && (kind == MemoryKind::device || kind == MemoryKind::heap)) {
    a.initialized.reset(static_cast<uint8_t*>(std::calloc(bytes + 16, 1)), std::free);
  }
  if (counted) used += bytes;
  live_bytes_ += bytes;
  const uint64_t begin = a.begin;
  insert(std::move(a));
  return begin;
}

std::vector<Allocation> DeviceMemory::unreleased() const {
  std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  for (const auto& [begin, a] : allocations_) {
    if (a.releasable && !a.freed) all.push_back(a);
  }
  return all;
}

bool DeviceMemory::release(uint64_t address, std::initializer_list<MemoryKind> kinds) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.freed || !found->second.releasable) return false;
  Allocation& a = found->second;
  if (std::find(kinds.begin(), kinds.end(), a.kind) == kinds.end()) return false;
  give_back(a);
  return true;
}

void DeviceMemory::release_variable(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found != allocations_.end() && !found->second.freed) give_back(found->second);
}

// Under the mutex.
void DeviceMemory::give_back(Allocation& a) {
  a.freed = true;
  snapshot_.reset();
  if (counts_as_device_memory(a.kind)) used_bytes_[static_cast<size_t>(a.device)] -= a.bytes();
  live_bytes_ -= a.bytes();
  const uint64_t host = place_in_file(a);
  const uint64_t first_page = round_up(host, kPage);
  const uint64_t last_page = (host + a.bytes()) / kPage * kPage;
  if (last_page > first_page) {
    fallocate(memfd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first_page),
              static_cast<off_t>(last_page - first_page));
  }
}

bool DeviceMemory::register_host(void* host, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uint64_t>(host);
  const auto after = allocations_.lower_bound(begin);
  if (after != allocations_.end() && after->first < begin + bytes) return false;
  Allocation a;
  a.begin = begin;
  a.end = begin + bytes;
  a.kind = MemoryKind::registered;
  // Of a process elsewhere: its pinned and managed memory is this process's in the same way.
  a.name =
      (g_host_is_elsewhere ? "allocation #" : "registered host memory #") + std::to_string(next_number_++);
  insert(std::move(a));
  return true;
}

bool DeviceMemory::unregister_host(void* host) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<uint64_t>(host));
  if (found == allocations_.end() || found->second.kind != MemoryKind::registered) return false;
  snapshot_.reset();
  allocations_.erase(found);
  return true;
}

bool DeviceMemory::rename(uint64_t address, std::string name, uint32_t element_bytes) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  snapshot_.reset();
  found->second.name = std::move(name);
  found->second.element_bytes = element_bytes;
  return true;
}

std::optional<uint64_t> DeviceMemory::import(uint8_t* host, uint64_t bytes, uint64_t offset_in_page,
                                             bool read_only, std::string name) {
  std::lock_guard lock(mutex_);
  const uint64_t offset = take_range(bytes + offset_in_page, kPage);
  if (offset == 0) return std::nullopt;
  Allocation a;
  a.begin = reserved_ + offset + offset_in_page;
  a.end = a.begin + bytes;
  a.alias = static_cast<int64_t>(reinterpret_cast<uint64_t>(host) - a.begin);
  a.read_only = read_only;
  a.kind = MemoryKind::imported;
  a.name = std::move(name);
  const uint64_t begin = a.begin;
  insert(std::move(a));
  return begin;
}

void DeviceMemory::forget(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  found->second.freed = true;
  snapshot_.reset();
}

std::optional<Allocation> DeviceMemory::find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return std::nullopt;
  const Allocation& a = std::prev(after)->second;
  if (address > a.end) return std::nullopt;
  return a;
}

std::optional<Allocation> DeviceMemory::nearest(uint64_t address) const {
  std::lock_guard lock(mutex_);
  // In multiples of the allocation's own size: an index that went astray mostly stays in the order of the
  // array's length, so 14 KB before 400 bytes is rather 90 KB past the end of 100 KB.
  const Allocation* best = nullptr;
  double best_distance = 0;
  const auto consider = [&](const Allocation& a) {
    const uint64_t distance = address < a.begin ? a.begin - address : address >= a.end ? address - a.end : 0;
    if (distance >= kNear) return;
    const double own_sizes = static_cast<double>(distance) / static_cast<double>(std::max(a.bytes(), kGap));
    if (best != nullptr && own_sizes >= best_distance) return;
    best_distance = own_sizes;
    best = &a;
  };
  // What the emulator keeps for itself is nothing that a program means to reach.
  const auto is_own = [](const auto& entry) { return entry.second.kind == MemoryKind::parameters; };
  const auto middle = allocations_.upper_bound(address);
  const auto after = std::find_if_not(middle, allocations_.end(), is_own);
  const auto before = std::find_if_not(std::make_reverse_iterator(middle), allocations_.rend(), is_own);
  if (before != allocations_.rend()) consider(before->second);
  if (after != allocations_.end()) consider(after->second);
  if (best == nullptr) return std::nullopt;
  return *best;
}

bool DeviceMemory::is_device_range(uint64_t address) const {
  return address >= reserved_ && address < reserved_ + range_bytes_;
}

std::shared_ptr<const std::vector<Allocation>> DeviceMemory::snapshot() {
  std::lock_guard lock(mutex_);
  if (!snapshot_) {
    auto all = std::make_shared<std::vector<Allocation>>();
    all->reserve(allocations_.size());
    for (const auto& [begin, allocation] : allocations_) all->push_back(allocation);
    snapshot_ = std::move(all);
  }
  return snapshot_;
}

uint64_t DeviceMemory::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_[static_cast<size_t>(cudart::current_device())];
}

void DeviceMemory::mark_initialized(uint64_t address, uint64_t bytes) {
  const auto a = find(address);
  if (!a || !a->initialized || address + bytes > a->end) return;
  if (bytes < a->bytes()) {
    std::memset(a->initialized.get() + (address - a->begin), 1, bytes);
    return;
  }
  // Written as a whole: there is nothing to follow any more.
  const std::lock_guard lock(mutex_);
  const auto whole = allocations_.find(a->begin);
  if (whole != allocations_.end()) whole->second.initialized.reset();
  snapshot_.reset();
}

}  // namespace warpgrade::emu
