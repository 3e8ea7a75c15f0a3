// `warpgrade data ...`: the commands of the datasets room, to be hung under any CLI11 application.
//
//   data list                        the catalogue, with what the cache already has
//   data info NAME-or-FILE           one dataset: shape, row lengths, source, licence, hash
//   data make NAME...                put datasets into the cache
//   data import FILE [--name N] [--output F] [--compact-ids] [--symmetrize]
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iosfwd>

namespace warpgrade::datasets {

// What the commands act on. It must outlive the application's parse; set the fields before or by the
// application's own options. A command runs inside parse and throws DatasetError: print `error: <what()>`,
// exit 1.
struct DataCommandContext {
  std::filesystem::path catalog_path;  // <repository>/datasets/catalog.yaml
  std::filesystem::path cache_dir;     // see cache_directory()
  std::ostream* out = nullptr;         // results; null: std::cout
  std::ostream* err = nullptr;         // progress; null: std::cerr, and then only on a terminal
};

void add_data_commands(CLI::App& app, DataCommandContext& context);

}  // namespace warpgrade::datasets
