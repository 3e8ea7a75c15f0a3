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

#ifndef SPMM_STRIP_SHARE
#define SPMM_STRIP_SHARE 60
#endif
#ifndef SPMM_PANEL_SHARE
#define SPMM_PANEL_SHARE 75
#endif
#ifndef SPMM_PANEL_MIN_ENTRIES
#define SPMM_PANEL_MIN_ENTRIES 8
#endif
#ifndef SPMM_SHORT_ROW
#define SPMM_SHORT_ROW 32
#endif
#ifndef SPMM_MIN_STRIP
#define SPMM_MIN_STRIP 32
#endif

#ifndef SPMM_WAVES
#define SPMM_WAVES 4
#endif
inline Strategy choose_strategy(int rows, int cols, int nnz, int k, const Device& device) {
  Strategy s;
  const std::int64_t l2_bytes = device.l2_bytes > 0 ? device.l2_bytes : std::int64_t{40} << 20;
  const auto footprint = [&](std::int64_t strip) {
    return strip * cols * static_cast<std::int64_t>(sizeof(float));
  };

  s.vector = k % 4 == 0 ? 4 : 1;
  const int narrowest = s.vector == 4 ? SPMM_MIN_STRIP / 4 : 8;
  s.lanes = 32;
  while (s.lanes > narrowest &&
         (s.strip() / 2 >= k || footprint(s.strip()) * 100 > l2_bytes * SPMM_STRIP_SHARE)) {
    s.lanes /= 2;
  }

  const std::int64_t bytes = footprint(std::min(s.strip(), k));
  const std::int64_t panel_bytes = l2_bytes * SPMM_PANEL_SHARE / 100;
#ifdef SPMM_PANELS
  const std::int64_t affordable = SPMM_PANELS, wanted = SPMM_PANELS;
#else
  const std::int64_t wanted = (bytes + panel_bytes - 1) / panel_bytes;
  const std::int64_t affordable =
      nnz / std::max<std::int64_t>(1, std::int64_t{SPMM_PANEL_MIN_ENTRIES} * rows);
#endif
  s.panels = static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, affordable), 1, 64));
  s.panel_columns = (cols + s.panels - 1) / std::max(s.panels, 1);

  // Enough segments that the last wave of warps is a small part of the whole, few enough that partial sums
  // are cheap.
  const std::int64_t resident_warps = std::int64_t{32} * device.multiprocessors;
  s.segment = 64;
  while (s.segment < 1024 && nnz / s.segment > SPMM_WAVES * resident_warps) s.segment *= 2;
  s.short_row = std::min(SPMM_SHORT_ROW, s.segment);
  return s;
}

}  // namespace optimized
