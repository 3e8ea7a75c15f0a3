// All-pairs shortest paths: blocked Floyd-Warshall whose phases 2 and 3 are min-plus products of tiles.
//
// Idea    once the tile on the diagonal is solved, its diagonal is 0 and no path through its nodes gets
//         shorter by going round again: its row and column of tiles are plain products with it, as all others
//         are with those. One launch does all rounds, and the next pivot goes ahead of the other tiles. Tiles
//         of 128 move the matrix once in 128 nodes and keep 8 x 8 words a thread; for small n tiles of 64
//         give every SM one. Lengths of 16 bits, two a word, where that is proven exact.
// Shapes  graph [n, n]. Where the tile does not divide n, the work is done on a copy padded with infinities.
// Cost    n^3 relaxations at 64 lanes a clock an SM, half of that with 16 bits; 8 * n^3 / tile bytes.
// Files   min_plus.cuh the product of tiles; pivot.cuh the tile on the diagonal; ahead.cuh the solver on
//         int32; packed.cuh the one on 16 bits; packing.h when that is exact; plain.cuh padding.
#include <memory>
#include <new>

#include "ahead.cuh"
#include "packed.cuh"
#include "plain.cuh"

#ifndef APSP_LARGE_FROM
#define APSP_LARGE_FROM 3000  // nodes from which tiles of 128 win
#endif
#ifndef APSP_SHARED_FROM
#define APSP_SHARED_FROM 1280  // nodes from which an SM has tiles for several blocks
#endif
#ifndef APSP_PACKED_FROM
#define APSP_PACKED_FROM 3000  // nodes from which looking at the graph pays
#endif
#ifndef APSP_PACKED_CAPABILITY
#define APSP_PACKED_CAPABILITY 90  // min-plus on two lengths is one instruction from sm_90 on
#endif

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

