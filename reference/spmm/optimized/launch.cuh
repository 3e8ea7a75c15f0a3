// The launches of one run: which of the compiled kernels takes what.
#pragma once

#include <iterator>

#include "entry_stream.cuh"
#include "one_column.cuh"
#include "pad.cuh"
#include "plan.cuh"
#include "whole_rows.cuh"

namespace {

template <typename T, bool kAccumulate>
cudaError_t launch_panel(const Operands& op, const PanelList& list, const SpmmPlan& plan, int strips,
                         cudaStream_t stream) {
  const std::int64_t long_blocks = (std::int64_t{list.long_count} + T::kWarps - 1) / T::kWarps;
  const std::int64_t short_blocks =
      (std::int64_t{list.short_count} + T::kShortPerBlock - 1) / T::kShortPerBlock;
  if (long_blocks + short_blocks == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(long_blocks + short_blocks), strips);
  spmm_work_list_kernel<T, kAccumulate><<<grid, T::kThreads, 0, stream>>>(op, list, plan.partials());
  return cudaGetLastError();
}

// Some strips. The first panel writes C, later ones add to it.
template <int kVector, int kLanes, bool kAligned>
cudaError_t launch(const Operands& op, const SpmmPlan& plan, int strips, cudaStream_t stream) {
  using T = Tile<kVector, kLanes, kAligned>;
  for (std::size_t panel = 0; panel < plan.panels.size(); ++panel) {
    TRY(panel == 0 ? (launch_panel<T, false>(op, plan.panels[panel], plan, strips, stream))
                   : (launch_panel<T, true>(op, plan.panels[panel], plan, strips, stream)));
  }
  return cudaSuccess;
}

int blocks_of(std::int64_t count, int a_block) {
  return static_cast<int>((count + a_block - 1) / a_block);
}

template <int kLanes, int kRounds = 4>
cudaError_t launch_lanes(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  using T = OneColumn<kLanes, kRounds>;
  const PanelList& list = plan.panels.front();
  const int blocks = blocks_of(list.long_count, T::kWarps) + blocks_of(a.rows, T::kRowsPerBlock);
  spmm_one_column_kernel<T><<<blocks, T::kThreads, 0, stream>>>(
      op, list.long_items, list.long_count, a.row_offsets, a.rows, plan.strategy.short_row, plan.partials());
  return cudaGetLastError();
}

cudaError_t launch_stream(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  using T = StreamTile;
  const PanelList& list = plan.panels.front();
  const StreamView& view = plan.stream.view();
  const int blocks = blocks_of(list.long_count, T::kWarps) + blocks_of(view.part_count, T::kWarps) +
                     blocks_of(view.empty_count, T::kEmptyPerBlock);
  spmm_entry_stream_kernel<<<blocks, T::kThreads, 0, stream>>>(op, list.long_items, list.long_count, view,
                                                               a.nnz, plan.partials());
  return cudaGetLastError();
}

cudaError_t launch_one_column(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan,
                              cudaStream_t stream) {
  if (plan.strategy.stream_window > 0) return launch_stream(a, op, plan, stream);
  switch (plan.strategy.lanes) {
    case 2:
      return launch_lanes<2>(a, op, plan, stream);
    case 4:
      return launch_lanes<4>(a, op, plan, stream);
    case 16:
      return launch_lanes<16>(a, op, plan, stream);
    case 32:
      return launch_lanes<32>(a, op, plan, stream);
    default:
      return plan.strategy.many_rounds ? launch_lanes<8, 8>(a, op, plan, stream)
                                       : launch_lanes<8>(a, op, plan, stream);
  }
}

template <int kVectors, bool kFull>
void launch_rows(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  using T = RowsTile<kVectors, kFull>;
  const Strategy& s = plan.strategy;
  const PanelList& list = plan.panels.front();
  const int blocks = blocks_of(list.long_count, T::kWarps) + blocks_of(a.rows, T::kWarps * s.rows_a_warp);
  spmm_whole_rows_kernel<T><<<blocks, T::kThreads, 0, stream>>>(
      op, list, plan.partials(), RowsOfA{a.row_offsets, a.rows, s.rows_a_warp, s.short_row});
}

// One pass; returns how many columns it covered.
template <int kVectors>
int launch_pass(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  constexpr int kPass = RowsTile<kVectors, true>::kPass;
  op.k - op.first_column >= kPass ? launch_rows<kVectors, true>(a, op, plan, stream)
                                  : launch_rows<kVectors, false>(a, op, plan, stream);
  return kPass;
}

// Passes of the widest kind that the columns left fill.
cudaError_t launch_whole_rows(const CsrMatrix& a, Operands op, const SpmmPlan& plan, cudaStream_t stream) {
  for (; op.first_column < op.k; ++op.first_strip) {
    const int left = op.k - op.first_column;
    op.first_column += left > RowsTile<2, true>::kPass   ? launch_pass<4>(a, op, plan, stream)
                       : left > RowsTile<1, true>::kPass ? launch_pass<2>(a, op, plan, stream)
                                                         : launch_pass<1>(a, op, plan, stream);
  }
  return cudaGetLastError();
}

// The kernel compiled for `group`.
template <int kIndex = 0>
cudaError_t launch_group(const Group& group, const Operands& op, const SpmmPlan& plan, int strips,
                         cudaStream_t stream) {
  if constexpr (kIndex < static_cast<int>(std::size(kGroups))) {
    constexpr Group compiled = kGroups[kIndex];
    if (group.vector == compiled.vector && group.lanes == compiled.lanes) {
      if (op.k % compiled.vector == 0)
        return launch<compiled.vector, compiled.lanes, true>(op, plan, strips, stream);
      if constexpr (compiled.vector == kWidestVector)  // narrower ones divide k
        return launch<compiled.vector, compiled.lanes, false>(op, plan, strips, stream);
    }
    return launch_group<kIndex + 1>(group, op, plan, strips, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t pad_b(const CsrMatrix& a, int k, const float* b, const SpmmPlan& plan, cudaStream_t stream) {
  if (a.cols == 0) return cudaSuccess;
  const int pitch = plan.strategy.padded_pitch, rows = PadTile::rows_per_block(pitch);
  const int blocks = (a.cols - 1) / rows + 1;
  spmm_pad_kernel<<<blocks, PadTile::kThreads, 0, stream>>>(b, a.cols, k, plan.padded_b.get(), pitch, rows);
  return cudaGetLastError();
}

}  // namespace
