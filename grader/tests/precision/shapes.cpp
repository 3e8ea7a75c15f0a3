#include "precision/shapes.h"

#include <algorithm>

#include "judge/labs/registry.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::spmm {
namespace {

constexpr int kSamples = 20000;  // of a stand-in's rows

// Lengths at evenly spaced ranks, the longest first.
std::vector<std::int64_t> lengths_of(const datasets::DegreeCurve& curve, int n) {
  std::vector<std::int64_t> lengths;
  std::size_t at = 0;
  for (int i = 0; i < std::min(n, kSamples); ++i) {
    const std::int64_t rank = static_cast<std::int64_t>(i) * (n - 1) / std::max(1, std::min(n, kSamples) - 1);
    while (at + 2 < curve.points.size() && curve.points[at + 1].rank < rank) ++at;
    const auto &left = curve.points[at], &right = curve.points[std::min(at + 1, curve.points.size() - 1)];
    const std::int64_t width = std::max<std::int64_t>(1, right.rank - left.rank);
    lengths.push_back(left.degree + (right.degree - left.degree) * (rank - left.rank) / width);
  }
  return lengths;
}

std::vector<std::int64_t> lengths_of(const datasets::DatasetInfo& info) {
  if (info.outline)
    return lengths_of(spec_of(*info.outline, info.outline->n, info.outline->nnz).row_degrees,
                      info.outline->n);
  if (info.standin) return lengths_of(info.standin->row_degrees, info.standin->n);
  const datasets::PowerlawSpec& spec = *info.powerlaw;
  const std::int64_t most = std::min<std::int64_t>(spec.n, spec.nnz / 64);
  return lengths_of(datasets::power_curve(spec.n, spec.nnz, most, 0, spec.skew), spec.n);
}

void add_row(Matrix& matrix, std::int64_t length, std::uint64_t seed) {
  const auto cols = static_cast<std::uint64_t>(matrix.cols);
  for (std::int64_t e = 0; e < length; ++e)
    matrix.columns.push_back(static_cast<int>(random_bits(seed, static_cast<std::uint64_t>(e)) % cols));
  matrix.row_offsets.push_back(static_cast<int>(matrix.columns.size()));
}

}  // namespace

std::vector<Shape> timed_shapes(const std::filesystem::path& catalogue, bool with_graphs) {
  const auto catalog = datasets::Catalog::load(catalogue);
  std::vector<Shape> shapes;
  for (const Case& spec : find_lab("spmm").cases()) {
    if (spec.width == 32 && spec.set == "stand-in")
      shapes.push_back({spec.dataset, lengths_of(catalog.find(spec.dataset))});
  }
  if (!with_graphs) return shapes;
  for (const auto& folder : catalog.graph_folders()) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with(".mtx.gz")) continue;
      const datasets::Csr matrix = datasets::import_file(entry.path());
      Shape shape{file.substr(0, file.size() - 7), {}};
      for (std::size_t row = 0; row + 1 < matrix.row_offsets.size(); ++row)
        shape.lengths.push_back(matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
      std::sort(shape.lengths.rbegin(), shape.lengths.rend());
      shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

Matrix draw_matrix(const Shape& shape, std::uint64_t seed, std::int64_t entries, int longest_of,
                   std::int64_t most) {
  std::vector<std::int64_t> lengths;
  if (random_bits(seed, 0) % static_cast<std::uint64_t>(longest_of) == 0)
    lengths.push_back(std::min(most, shape.lengths.front()));
  std::int64_t sum = 0;
  for (std::uint64_t i = 1; sum < entries; ++i) {
    lengths.push_back(std::min(most, shape.lengths[random_bits(seed, i) % shape.lengths.size()]));
    sum += lengths.back() + 1;
  }
  Matrix matrix;
  matrix.cols = static_cast<int>(*std::max_element(lengths.begin(), lengths.end())) + 64;
  for (std::size_t row = 0; row < lengths.size(); ++row) add_row(matrix, lengths[row], mix_bits(seed + row));
  return matrix;
}

Matrix even_matrix(int rows, int length, std::uint64_t seed) {
  Matrix matrix;
  matrix.cols = length + 64;
  for (int row = 0; row < rows; ++row)
    add_row(matrix, length, mix_bits(seed + static_cast<std::uint64_t>(row)));
  return matrix;
}

}  // namespace warpgrade::spmm
