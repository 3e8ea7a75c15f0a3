#include <vector>

#include "judge/judging/cuda_memory.h"
#include "judge/labs/apsp/solver.h"

namespace warpgrade::apsp {
namespace {

constexpr int kThreads = 256, kBlocks = 2048;
constexpr int kTile = 64, kSide = 16, kEach = kTile / kSide;  // a thread owns kEach x kEach cells of a tile
constexpr int kMostCheckedOnHost = 512;                       // the oracle solves these as well

__device__ std::size_t first_index() {
  return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t index_step() {
  return std::size_t(gridDim.x) * blockDim.x;
}

__global__ void draw_pattern_kernel(DrawnGraph drawn, int* graph) {
  const int n = drawn.n;
  for (std::size_t cell = first_index(); cell < std::size_t(n) * n; cell += index_step())
    graph[cell] = edge_at(drawn, int(cell / n), int(cell % n));
}

__global__ void clear_edges_kernel(int n, int* graph) {
  for (std::size_t cell = first_index(); cell < std::size_t(n) * n; cell += index_step())
    graph[cell] = cell / n == cell % n ? 0 : kInfinity;
}

__global__ void draw_edges_kernel(const Edge* edges, std::size_t count, std::uint64_t seed, int n,
                                  int* graph) {
  for (std::size_t e = first_index(); e < count; e += index_step())
    graph[std::size_t(edges[e].from) * n + edges[e].to] =
        real_edge_weight(seed, edges[e].from, edges[e].to, n);
}

__global__ void move_away_kernel(int n, int far, int* graph) {
  for (std::size_t i = first_index(); i < n; i += index_step()) {
    int& cell = graph[i * n + far];
    if (i != far && cell != kInfinity) cell = far_weight(cell);
  }
}

// One tile of a round: rows tile_i, columns tile_j, over the nodes of tile `pivot`. Phase 1 is the tile
// (pivot, pivot), phase 2 the pivot's row and column, phase 3 all others. The panels are staged whole; within
// phases 1 and 2 a panel is the tile itself, so every step's changes are written back to it.
template <int kPhase>
__global__ void __launch_bounds__(kSide* kSide) relax_tile_kernel(int n, int pivot, int* graph) {
  __shared__ int rows[kTile][kTile + 1], columns[kTile][kTile + 1];
  const int tile_i = kPhase == 1 ? pivot : kPhase == 2 && blockIdx.y == 0 ? pivot : int(blockIdx.x);
  const int tile_j = kPhase == 1   ? pivot
                     : kPhase == 2 ? (blockIdx.y == 0 ? int(blockIdx.x) : pivot)
                                   : int(blockIdx.y);
  if (kPhase == 2 && int(blockIdx.x) == pivot) return;
  if (kPhase == 3 && (tile_i == pivot || tile_j == pivot)) return;
  const int ty = threadIdx.x / kSide, tx = threadIdx.x % kSide;
  const auto cell = [&](int i, int j) { return i < n && j < n ? graph[std::size_t(i) * n + j] : kInfinity; };
  int own[kEach][kEach];
  for (int a = 0; a < kEach; ++a) {
    for (int b = 0; b < kEach; ++b) {
      const int i = ty + a * kSide, j = tx + b * kSide;
      rows[i][j] = cell(tile_i * kTile + i, pivot * kTile + j);
      columns[i][j] = cell(pivot * kTile + i, tile_j * kTile + j);
      own[a][b] = cell(tile_i * kTile + i, tile_j * kTile + j);
    }
  }
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    for (int a = 0; a < kEach; ++a) {
      for (int b = 0; b < kEach; ++b) {
        const int i = ty + a * kSide, j = tx + b * kSide;
        own[a][b] = min(own[a][b], rows[i][k] + columns[k][j]);
      }
    }
    if (kPhase == 3) continue;
    __syncthreads();
    for (int a = 0; a < kEach; ++a) {
      for (int b = 0; b < kEach; ++b) {
        const int i = ty + a * kSide, j = tx + b * kSide;
        if (tile_j == pivot) rows[i][j] = own[a][b];
        if (tile_i == pivot) columns[i][j] = own[a][b];
      }
    }
    __syncthreads();
  }
  for (int a = 0; a < kEach; ++a) {
    for (int b = 0; b < kEach; ++b) {
      const int i = tile_i * kTile + ty + a * kSide, j = tile_j * kTile + tx + b * kSide;
      if (i < n && j < n) graph[std::size_t(i) * n + j] = own[a][b];
    }
  }
}

__global__ void count_wrong_kernel(const int* got, const int* want, std::size_t cells, unsigned* wrong) {
  for (std::size_t cell = first_index(); cell < cells; cell += index_step()) {
    if (got[cell] != want[cell]) *wrong = 1;
  }
}

class CudaSolver : public Solver {
 public:
  CudaSolver(ArrayBuffers& buffers, const Graph& graph, int threads)
      : buffers_(buffers),
        graph_(graph),
        threads_(threads),
        solution_(graph.cells()),
        edges_(graph.edges.size()),
        wrong_(1) {
    if (!graph.edges.empty())
      buffers_.copy_in(edges_.get(), graph.edges.data(), graph.edges.size() * sizeof(Edge));
  }

