// How the optimized SpMM cuts a problem: pure host arithmetic on sizes, no look at the entries.
//
// strip    columns of C that one pass over A computes. B's strip, n * strip floats, is what the gathers
// touch; a strip
//          that fits in L2 is gathered at L2's speed instead of DRAM's, and A is read once a strip.
// panel    columns of A, i.e. rows of B, that one launch covers. Where even the narrowest strip exceeds L2
// and rows are
//          long, C is accumulated panel by panel: 8 * m * strip more bytes a panel against gathers that hit.
// segment  entries that one warp takes at most; longer rows are cut and their parts summed in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace optimized {

struct Strategy {
  int vector = 4;         // floats a lane loads at once: 4, or 1 where k is no multiple of 4
  int lanes = 8;          // lanes that share one row of B
  int panels = 1;         // launches over consecutive column ranges of A
  int panel_columns = 0;  // columns of A a panel
  int short_row =
      32;  // rows of at most so many entries (in a panel) go to one group of lanes, others to a warp
  int segment = 512;  // entries a warp takes at most

  int strip() const { return vector * lanes; }
};

struct Device {
  std::int64_t l2_bytes = 0;
  int multiprocessors = 1;
};

inline Strategy choose_strategy(int rows, int cols, int nnz, int k, const Device& device) {
  Strategy s;
  const std::int64_t l2_bytes = device.l2_bytes > 0 ? device.l2_bytes : std::int64_t{40} << 20;
  const auto footprint = [&](std::int64_t strip) {
    return strip * cols * static_cast<std::int64_t>(sizeof(float));
  };
  const std::int64_t mean = nnz / std::max(rows, 1);

  // The widest strip of B that L2 holds; B much larger than L2 and short rows: 64 columns, to read A less
  // often.
  s.vector = k % 4 == 0 ? 4 : 1;
  s.lanes = s.vector == 4 && k <= 16 ? 4 : 8;
  while (s.lanes < 32 && s.strip() < k && footprint(2 * s.strip()) * 4 <= l2_bytes * 3) s.lanes *= 2;
  if (s.vector == 1 && k > 8) s.lanes = 32;
  const bool fits = footprint(s.strip()) <= l2_bytes;
  if (!fits && mean < 12 && s.strip() < k) s.lanes = std::max(s.lanes, 16);
#ifdef SPMM_STRIP
  s.lanes = SPMM_STRIP / 4;
#endif

#ifdef SPMM_PANELS
  s.panels = SPMM_PANELS;
#else
  const std::int64_t bytes = footprint(std::min(s.strip(), k));
  const std::int64_t for_l2 = std::min(bytes * 3 / l2_bytes, mean / 10);
  const std::int64_t for_l1 = std::min<std::int64_t>(mean / 32, nnz / 4'000'000);
  s.panels = static_cast<int>(std::clamp<std::int64_t>(std::max(for_l2, for_l1), 1, 64));
#endif
  s.panel_columns = (cols - 1) / s.panels + 1;

  // Enough segments that the last wave of warps is a small part of the whole, few enough that partial sums
  // are cheap.
  const std::int64_t resident_warps = std::int64_t{32} * device.multiprocessors;
  const std::int64_t strips = (k - 1) / s.strip() + 1;
#ifndef SPMM_WAVES
#define SPMM_WAVES 8
#endif
  const int waves = mean >= 128 ? 2 : SPMM_WAVES;
  s.segment = 64;
  while (s.segment < 1024 && nnz * strips / s.segment > waves * resident_warps) s.segment *= 2;
#ifdef SPMM_SHORT_ROW
  s.short_row = SPMM_SHORT_ROW;
#else
  s.short_row = nnz * strips >= 16'000'000 ? 64 : 32;
#endif
  return s;
}

}  // namespace optimized
