// Blocked Floyd-Warshall on int32 lengths, all rounds in one launch: exact for every input of the contract.
//
// Idea    the tiles of the next pivot go ahead of the others, so that no round waits for the whole round
//         before it. A job is one tile in one round. Blocks draw jobs by tickets, in an order in which a job
//         waits for jobs of lower tickets alone. A block that runs has drawn each of these, so somebody
//         always goes on, however many blocks the GPU holds at a time.
// Shapes  graph [pitch, pitch], pitch a multiple of the tile.
// Order   of a round's jobs: the tile of the next pivot, which is solved at once; the rest of the next
//         pivot's row and column; other tiles; the next cross, as soon as its pivot is likely to be there;
//         the tiles that are left, those last that jobs of the round before may still read.
// Cost    a ticket, four flags to look at and two to set for each tile.
#pragma once

#include "min_plus.cuh"
#include "pivot.cuh"

#ifndef APSP_SLACK
#define APSP_SLACK Shape::kSlack  // tests take 0, so that small graphs reach every place of the order
#endif

namespace apsp {

// In device memory; all 0 before a launch.
struct Progress {
  int* ticket;    // [1] tickets drawn
  int* products;  // [tiles] products that a round has done
  int* ahead;     // [tiles] of them, those in the row and column of the next pivot
  int* rounds;    // [tiles, tiles] rounds that a tile has been through

  static std::size_t words(std::size_t tiles) { return 1 + 2 * tiles + tiles * tiles; }
  static Progress at(int* words, std::size_t tiles) {
    return {words, words + 1, words + 1 + tiles, words + 1 + 2 * tiles};
  }
};

struct Job {
  int round, row, column;  // of tiles
  bool is_ahead;           // a product in the row or column of the next pivot
};

// Tiles are counted from the one behind the pivot on. So what the round before may still read comes last.
struct JobList {
  int tiles;
  int slack;  // products that a round does between the next pivot's tiles and its cross

  __host__ __device__ int others() const { return tiles - 1; }
  __host__ __device__ int products() const { return others() * others(); }
  __host__ __device__ int crosses() const { return 2 * others(); }
  __host__ __device__ int ahead() const { return 2 * others() - 1; }
  __host__ __device__ int jobs() const {
    return 1 + crosses() + others() * (products() + crosses()) + products();
  }
  __device__ int behind(int pivot, int place) const { return (pivot + 1 + place) % tiles; }

  __device__ Job cross(int round, int index) const {
    const int tile = behind(round, index % others());
    return index < others() ? Job{round, round, tile, false} : Job{round, tile, round, false};
  }

  __device__ Job product(int round, int index) const {
    int row = 0, column = 0;
    const bool is_ahead = index < ahead();
    if (is_ahead) {
      if (index < others()) {
        column = index;
      } else {
        row = index - others() + 1;
      }
    } else {
      const int side = max(tiles - 3, 0), rest = index - ahead(), last = tiles - 2;
      if (rest < side * side) {
        row = 1 + rest / side, column = 1 + rest % side;
      } else if (rest - side * side < last) {
        row = last, column = 1 + rest - side * side;
      } else {
        row = 1 + rest - side * side - last, column = last;
      }
    }
    return {round, behind(round, row), behind(round, column), is_ahead};
  }

  __device__ Job at(int ticket) const {
    if (ticket == 0) return {0, 0, 0, false};
    if (ticket <= crosses()) return cross(0, ticket - 1);
    const int index = ticket - 1 - crosses(), a_round = products() + crosses(), round = index / a_round;
    const int place = index % a_round, before = min(ahead() + slack, products());
    if (round == others() || place < before) return product(round, place);
    if (place < before + crosses()) return cross(round + 1, place - before);
    return product(round, place - crosses());
  }
};

__device__ __forceinline__ void wait_for(const int* count, int least) {
  int seen;
  for (;;) {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    if (seen >= least) return;
    __nanosleep(20);
  }
}

__device__ __forceinline__ void add_one(int* count) {
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(count) : "memory");
}

