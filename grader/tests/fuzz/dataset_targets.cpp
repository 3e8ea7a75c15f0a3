// Graphs of other programs: single files by each format, and folders of several files.
#include <cmath>

#include "container.h"
#include "support.h"
#include "targets.h"
#include "warpgrade/datasets/error.h"
#include "warpgrade/datasets/import.h"
#include "warpgrade/datasets/raw_layer.h"

namespace warpgrade::fuzz {
namespace fs = std::filesystem;
using namespace datasets;
namespace {

void expect_matrix(const Csr& matrix) {
  expect(matrix.row_offsets.size() == static_cast<std::size_t>(matrix.rows) + 1 &&
             matrix.row_offsets.front() == 0 && matrix.row_offsets.back() == matrix.nnz() &&
             matrix.values.size() == matrix.columns.size(),
         "a matrix whose arrays do not fit together");
  for (int row = 0; row < matrix.rows; ++row) {
    expect(matrix.row_offsets[row] <= matrix.row_offsets[row + 1], "a row that ends before it begins");
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
      expect(matrix.columns[i] >= 0 && matrix.columns[i] < matrix.cols, "a column out of range");
      expect(std::isfinite(matrix.values[i]), "a value that is not finite");
    }
  }
}

void import(const fs::path& path, Format format) {
  ImportOptions options;
  options.format = format;
  reads<DatasetError>([&] { expect_matrix(import_file(path, options, nullptr)); });
}

}  // namespace

// The first byte chooses the format.
void graph_file(std::string_view input) {
  if (input.empty()) return;
  constexpr Format kFormats[] = {Format::kAuto,    Format::kMatrixMarket,  Format::kEdgeList,
                                 Format::kContest, Format::kContestBinary, Format::kDimacs,
                                 Format::kNpz};
  constexpr const char* kNames[] = {"a", "a.mtx", "a.txt", "a.txt", "a.bin", "a.gr", "a.npz"};
  const std::size_t which = static_cast<unsigned char>(input[0]) % std::size(kFormats);
  const fs::path file = only_file(input.substr(1), kNames[which]);
  import(file, kFormats[which]);
  reads<DatasetError>([&] { list_container(file); });
  reads<DatasetError>([&] { CsrFile::open(file).verify(); });
}

void graph_folder(std::string_view input) {
  const fs::path& folder = folder_of(input);
  import(folder, Format::kAuto);
  import(folder, Format::kOgb);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".graph") import(entry.path(), Format::kBvGraph);
    if (entry.path().extension() == ".graph" || entry.path().extension() == ".config" ||
        entry.path().extension() == ".ptrdump")
      import(entry.path(), Format::kCourse);
  }
  reads<DatasetError>([&] { read_raw_layer(folder, 3, 2); });
  reads<DatasetError>([&] { import_wordnet(folder); });
  reads<DatasetError>([&] { import_debian_packages(folder); });
}

}  // namespace warpgrade::fuzz
