// `datasets_tool data ...`: the room's commands without the rest of Warpgrade, for the Python tests.
#include <fmt/core.h>

#include <filesystem>

#include "warpgrade/datasets/cli.h"
#include "warpgrade/datasets/error.h"

int main(int argc, char** argv) {
  CLI::App app("The datasets room's commands");
  warpgrade::datasets::DataCommandContext context;
  app.add_option("--catalog", context.catalog_file)->required();
  app.add_option("--cache", context.cache_directory)->required();
  add_data_commands(app, context);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const warpgrade::datasets::DatasetError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}
