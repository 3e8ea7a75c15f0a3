#include "gcn/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpgrade::gcn {
namespace {

// long double has 11 bits more than the fp64 that is judged, so the oracle's own error is lost in the bounds.
static_assert(std::numeric_limits<long double>::digits >= 64);

constexpr double kUnit = 0x1p-53;          // half an ulp of 1
constexpr double kUnderflow = 0x1p-1074;   // what a product may lose below the normal range
constexpr double kFactorRoundings = 12;    // of N(i, j) however it is formed: roots, quotients, products
constexpr double kShiftRoundings = 4;      // of z - max and what is subtracted from it
constexpr double kLogOfSumRoundings = 32;  // of 16 exponentials, their sum and its logarithm

double sum_bound(double terms, long double magnitude) {
  return static_cast<double>(terms * kUnit * magnitude) + terms * kUnderflow;
}

// Cells with the sums of their terms' absolute values: errors are proportional to these.
struct Sums {
  std::vector<double> values, magnitudes, bounds;
  explicit Sums(std::size_t cells) : values(cells), magnitudes(cells), bounds(cells) {}
};

Sums multiply(std::span<const double> x, std::span<const double> w) {
  const std::size_t vertices = x.size() / kFeatures;
  Sums y(vertices * kClasses);
  for (std::size_t cell = 0; cell < y.values.size(); ++cell) {
    const std::size_t row = cell / kClasses, column = cell % kClasses;
    long double sum = 0, magnitude = 0;
    for (std::size_t f = 0; f < kFeatures; ++f) {
      const long double term = static_cast<long double>(x[row * kFeatures + f]) * w[f * kClasses + column];
      sum += term;
      magnitude += std::fabs(term);
    }
    y.values[cell] = static_cast<double>(sum);
    y.magnitudes[cell] = static_cast<double>(magnitude);
    y.bounds[cell] = sum_bound(kFeatures + 1, magnitude);
  }
  return y;
}

int degree(const Graph& graph, int vertex) {
  return graph.row_offsets[vertex + 1] - graph.row_offsets[vertex];
}

long double degree_factor(int degree) {
  return degree == 0 ? 0.0L : 1.0L / std::sqrt(static_cast<long double>(degree));
}

Sums gather(const Graph& graph, std::span<const double> y, std::span<const double> magnitudes,
            std::span<const double> bounds) {
  const int vertices = graph.vertices();
  Sums z(static_cast<std::size_t>(vertices) * kClasses);
  for (int row = 0; row < vertices; ++row) {
    const long double own = degree_factor(degree(graph, row));
    for (int column = 0; column < kClasses; ++column) {
      long double sum = 0, magnitude = 0, inherited = 0;
      for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
        const int neighbour = graph.columns[e];
        const long double factor = own * degree_factor(degree(graph, neighbour));
        const std::size_t from = static_cast<std::size_t>(neighbour) * kClasses + column;
        sum += factor * y[from];
        magnitude += factor * magnitudes[from];
        inherited += factor * bounds[from];
      }
      const std::size_t cell = static_cast<std::size_t>(row) * kClasses + column;
      z.values[cell] = static_cast<double>(sum);
      z.magnitudes[cell] = static_cast<double>(magnitude);
      z.bounds[cell] =
          sum_bound(degree(graph, row) + kFactorRoundings, magnitude) + static_cast<double>(inherited);
    }
  }
  return z;
}

// An error of Z reaches O as itself and, through the logarithm, as at most the largest of its row.
Expected normalize(std::span<const double> z, std::span<const double> bounds) {
  Expected o{std::vector<double>(z.size()), std::vector<double>(z.size())};
  for (std::size_t row = 0; row < z.size(); row += kClasses) {
    const std::span from = z.subspan(row, kClasses), from_bounds = bounds.subspan(row, kClasses);
    const long double largest = *std::max_element(from.begin(), from.end());
    const double inherited = *std::max_element(from_bounds.begin(), from_bounds.end());
    long double sum = 0;
    for (const double value : from) sum += std::exp(value - largest);
    const long double log_of_sum = std::log(sum);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double magnitude = std::fabs(from[c]) + std::fabs(static_cast<double>(largest));
      o.values[row + c] = static_cast<double>(from[c] - largest - log_of_sum);
      // kUnit first: four times 1.6e308 would be infinite.
      o.bounds[row + c] =
          kUnit * kShiftRoundings * magnitude + kUnit * kLogOfSumRoundings + from_bounds[c] + inherited;
    }
  }
  return o;
}

}  // namespace

bool within(double got, double want, double bound) {
  return std::isfinite(got) && std::fabs(got - want) <= bound;
}

Expected transform(std::span<const double> x, std::span<const double> w) {
  Sums y = multiply(x, w);
  return {std::move(y.values), std::move(y.bounds)};
}

Expected aggregate(const Graph& graph, std::span<const double> y) {
  std::vector<double> magnitudes(y.size());
  std::transform(y.begin(), y.end(), magnitudes.begin(), [](double value) { return std::fabs(value); });
  Sums z = gather(graph, y, magnitudes, std::vector<double>(y.size()));
  return {std::move(z.values), std::move(z.bounds)};
}

Expected log_softmax(std::span<const double> z) {
  return normalize(z, std::vector<double>(z.size()));
}

Expected run(const Graph& graph, std::span<const double> x, std::span<const double> w) {
  const Sums y = multiply(x, w);
  const Sums z = gather(graph, y.values, y.magnitudes, y.bounds);
  return normalize(z.values, z.bounds);
}

}  // namespace warpgrade::gcn
