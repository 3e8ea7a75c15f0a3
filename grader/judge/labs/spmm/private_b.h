// B in the judge's private memory, in fresh address space that costs nothing until it is touched. Only the
// rows that A's columns name matter: they alone are drawn, shown and compared where B is too large to be
// touched as a whole.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {

class PrivateB {
 public:
  PrivateB() = default;
  ~PrivateB() { release(); }
  PrivateB(const PrivateB&) = delete;
  PrivateB& operator=(const PrivateB&) = delete;

  // Throws JudgeFault when no address space is left.
  void allocate(const Structure& a, int k) {
    release();
    cells_ = static_cast<std::int64_t>(a.cols) * k;
    if (cells_ > 0) {
      void* memory =
          mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) throw JudgeFault("no {} MiB of address space for B", bytes() >> 20);
      data_ = static_cast<float*>(memory);
    }
    find_parts(a, k);
  }

  const float* data() const { return data_; }

  // Calls work(first cell, end) for each part that matters.
  template <typename Work>
  void for_parts(Work work) const {
    for (const auto& [begin, end] : parts_) work(begin, end);
  }
  // Draws part of it: value(cell).
  template <typename Value>
  void draw(std::int64_t begin, std::int64_t end, Value value) {
    for (std::int64_t cell = begin; cell < end; ++cell) data_[cell] = value(cell);
  }
  void show(std::span<float> shared) const {
    for_parts([&](std::int64_t begin, std::int64_t end) {
      std::copy(data_ + begin, data_ + end, shared.begin() + begin);
    });
  }
  bool equals(std::span<const float> shared) const {
    return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
      const auto count = static_cast<std::size_t>(part.second - part.first);
      return std::memcmp(shared.data() + part.first, data_ + part.first, count * sizeof(float)) == 0;
    });
  }

 private:
  static constexpr std::int64_t kTouchedAsAWhole = std::int64_t{1} << 28;  // cells: a gigabyte

  std::size_t bytes() const { return static_cast<std::size_t>(cells_) * sizeof(float); }

  void find_parts(const Structure& a, int k) {
    parts_.clear();
    if (cells_ <= kTouchedAsAWhole) {
      if (cells_ > 0) parts_.push_back({0, cells_});
      return;
    }
    std::vector<int> named(a.columns.begin(), a.columns.end());
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    for (const int column : named) {
      const std::int64_t begin = static_cast<std::int64_t>(column) * k;
      if (!parts_.empty() && parts_.back().second == begin)
        parts_.back().second += k;
      else
        parts_.push_back({begin, begin + k});
    }
  }

  void release() {
    if (data_ != nullptr) munmap(data_, bytes());
    data_ = nullptr;
  }

  float* data_ = nullptr;
  std::int64_t cells_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts_;  // begin and end, in cells
};

}  // namespace warpgrade::spmm
