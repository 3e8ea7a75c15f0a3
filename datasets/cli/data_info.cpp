// `warpgrade data info NAME`: shape, rows and hash of a dataset or a file.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "terminal.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void info(const DataCommandContext& context, const std::string& name) {
  fs::path file = name;
  if (!fs::exists(file)) {
    const Catalog catalog = Catalog::load(context.catalog_file);
    const DatasetInfo entry = catalog.find(name);
    fmt::print("{}: {}\n", entry.name, entry.kind);
    if (!entry.source.empty()) fmt::print("source    {}\n", entry.source);
    if (!entry.licence.empty()) fmt::print("licence   {}\n", entry.licence);
    file = catalog.ensure(name, context.cache_directory, terminal_progress());
  }
  const CsrFile matrix = CsrFile::open(file);
  matrix.verify();
  const auto offsets = matrix.row_offsets();
  int longest = 0, empty = 0;
  for (int row = 0; row < matrix.rows(); ++row) {
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
    empty += offsets[row + 1] == offsets[row] ? 1 : 0;
  }
  fmt::print(
      "file      {}\nshape     {} x {}, {} entries\nrows      mean {:.2f}, longest {}, {} empty\nhash      "
      "{}\n",
      file.string(), matrix.rows(), matrix.cols(), matrix.nnz(),
      matrix.rows() > 0 ? static_cast<double>(matrix.nnz()) / matrix.rows() : 0.0, longest, empty,
      matrix.content_hash());
  if (!matrix.origin().generator.empty()) fmt::print("generator {}\n", matrix.origin().generator);
}

}  // namespace

void add_data_info(CLI::App& data, DataCommandContext& context) {
  const auto name = std::make_shared<std::string>();
  CLI::App* command =
      data.add_subcommand("info", "shape, rows and hash of a dataset or file; makes it when absent");
  command->add_option("name", *name, "a name of the catalogue, or an .npz file")->required();
  command->callback([&context, name] { info(context, *name); });
}

}  // namespace warpgrade::datasets
