// The plan of the optimized SpMM and how it is made: properties of A are sampled, the strategy is chosen, A
// is cut into items.
#pragma once

#include <algorithm>
#include <vector>

#include "device_array.cuh"
#include "kernel.cuh"
#include "locality.cuh"
#include "stream_plan.cuh"
#include "warpgrade/spmm.h"

using namespace optimized;

struct SpmmPlan {
  Strategy strategy;
  std::vector<PanelList> panels;
  DeviceArray<Item> short_items, long_items;
  DeviceArray<Split> splits;
  DeviceArray<int> slot_splits;
  DeviceArray<float> partial_sums;
  DeviceArray<unsigned> arrivals;
  DeviceArray<float> padded_b;  // [cols, padded_pitch]
  StreamPlan stream;

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
  size.whole_vectors = reinterpret_cast<std::uintptr_t>(a.columns) % 16 == 0 &&
                       reinterpret_cast<std::uintptr_t>(a.values) % 16 == 0;
  if (locality_matters(size, device.known_l2())) TRY(sample(a, device.known_l2(), &size, stream));
  plan->strategy = choose_strategy(size, device);
  TRY(plan->padded_b.allocate(static_cast<std::size_t>(a.cols) * plan->strategy.padded_pitch));
  const Strategy& s = plan->strategy;
  if (s.stream_window > 0) TRY(plan->stream.make(a, s.stream_window, stream));
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

}  // namespace
