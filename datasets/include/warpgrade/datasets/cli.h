// `warpgrade data list | info | import`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

namespace warpgrade::datasets {

struct DataCommandContext {
  std::filesystem::path catalog_file;
  std::filesystem::path cache_directory;
};

// Adds the command `data`; its callbacks print, and throw DatasetError. `context` must outlive the app.
void add_data_commands(CLI::App& app, DataCommandContext& context);

}  // namespace warpgrade::datasets
