// The trusted layer of lab gcn, on the CPU: every value with the error that an honest fp64 program may have.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace warpgrade::gcn {

constexpr int kFeatures = 128, kClasses = 16;  // the contract's, for files without CUDA

// CSR without values, as in the contract.
struct Graph {
  std::span<const int> row_offsets;  // [vertices + 1]
  std::span<const int> columns;
  int vertices() const { return static_cast<int>(row_offsets.size()) - 1; }
};

// A matrix [vertices, 16]; a submission's cell is right when within(got, values[i], bounds[i]).
struct Expected {
  std::vector<double> values, bounds;
};

// False for NaN and infinities.
bool within(double got, double want, double bound);

Expected transform(std::span<const double> x, std::span<const double> w);
Expected aggregate(const Graph& graph, std::span<const double> y);
Expected log_softmax(std::span<const double> z);

// All three. The bounds hold for a program that multiplies in another order too, as N * X first.
Expected run(const Graph& graph, std::span<const double> x, std::span<const double> w);

}  // namespace warpgrade::gcn
