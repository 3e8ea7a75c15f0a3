// SpMM, optimized: a work list of bounded items, strips of B that stay in cache, gathers kept in flight.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32; any k >= 1 (tuned for 32 and 256), any CSR.
// Cost    see kernel.cuh; the plan keeps 16 bytes an item, 4 * k bytes a part of a split row, and a copy of B
//         where k is no multiple of 4, or of 32 and B is read often (pad.cuh).
// Files   strategy.h chooses strip, panels, bands and item sizes; locality.cuh samples A for it;
//         work_list.cuh builds the items; kernel.cuh runs them, one_column.cuh those of k = 1.
// Sums    each row is added up in a fixed order: two runs give the same bits.
#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

#include "kernel.cuh"
#include "locality.cuh"
#include "one_column.cuh"
#include "pad.cuh"
#include "warpgrade/spmm.h"
#include "whole_rows.cuh"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

namespace {

using namespace optimized;

// An array in device memory.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  cudaError_t allocate(std::size_t count) {
    return count == 0 ? cudaSuccess : cudaMalloc(&data_, count * sizeof(T));
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace

struct SpmmPlan {
  Strategy strategy;
  std::vector<PanelList> panels;
  DeviceArray<Item> short_items, long_items;
  DeviceArray<Split> splits;
  DeviceArray<int> slot_splits;
  DeviceArray<float> partial_sums;
  DeviceArray<unsigned> arrivals;
  DeviceArray<float> padded_b;  // [cols, padded_pitch]

