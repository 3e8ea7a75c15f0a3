#include "state/nested.h"

#include <algorithm>
#include <cstring>

#include "memory/device_memory.h"
#include "program/program.h"
#include "support/base_name.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kBufferArena = 32 << 20, kBufferUnit = 64;

std::atomic<uint64_t>& pending_bytes() {
  static std::atomic<uint64_t> bytes{0};
  return bytes;
}

std::string triple_text(const uint32_t* v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

uint64_t buffer_bytes(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + kBufferUnit - 1) / kBufferUnit) * kBufferUnit;
}

}  // namespace

std::string NestedPlace::text() const {
  const Program::Place where = program->place(*instruction);
  const std::string line = where.line == 0 ? std::string("an unknown line")
                                           : base_name(where.path) + ":" + std::to_string(where.line);
  return line + " by " + program->title + ", block " + triple_text(block) + " thread " + triple_text(thread);
}

uint64_t NestedWork::bytes() const {
  constexpr uint64_t kRoomToGrow = 2, kOfTheHeap = 32;  // of the list that holds it; beside an allocation
  const auto* grid = std::get_if<NestedGrid>(&what);
  return kRoomToGrow * sizeof *this + kOfTheHeap + (grid != nullptr ? grid->parameters.capacity() : 0);
}

bool PendingBytes::take(uint64_t bytes) {
  const bool fits = pending_bytes().fetch_add(bytes) + bytes <= kMost;
  if (fits)
    bytes_ += bytes;
  else
    pending_bytes().fetch_sub(bytes);
  return fits;
}

PendingBytes::~PendingBytes() {
  pending_bytes().fetch_sub(bytes_);
}

ParameterBuffers& ParameterBuffers::instance() {
  // Never destroyed: programs launch in their own static destructors.
  static auto* buffers = new ParameterBuffers;
  return *buffers;
}

bool ParameterBuffers::reserve() {
  const std::lock_guard lock(mutex_);
  if (begin_ != 0) return true;
  DeviceMemory& memory = DeviceMemory::instance();
  const auto arena = memory.allocate(kBufferArena, MemoryKind::parameters, "arguments of nested launches");
  if (!arena) return false;
  begin_ = next_ = *arena;
  end_ = begin_ + kBufferArena;
  alias_ = memory.find(begin_)->alias;
  return true;
}

void ParameterBuffers::reset() {
  const std::lock_guard lock(mutex_);
  next_ = begin_;
  filled_.clear();
  free_.clear();
}

uint64_t ParameterBuffers::take(const Request& request) {
  const uint64_t bytes = buffer_bytes(request.bytes);
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t>& unused = free_[bytes];
  uint64_t address = 0;
  if (!unused.empty()) {
    address = unused.back();
    unused.pop_back();
  } else if (bytes <= end_ - next_) {
    address = next_;
    next_ += bytes;
  } else {
    return 0;
  }
  std::memset(reinterpret_cast<void*>(address + static_cast<uint64_t>(alias_)), 0, bytes);
  filled_[address] = request;
  return address;
}

std::optional<ParameterBuffers::Request> ParameterBuffers::give_back(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = filled_.find(address);
  if (found == filled_.end()) return std::nullopt;
  Request request = std::move(found->second);
  filled_.erase(found);
  const auto* begin = reinterpret_cast<const uint8_t*>(address + static_cast<uint64_t>(alias_));
  request.grid.parameters.assign(begin, begin + request.bytes);
  free_[buffer_bytes(request.bytes)].push_back(address);
  return request;
}

}  // namespace warpgrade::emu
