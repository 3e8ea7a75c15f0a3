// The real graphs, against the sizes that their MANIFEST.tsv gives. Skipped where they are not on
// the machine.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "test_support.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/fit.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct ManifestRow {
  std::string name, kind;
  int nodes = 0, largest_degree = 0;
  std::int64_t entries = 0, symmetric_nnz = 0;
};

std::vector<ManifestRow> read_manifest(const fs::path& file) {
  std::vector<ManifestRow> rows;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);  // the columns' names
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    ManifestRow row;
    double mean = 0;
    fields >> row.name >> row.kind >> row.nodes >> row.entries >> row.symmetric_nnz >> mean >>
        row.largest_degree;
    if (fields) rows.push_back(row);
  }
  return rows;
}

struct OffDiagonal {
  std::int64_t entries = 0;
  int longest = 0;  // of a row
};

OffDiagonal off_diagonal(const Csr& matrix) {
  OffDiagonal rest;
  for (int row = 0; row < matrix.rows; ++row) {
    int length = 0;
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i)
      length += matrix.columns[i] != row ? 1 : 0;
    rest.entries += length;
    rest.longest = std::max(rest.longest, length);
  }
  return rest;
}

// A directed graph's edges in both directions, once each: what the manifest counts.
Csr symmetric(const Csr& matrix) {
  std::vector<std::pair<int, int>> edges;
  edges.reserve(2 * matrix.columns.size());
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
      edges.emplace_back(row, matrix.columns[i]);
      edges.emplace_back(matrix.columns[i], row);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Csr both{matrix.rows, matrix.cols, std::vector<int>(matrix.row_offsets.size()), {}, {}};
  for (const auto& [from, to] : edges) {
    ++both.row_offsets[static_cast<std::size_t>(from) + 1];
    both.columns.push_back(to);
  }
  std::partial_sum(both.row_offsets.begin(), both.row_offsets.end(), both.row_offsets.begin());
  return both;
}

fs::path folder_of_graphs() {
  const std::vector<fs::path> folders = Catalog::load(WARPGRADE_CATALOG).graph_folders();
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / "MANIFEST.tsv")) return folder;
  }
  return {};
}

TEST(RealGraphs, HaveTheSizesOfTheManifest) {
  const fs::path folder = folder_of_graphs();
  if (folder.empty()) GTEST_SKIP() << "no folder of graphs: set WARPGRADE_GRAPHS to one with a MANIFEST.tsv";
  const auto rows = read_manifest(folder / "MANIFEST.tsv");
  ASSERT_EQ(rows.size(), 13u);
  for (const ManifestRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Csr matrix = import_file(folder / (row.name + ".mtx.gz"));
    expect_valid(matrix);
    EXPECT_EQ(matrix.rows, row.nodes);
    EXPECT_EQ(matrix.cols, row.nodes);
    if (row.kind == "directed") {
      EXPECT_EQ(matrix.nnz(), row.entries);
      const OffDiagonal both = off_diagonal(symmetric(matrix));
      EXPECT_EQ(both.entries, row.symmetric_nnz);
      EXPECT_EQ(both.longest, row.largest_degree);
      continue;
    }
    const OffDiagonal rest = off_diagonal(matrix);
    EXPECT_EQ(rest.entries, row.symmetric_nnz);
    EXPECT_EQ(rest.longest, row.largest_degree);
    EXPECT_EQ(rest.entries / 2 + (matrix.nnz() - rest.entries), row.entries);
  }
}

TEST(RealGraphs, AreInTheCatalogueWithTheirNodes) {
  const fs::path folder = folder_of_graphs();
  if (folder.empty()) GTEST_SKIP() << "no folder of graphs: set WARPGRADE_GRAPHS to one with a MANIFEST.tsv";
  const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  for (const ManifestRow& row : read_manifest(folder / "MANIFEST.tsv")) {
    EXPECT_EQ(catalog.find(row.name).n, row.nodes) << row.name;
  }
}

// What `data list` prints must be what `data info` finds, diagonals included.
TEST(RealGraphs, HaveTheEntriesThatTheCatalogueSays) {
  const fs::path folder = folder_of_graphs();
  if (folder.empty()) GTEST_SKIP() << "no folder of graphs: set WARPGRADE_GRAPHS to one with a MANIFEST.tsv";
  const Catalog catalog = Catalog::load(WARPGRADE_CATALOG);
  for (const ManifestRow& row : read_manifest(folder / "MANIFEST.tsv")) {
    const DatasetInfo info = catalog.find(row.name);
    if (info.nnz == 0 || info.file.empty()) continue;
    EXPECT_EQ(info.nnz, import_file(folder / info.file).nnz()) << row.name;
  }
}

// Distances, copies and communities pull at each other; a fit has to come near in all of them.
TEST(RealGraphs, AFittedStandInHasTheGraphsCommunitiesDegreesAndReuse) {
  const fs::path file = folder_of_graphs() / "cora.mtx.gz";
  if (!fs::exists(file)) GTEST_SKIP() << "no folder of graphs: set WARPGRADE_GRAPHS";
  const Csr graph = import_file(file);
  const Fit fit = fit_standin(graph.row_offsets, graph.columns);
  EXPECT_EQ(fit.standin.row_degrees.max, fit.real.row_degrees.max);
  EXPECT_NEAR(fit.standin.row_degrees.gini, fit.real.row_degrees.gini, 0.02);
  EXPECT_NEAR(fit.standin.community, fit.real.community, 0.1);
  EXPECT_NEAR(fit.standin.diagonal_band, fit.real.diagonal_band, 0.06);
  EXPECT_LT(fit.reuse_distance, 0.35);
}

}  // namespace
}  // namespace warpgrade::datasets