// By the first lanes of a block, each for one thing. The job's tile is to be through the rounds before, the
// two that it is relaxed with through this one, and nobody may read the tile as one of those two any more.
__device__ __forceinline__ void wait_for_turn(const JobList& list, const Progress& progress, const Job& job) {
  const int k = job.round, tiles = list.tiles;
  if (threadIdx.x < 3) {
    const int row = threadIdx.x == 1 ? k : job.row, column = threadIdx.x == 2 ? k : job.column;
    const bool is_own = row == job.row && column == job.column;
    if (!is_own || k > 0) wait_for(progress.rounds + row * tiles + column, is_own ? k : k + 1);
  } else if (threadIdx.x == 3 && k > 0 && (job.row == k - 1 || job.column == k - 1)) {
    const bool is_cross = job.row == k || job.column == k;
    if (is_cross) {
      wait_for(progress.ahead + k - 1, list.ahead());
    } else {
      wait_for(progress.products + k - 1, list.products());
    }
  }
}

// By one thread, after a barrier behind the stores.
__device__ __forceinline__ void tell(const JobList& list, const Progress& progress, const Job& job,
                                     bool is_pivot) {
  const int k = job.round;
  const bool is_product = job.row != k && job.column != k;
  const int rounds = is_pivot && is_product ? k + 2 : k + 1;
  asm volatile(
      "st.release.gpu.global.s32 [%0], %1;" ::"l"(progress.rounds + job.row * list.tiles + job.column),
      "r"(rounds)
      : "memory");
  if (is_product) add_one(progress.products + k);
  if (job.is_ahead) add_one(progress.ahead + k);
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kResident)
    apsp_all_rounds_kernel(int* graph, std::size_t pitch, int n, JobList list, Progress progress) {
  extern __shared__ __align__(16) int shared[];
  __shared__ int drawn;
  constexpr int kNodes = Shape::kNodes;
  const bool is_first = threadIdx.x == 0;
  if (is_first) drawn = atomicAdd(progress.ticket, 1);
  __syncthreads();
  const int jobs = list.jobs();
  for (int ticket = drawn; ticket < jobs; ticket = drawn) {
    const Job job = list.at(ticket);
    const int k = job.round;
    const bool is_pivot = job.row == job.column && (ticket == 0 || (job.row == k + 1 && job.is_ahead));
    int next = 0;
    wait_for_turn(list, progress, job);
    // The next ticket is drawn while the tile is worked on. The block of a pivot takes long: what it drew
    // early, others would wait for.
    if (is_first && !is_pivot) next = atomicAdd(progress.ticket, 1);
    __syncthreads();
    const auto tile = [&](int row, int column) {
      return TileAt{graph + (row * pitch + column) * kNodes, pitch};
    };
    const TileAt own = tile(job.row, job.column);
    int cells[Shape::kRowsEach][Shape::kColumnsEach];
    if (ticket == 0) {
      load_tile<Shape>(own, cells);
    } else {
      relax_tile<Shape>(tile(job.row, k), tile(k, job.column), own, shared, cells, n - k * kNodes);
    }
    if (is_pivot) solve_tile<Shape>(cells);
    store_tile<Shape>(own, cells);
    if (is_first) drawn = !is_pivot ? next : atomicAdd(progress.ticket, 1);
    __syncthreads();
    if (is_first) tell(list, progress, job, is_pivot);
  }
}

template <typename Shape>
cudaError_t allow_all_rounds() {
  return cudaFuncSetAttribute(apsp_all_rounds_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              Shape::kSharedBytes);
}

// `words`: Progress::words(tiles) of the device's memory.
template <typename Shape>
cudaError_t solve_all_rounds(int n, int* graph, int pitch, int* words, int multiprocessors,
                             cudaStream_t stream) {
  const int tiles = pitch / Shape::kNodes, resident = multiprocessors * Shape::kResident;
  const cudaError_t error = cudaMemsetAsync(words, 0, Progress::words(tiles) * sizeof(int), stream);
  if (error != cudaSuccess) return error;
  const JobList list{tiles, APSP_SLACK * resident};
  const int blocks = list.jobs() < resident ? list.jobs() : resident;
  apsp_all_rounds_kernel<Shape><<<blocks, Shape::kThreads, Shape::kSharedBytes, stream>>>(
      graph, pitch, n, list, Progress::at(words, tiles));
  return cudaGetLastError();
}

}  // namespace apsp
