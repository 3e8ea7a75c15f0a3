#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "judge/labs/declared/cell_work.h"

namespace warpgrade::declared {
namespace {

class HostCellWork : public CellWork {
 public:
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    return {new std::byte[std::max<std::size_t>(bytes, 1)], std::default_delete<std::byte[]>()};
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void draw(const std::vector<FieldDraw>& fields, void* cells, std::size_t bytes) override {
    std::memset(cells, 0, bytes);  // the padding too
    for (const FieldDraw& field : fields)
      for (std::int64_t i = 0; i < field.count; ++i) write_cell(field, i, static_cast<std::byte*>(cells));
  }
  void draw_to_host(const std::vector<FieldDraw>& fields, std::span<std::byte> cells) override {
    draw(fields, cells.data(), cells.size());
  }
  void make_absolute(declaration::Scalar type, void* cells, std::int64_t count) override {
    auto* at = static_cast<std::byte*>(cells);
    for (std::int64_t i = 0; i < count; ++i, at += bytes_of(type))
      write_real(type, std::fabs(read_real(type, at)), at);
  }
  Differences compare(const FieldComparison& field, const void* got, const void* wanted,
                      const void* magnitudes) override {
    Differences found;
    for (std::int64_t i = 0; i < field.count; ++i) {
      const double share =
          share_of_cell(field, i, static_cast<const std::byte*>(got), static_cast<const std::byte*>(wanted),
                        static_cast<const std::byte*>(magnitudes));
      if (!(share <= field.most)) {
        ++found.cells;
        continue;
      }
      found.most = std::max(found.most, share);
      found.squares += share * share;
    }
    return found;
  }
  Differences compare_with_host(const FieldComparison& field, const void* got,
                                std::span<const std::byte> wanted,
                                std::span<const std::byte> magnitudes) override {
    return compare(field, got, wanted.data(), magnitudes.empty() ? nullptr : magnitudes.data());
  }
};

}  // namespace

std::unique_ptr<CellWork> make_host_cell_work() {
  return std::make_unique<HostCellWork>();
}

// Programs without CUDA in them have this one; the judge's own stands in cell_work_cuda.cu.
[[gnu::weak]] std::unique_ptr<CellWork> make_cuda_cell_work() {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::declared