  Partials partials() const {
    return {splits.get(), slot_splits.get(), partial_sums.get(), arrivals.get(), strategy.all_strips()};
  }
};

namespace {

constexpr int kWidestVector = 4;

int sums_pitch(int k) {
  return (k + kWidestVector - 1) / kWidestVector * kWidestVector;
}

constexpr int kMaxStrips = 65535;  // gridDim.y: k up to half a million

cudaError_t query_device(Device* device) {
  int id = 0, l2_bytes = 0;
  TRY(cudaGetDevice(&id));
  TRY(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, id));
  TRY(cudaDeviceGetAttribute(&device->multiprocessors, cudaDevAttrMultiProcessorCount, id));
  device->l2_bytes = l2_bytes;
  return cudaSuccess;
}

// Turns counts into starting places and returns the totals.
WindowCounts scan(std::vector<WindowCounts>* windows) {
  WindowCounts total{0, 0, 0, 0};
  for (WindowCounts& window : *windows) {
    const WindowCounts counts = window;
    window = total;
    total.short_items += counts.short_items;
    total.long_items += counts.long_items;
    total.slots += counts.slots;
    total.splits += counts.splits;
  }
  return total;
}

void slice_panels(const std::vector<WindowCounts>& starts, const WindowCounts& total, int windows,
                  SpmmPlan* plan) {
  for (int panel = 0; panel < plan->strategy.panels; ++panel) {
    const bool last = panel + 1 == plan->strategy.panels;
    const std::size_t records = static_cast<std::size_t>(windows) * plan->strategy.bands;
    const WindowCounts& begin = starts[panel * records];
    const WindowCounts& end = last ? total : starts[(panel + 1) * records];
    const int short_count = end.short_items - begin.short_items;
    plan->panels.push_back({plan->short_items.get() + begin.short_items,
                            plan->long_items.get() + begin.long_items, short_count,
                            end.long_items - begin.long_items});
  }
}

// Of a matrix with entries.
cudaError_t sample(const CsrMatrix& a, std::int64_t l2_bytes, Sizes* size, cudaStream_t stream) {
  const std::int64_t reach = reach_of(l2_bytes);
  DeviceArray<SampleCounts> on_device;
  SampleCounts counts{};
  TRY(on_device.allocate(1));
  TRY(cudaMemsetAsync(on_device.get(), 0, sizeof counts, stream));
  spmm_sample_kernel<<<Sample::kBlocks, Sample::kThreads, 0, stream>>>(a, reach, on_device.get());
  TRY(cudaGetLastError());
  TRY(cudaMemcpyAsync(&counts, on_device.get(), sizeof counts, cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  size->locality = locality_of(static_cast<double>(counts.near) / Sample::kEntries, a.cols, reach);
  size->long_share = static_cast<double>(counts.in_long) / Sample::kEntries;
  return cudaSuccess;
}

cudaError_t build(const CsrMatrix& a, int k, SpmmPlan* plan, cudaStream_t stream) {
  Device device;
  TRY(query_device(&device));
  Sizes size{a.rows, a.cols, a.nnz, k};
  if (locality_matters(size, device.known_l2())) TRY(sample(a, device.known_l2(), &size, stream));
  plan->strategy = choose_strategy(size, device);
  TRY(plan->padded_b.allocate(static_cast<std::size_t>(a.cols) * plan->strategy.padded_pitch));
  const Strategy& s = plan->strategy;
  if (s.all_strips() > kMaxStrips) return cudaErrorInvalidValue;

  const int windows = (a.rows - 1) / ListTile::kWindowRows + 1;
  const dim3 grid(windows, s.panels);
  std::vector<WindowCounts> starts(static_cast<std::size_t>(windows) * s.bands * s.panels);
  const std::size_t starts_bytes = starts.size() * sizeof(WindowCounts);
  DeviceArray<WindowCounts> device_starts;
  TRY(device_starts.allocate(starts.size()));
  const bool banded = s.bands > 1;
  const auto count_items = banded ? spmm_count_items_kernel<kMostBands> : spmm_count_items_kernel<1>;
  const auto emit_items = banded ? spmm_emit_items_kernel<kMostBands> : spmm_emit_items_kernel<1>;
  count_items<<<grid, ListTile::kThreads, 0, stream>>>(a, s, device_starts.get());
  TRY(cudaGetLastError());
  TRY(cudaMemcpyAsync(starts.data(), device_starts.get(), starts_bytes, cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  const WindowCounts total = scan(&starts);
  TRY(cudaMemcpyAsync(device_starts.get(), starts.data(), starts_bytes, cudaMemcpyHostToDevice, stream));

  TRY(plan->short_items.allocate(total.short_items));
  TRY(plan->long_items.allocate(total.long_items));
  TRY(plan->splits.allocate(total.splits));
  TRY(plan->slot_splits.allocate(total.slots));
  TRY(plan->partial_sums.allocate(static_cast<std::size_t>(total.slots) * sums_pitch(k)));
  const std::size_t arrivals = static_cast<std::size_t>(total.splits) * s.all_strips();
  TRY(plan->arrivals.allocate(arrivals));
  if (arrivals > 0) TRY(cudaMemsetAsync(plan->arrivals.get(), 0, arrivals * sizeof(unsigned), stream));
  const ListOutput out{plan->short_items.get(), plan->long_items.get(), plan->splits.get(),
                       plan->slot_splits.get()};
  emit_items<<<grid, ListTile::kThreads, 0, stream>>>(a, s, device_starts.get(), out);
  TRY(cudaGetLastError());
  slice_panels(starts, total, windows, plan);
  return cudaStreamSynchronize(stream);  // device_starts is freed on return
}

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

template <int kLanes>
cudaError_t launch_one_column(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan,
                              cudaStream_t stream) {
  using T = OneColumn<kLanes>;
  const auto blocks_of = [](std::int64_t count, int a_block) { return (count + a_block - 1) / a_block; };
  const PanelList& list = plan.panels.front();
  const std::int64_t blocks = blocks_of(list.long_count, T::kWarps) + blocks_of(a.rows, T::kRowsPerBlock);
#ifdef SPMM_CARVEOUT
  TRY(cudaFuncSetAttribute(spmm_one_column_kernel<T>, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
#endif
  spmm_one_column_kernel<T><<<static_cast<unsigned>(blocks), T::kThreads, 0, stream>>>(
      op, list.long_items, list.long_count, a.row_offsets, a.rows, plan.strategy.short_row, plan.partials());
  return cudaGetLastError();
}

cudaError_t launch_one_column(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan,
                              cudaStream_t stream) {
  switch (plan.strategy.lanes) {
    case 2:
      return launch_one_column<2>(a, op, plan, stream);
    case 4:
      return launch_one_column<4>(a, op, plan, stream);
    case 16:
      return launch_one_column<16>(a, op, plan, stream);
    case 32:
      return launch_one_column<32>(a, op, plan, stream);
    default:
      return launch_one_column<8>(a, op, plan, stream);
  }
}

template <int kVectors, int kRows>
int launch_rows(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  using T = RowsTile<kVectors, kRows>;
  const int blocks = (a.rows - 1) / T::kRowsPerBlock + 1;
  spmm_whole_rows_kernel<T>
      <<<blocks, T::kThreads, 0, stream>>>(op, a.row_offsets, a.rows, plan.strategy.short_row);
  return T::kPass;
}

// One pass; returns how many columns it covered.
template <int kVectors>
int launch_rows(const CsrMatrix& a, const Operands& op, const SpmmPlan& plan, cudaStream_t stream) {
  switch (plan.strategy.rows_a_warp) {
    case 2:
      return launch_rows<kVectors, 2>(a, op, plan, stream);
    case 8:
      return launch_rows<kVectors, 8>(a, op, plan, stream);
    default:
      return launch_rows<kVectors, 4>(a, op, plan, stream);
  }
}

// Passes of the widest kind that the columns left fill.
cudaError_t launch_whole_rows(const CsrMatrix& a, Operands op, const SpmmPlan& plan, cudaStream_t stream) {
  while (op.first_column < op.k) {
    const int left = op.k - op.first_column;
    op.first_column += left > RowsTile<2, 2>::kPass   ? launch_rows<4>(a, op, plan, stream)
                       : left > RowsTile<1, 2>::kPass ? launch_rows<2>(a, op, plan, stream)
                                                      : launch_rows<1>(a, op, plan, stream);
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

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (a.rows > 0) TRY(build(a, k, made.get(), stream));
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  const Strategy& s = plan->strategy;
  const bool is_padded = s.padded_pitch > 0;
  if (is_padded) TRY(pad_b(a, k, b, *plan, stream));
  const unsigned row_bytes = (is_padded ? s.padded_pitch : k) * static_cast<unsigned>(sizeof(float));
  Operands op{a.columns,     a.values, is_padded ? plan->padded_b.get() : b, c, k, 0, 0,
              sums_pitch(k), row_bytes};
  if (k == 1 && a.rows > 0) return launch_one_column(a, op, *plan, stream);
  if (s.whole_rows && a.rows > 0) TRY(launch_whole_rows(a, op, *plan, stream));
  if (s.strips > 0) TRY(launch_group(s.group, op, *plan, s.strips, stream));
  if (s.last_columns == 0) return cudaSuccess;
  op.first_column = s.strips * s.group.strip();
  op.first_strip = s.strips;
  return launch_group(s.last, op, *plan, 1, stream);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