namespace {

using namespace apsp;

struct DeviceFree {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using DeviceArray = std::unique_ptr<T, DeviceFree>;

template <typename T>
cudaError_t allocate(std::size_t count, DeviceArray<T>* array) {
  T* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, count * sizeof(T));
  array->reset(made);
  return error;
}

struct HostFree {
  void operator()(void* p) const { cudaFreeHost(p); }
};

int round_up(int n, int unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

struct ApspPlan {
  DeviceArray<int> padded;  // [pitch, pitch] unless the tile divides n
  int pitch = 0;
  DeviceArray<int> progress;  // how far each tile has come
  int multiprocessors = 0;
  PackedMatrix packed{};  // no rows: this n or this GPU is not for 16 bits
  DeviceArray<int> words, panel, diagonal;
  DeviceArray<Lengths> lengths;
  std::unique_ptr<Lengths, HostFree> seen;  // pinned
};

namespace {

// Calls `work` with the shape of tiles for n nodes.
template <typename Work>
cudaError_t with_shape(int n, Work work) {
  if (n >= APSP_LARGE_FROM) return work(Large{});
  return n >= APSP_SHARED_FROM ? work(Small{}) : work(Alone{});
}

cudaError_t has_packed_instruction(bool* has) {
  int device = 0, major = 0, minor = 0;
  TRY(cudaGetDevice(&device));
  TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  *has = 10 * major + minor >= APSP_PACKED_CAPABILITY;
  return cudaSuccess;
}

cudaError_t plan_packed(int n, ApspPlan* plan) {
  bool has = false;
  TRY(has_packed_instruction(&has));
  if (n < APSP_PACKED_FROM || !has) return cudaSuccess;
  const int rows = round_up(n, kPackedNodes);
  const int pitch = round_up(n, kPackedPair * kPackedNodes) / kPackedPair;
  TRY(allow_packed_shared_memory());
  TRY(allocate(static_cast<std::size_t>(rows) * pitch, &plan->words));
  TRY(allocate(static_cast<std::size_t>(rows) * kPackedNodes, &plan->panel));
  TRY(allocate(static_cast<std::size_t>(kPackedNodes) * kPackedNodes / kPackedPair, &plan->diagonal));
  TRY(allocate(1, &plan->lengths));
  Lengths* seen = nullptr;
  TRY(cudaMallocHost(&seen, sizeof(Lengths)));
  plan->seen.reset(seen);
  plan->packed = {plan->words.get(), plan->panel.get(), plan->diagonal.get(), rows, pitch};
  return cudaSuccess;
}

cudaError_t plan_plain(int n, ApspPlan* plan) {
  int device = 0;
  TRY(cudaGetDevice(&device));
  TRY(cudaDeviceGetAttribute(&plan->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  TRY(with_shape(n, [&](auto shape) {
    using Shape = decltype(shape);
    plan->pitch = round_up(n, Shape::kNodes);
    TRY(allocate(Progress::words(plan->pitch / Shape::kNodes), &plan->progress));
    return allow_all_rounds<Shape>();
  }));
  if (plan->pitch == n) return cudaSuccess;
  return allocate(static_cast<std::size_t>(plan->pitch) * plan->pitch, &plan->padded);
}

cudaError_t solve_with_tiles(int n, int* graph, int pitch, const ApspPlan& plan, cudaStream_t stream) {
  return with_shape(n, [&](auto shape) {
    return solve_all_rounds<decltype(shape)>(n, graph, pitch, plan.progress.get(), plan.multiprocessors,
                                             stream);
  });
}

cudaError_t run_plain(int n, int* graph, const ApspPlan& plan, cudaStream_t stream) {
  if (plan.padded == nullptr) return solve_with_tiles(n, graph, n, plan, stream);
  const unsigned pitch = plan.pitch;
  const unsigned pieces = (pitch + kCopyThreads - 1) / kCopyThreads;
  int* padded = plan.padded.get();
  apsp_pad_kernel<<<dim3(pieces, pitch), kCopyThreads, 0, stream>>>(graph, n, padded, plan.pitch);
  TRY(solve_with_tiles(n, padded, plan.pitch, plan, stream));
  apsp_unpad_kernel<<<dim3(pieces, n), kCopyThreads, 0, stream>>>(padded, plan.pitch, graph, n);
  return cudaGetLastError();
}

// What `look` saw, on the host: the stream is waited for.
template <typename Look>
cudaError_t see(const ApspPlan& plan, cudaStream_t stream, Lengths* seen, Look look) {
  Lengths* lengths = plan.lengths.get();
  TRY(cudaMemsetAsync(lengths, 0, sizeof(Lengths), stream));
  look(lengths);
  TRY(cudaGetLastError());
  TRY(cudaMemcpyAsync(plan.seen.get(), lengths, sizeof(Lengths), cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  *seen = *plan.seen;
  return cudaSuccess;
}

// Solves the graph if that is exact in 16 bits; leaves it as it was if not.
cudaError_t try_packed(int n, int* graph, const ApspPlan& plan, cudaStream_t stream, bool* solved) {
  constexpr unsigned kSampledRows = 64;
  const PackedMatrix& matrix = plan.packed;
  Lengths edges{}, distances{};
  TRY(see(plan, stream, &edges, [&](Lengths* lengths) {
    apsp_sample_rows_kernel<<<kSampledRows, kPackedThreads, 0, stream>>>(graph, n, lengths);
  }));
  if (outlook(edges) == Outlook::kHopeless) return cudaSuccess;
  TRY(see(plan, stream, &edges, [&](Lengths* lengths) {
    apsp_pack_kernel<<<matrix.rows, kPackedThreads, 0, stream>>>(graph, n, matrix, lengths);
  }));
  if (outlook(edges) == Outlook::kHopeless) return cudaSuccess;
  TRY(solve_packed(matrix, stream));
  if (outlook(edges) == Outlook::kWorthATry) {
    TRY(see(plan, stream, &distances, [&](Lengths* lengths) {
      apsp_inspect_kernel<<<n, kPackedThreads, 0, stream>>>(matrix, n, lengths);
    }));
    if (!is_exact(edges, distances)) return cudaSuccess;
  }
  *solved = true;
  apsp_unpack_kernel<<<n, kPackedThreads, 0, stream>>>(matrix, graph, n);
  return cudaGetLastError();
}

}  // namespace

cudaError_t apsp_plan(int n, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  std::unique_ptr<ApspPlan> made(new (std::nothrow) ApspPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  TRY(plan_plain(n, made.get()));
  TRY(plan_packed(n, made.get()));
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream) {
  bool solved = false;
  if (plan->packed.rows > 0) TRY(try_packed(n, graph, *plan, stream, &solved));
  return solved ? cudaSuccess : run_plain(n, graph, *plan, stream);
}

void apsp_free(ApspPlan* plan) {
  delete plan;
}
