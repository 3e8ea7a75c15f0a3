// What the server's files share.
#pragma once
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "judge/executor/server.h"

namespace warpgrade::executor {

inline constexpr size_t kFirstStream = 2;  // after the default ones

struct CallServer::Call {
  wire::Record record;
  std::span<const uint8_t> data{};

  wire::Op op() const { return static_cast<wire::Op>(record.op); }
  uint64_t argument(size_t k) const { return record.arguments[k]; }
  uint32_t low(size_t k) const { return static_cast<uint32_t>(record.arguments[k]); }
  uint32_t high(size_t k) const { return static_cast<uint32_t>(record.arguments[k] >> 32); }
  std::string text() const { return {reinterpret_cast<const char*>(data.data()), data.size()}; }
};

struct CallServer::Waiting {
  uint16_t slot = 0;
  uint32_t sequence = 0;
  uint32_t reply_in_slot = 0;
  wire::Op op = wire::Op::ping;
  std::chrono::steady_clock::time_point since{};
  std::function<cudaError_t()> ask;
};

// The number of a new handle: a free one, or one more; nothing when there are too many.
template <class Id>
std::optional<size_t> place_for(std::vector<std::optional<Id>>& all, size_t first, size_t most) {
  for (size_t k = all.size(); k-- > first && all.size() >= most;) {
    if (!all[k]) return k;
  }
  if (all.size() >= most) return std::nullopt;
  all.emplace_back();
  return all.size() - 1;
}

// The containers of device code that stand one behind the other.
std::vector<std::span<const uint8_t>> split_containers(std::span<const uint8_t> bytes);

}  // namespace warpgrade::executor
