#include "apsp/oracle.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apsp/inputs.h"

namespace warpgrade::apsp {
namespace {

constexpr int kBlock = 64;  // three blocks of 16 KB stay in L2

// Rows [row, row_end) and columns [col, col_end) relaxed over the nodes [k, k_end), in their order.
void relax(int* graph, std::size_t n, int row, int row_end, int col, int col_end, int k, int k_end) {
  for (int via = k; via < k_end; ++via) {
    const int* through = graph + via * n;
    for (int i = row; i < row_end; ++i) {
      int* cells = graph + i * n;
      const int first = cells[via];
      if (first == kInfinity) continue;
      for (int j = col; j < col_end; ++j) cells[j] = std::min(cells[j], first + through[j]);
    }
  }
}

template <typename Work>
void for_blocks(int blocks, int threads, Work work) {
  std::vector<std::jthread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([=] {
      for (int block = t; block < blocks; block += threads) work(block);
    });
  }
}

}  // namespace

void require_range(int n, int max_weight) {
  if (n < 1 || n > 16384) throw std::invalid_argument("n = " + std::to_string(n) + " is not in [1, 16384]");
  if (max_weight < 0)
    throw std::invalid_argument("a weight of " + std::to_string(max_weight) + " is negative");
  const std::int64_t longest = static_cast<std::int64_t>(n - 1) * max_weight;
  if (longest < kInfinity) return;
  throw std::invalid_argument("(n - 1) * max weight = " + std::to_string(n - 1) + " * " +
                              std::to_string(max_weight) + " = " + std::to_string(longest) +
                              " is not below " + std::to_string(kInfinity) +
                              ", which means that there is no path: use lighter weights or fewer nodes");
}

void require_valid(std::span<const int> graph, int n) {
  int heaviest = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const int weight = graph[static_cast<std::size_t>(i) * n + j];
      if (weight < 0 || weight > kInfinity || (i == j && weight != 0))
        throw std::invalid_argument("graph[" + std::to_string(i) + "," + std::to_string(j) + "] is " +
                                    std::to_string(weight) + ": expected 0 on the diagonal, 0 to " +
                                    std::to_string(kInfinity) + " elsewhere");
      if (weight != kInfinity) heaviest = std::max(heaviest, weight);
    }
  }
  require_range(n, heaviest);
}

// Rounds of three phases: the block on the diagonal, its row and column of blocks, all others.
void solve(std::span<int> graph, int n, int threads) {
  const int blocks = (n + kBlock - 1) / kBlock;
  int* cells = graph.data();
  const auto end = [&](int block) { return std::min((block + 1) * kBlock, n); };
  for (int p = 0; p < blocks; ++p) {
    const int k = p * kBlock, k_end = end(p);
    relax(cells, n, k, k_end, k, k_end, k, k_end);
    for_blocks(blocks, threads, [=](int b) {
      if (b == p) return;
      relax(cells, n, k, k_end, b * kBlock, end(b), k, k_end);
      relax(cells, n, b * kBlock, end(b), k, k_end, k, k_end);
    });
    for_blocks(blocks, threads, [=](int i) {
      for (int j = 0; j < blocks && i != p; ++j) {
        if (j != p) relax(cells, n, i * kBlock, end(i), j * kBlock, end(j), k, k_end);
      }
    });
  }
}

}  // namespace warpgrade::apsp
