// `warpgrade data list`: every dataset by name.
#include <fmt/core.h>

#include "commands.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {

void list(const DataCommandContext& context) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  fmt::print("{:<18} {:<10} {:>9} {:>10}  {}\n", "name", "kind", "n", "nnz", "what it exercises");
  for (const DatasetInfo& info : catalog.all()) {
    fmt::print("{:<18} {:<10} {:>9} {:>10}  {}\n", info.name, info.kind,
               info.n > 0 ? std::to_string(info.n) : "-", info.nnz > 0 ? std::to_string(info.nnz) : "-",
               info.exercises);
  }
}

}  // namespace

void add_data_list(CLI::App& data, DataCommandContext& context) {
  data.add_subcommand("list", "every dataset by name")->callback([&context] { list(context); });
}

}  // namespace warpgrade::datasets