  void draw(std::uint64_t seed, int far) override {
    int* cells = static_cast<int*>(buffers_.initial());
    if (graph_.pattern) {
      draw_pattern_kernel<<<kBlocks, kThreads>>>(drawn_graph(*graph_.pattern, seed, graph_.n), cells);
    } else {
      clear_edges_kernel<<<kBlocks, kThreads>>>(graph_.n, cells);
      draw_edges_kernel<<<kBlocks, kThreads>>>(edges_.get(), graph_.edges.size(), seed, graph_.n, cells);
    }
    if (far != kNoFarNode) move_away_kernel<<<kBlocks, kThreads>>>(graph_.n, far, cells);
    WARPGRADE_CUDA(cudaMemcpyAsync(solution_.get(), cells, bytes(), cudaMemcpyDeviceToDevice));
    const int tiles = (graph_.n + kTile - 1) / kTile;
    for (int pivot = 0; pivot < tiles; ++pivot) {
      relax_tile_kernel<1><<<1, kSide * kSide>>>(graph_.n, pivot, solution_.get());
      relax_tile_kernel<2><<<dim3(tiles, 2), kSide * kSide>>>(graph_.n, pivot, solution_.get());
      relax_tile_kernel<3><<<dim3(tiles, tiles), kSide * kSide>>>(graph_.n, pivot, solution_.get());
    }
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaDeviceSynchronize());
    if (graph_.n <= kMostCheckedOnHost) check_against_oracle();
  }

  Comparison compare() override {
    unsigned wrong = 0;
    const int* got = static_cast<const int*>(buffers_.output());
    WARPGRADE_CUDA(cudaMemset(wrong_.get(), 0, sizeof wrong));
    count_wrong_kernel<<<kBlocks, kThreads>>>(got, solution_.get(), graph_.cells(), wrong_.get());
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(&wrong, wrong_.get(), sizeof wrong, cudaMemcpyDeviceToHost));
    Comparison comparison;
    if (wrong == 0) return comparison;
    const std::vector<int> want = download(solution_.get()), is = download(buffers_.output()),
                           edges = download(buffers_.initial());
    for (std::size_t cell = 0; cell < want.size(); ++cell) {
      if (is[cell] == want[cell]) continue;
      note_wrong(comparison, static_cast<std::int64_t>(cell), graph_.n, want[cell], is[cell], edges[cell]);
    }
    return comparison;
  }

 private:
  std::size_t bytes() const { return graph_.cells() * sizeof(int); }

  std::vector<int> download(const void* cells) {
    std::vector<int> host(graph_.cells());
    buffers_.copy_out(host.data(), cells, bytes());
    return host;
  }

  // The kernels above are trusted because they are seen to be right wherever that is cheap.
  void check_against_oracle() {
    require_oracle_agrees(download(buffers_.initial()), download(solution_.get()), graph_.n, threads_);
  }

  ArrayBuffers& buffers_;
  const Graph& graph_;
  int threads_;
  DeviceArray<int> solution_;
  DeviceArray<Edge> edges_;
  DeviceArray<unsigned> wrong_;
};

}  // namespace

std::unique_ptr<Solver> make_cuda_solver(ArrayBuffers& buffers, const Graph& graph, int threads) {
  return std::make_unique<CudaSolver>(buffers, graph, threads);
}

}  // namespace warpgrade::apsp
