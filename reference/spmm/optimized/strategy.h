// How the optimized SpMM cuts a problem: host arithmetic on sizes, and on how many of A's columns lie near
// the diagonal. The numbers were chosen from grids measured on an H200; ../README.md has them.
//
// strip    columns of C that one pass over A computes. The gathers touch B's strip, n * strip floats: one
//          that fits in L2 is gathered at L2's speed instead of DRAM's. A is read once a strip. What k leaves
//          over is a narrower strip, run by a narrower group of lanes.
// padding  where k is no multiple of 4, B is copied into rows of whole vectors first; into rows of whole
//          lines, if they are read so often that the lines saved outweigh the copy.
// panel    columns of A, i.e. rows of B's strip, that one launch covers; C is accumulated panel by panel
//          at 8 * m * strip bytes each. Panels make B's strip fit in L2, and let L1 keep what many long
//          rows share.
// band     columns of A that the long items of one launch are ordered by: L1 keeps what rows share, for a
//          partial sum a row and band. For work too small for panels.
// segment  entries that one warp takes at most; longer rows are cut, their parts summed in a fixed order.
// stream   of one column, where rows are uneven: a warp reads whole rows as one stream of so many entries.
// whole rows  where rows are short or even and their columns near: no strips, a warp walks all of k
//          (whole_rows.cuh).
#pragma once

#include "choose_items.h"
#include "choose_strips.h"
#include "sizes.h"

namespace optimized {

inline Strategy choose_strategy(const Sizes& size, const Device& device) {
  const std::int64_t l2_bytes = device.known_l2();
  Strategy s;
  choose_strips(size, l2_bytes, &s);
  const std::int64_t strips = s.all_strips();
  s.panels = choose_panels(size, std::max(s.strips > 0 ? s.group.strip() : 0, s.last_columns), l2_bytes);
  s.panel_columns = static_cast<int>((size.cols + s.panels - 1) / s.panels);
  s.bands = choose_bands(size, s, l2_bytes);
  s.band_columns = (s.panel_columns + s.bands - 1) / s.bands;
  s.whole_rows = choose_whole_rows(size);
  s.segment = choose_segment(size, s.whole_rows ? 1 : strips, device.multiprocessors);
  s.rows_a_warp = choose_rows_a_warp(size);
  s.lists_short_rows = size.k > 1 && !s.whole_rows;
  const Lanes lanes = choose_lanes(size);
  s.lanes = lanes.lanes;
  s.many_rounds = lanes.many_rounds;
  s.stream_window = choose_stream_window(size);
  s.short_row = s.stream_window > 0 ? s.stream_window
                : size.k == 1       ? lanes.short_row
                : s.whole_rows      ? kShortRow
                                    : choose_short_row(size, s, device.multiprocessors);
  return s;
}

}  // namespace optimized
