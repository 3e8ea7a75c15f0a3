// `datasets_tool data ...`: the room's commands without the rest of Warpgrade, for the Python tests.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "warpgrade/datasets/cli.h"

namespace {

// WARPGRADE_PRINT_PEAK: the memory that it took at most, for tests. VmHWM begins anew at exec, ru_maxrss
// does not.
void print_peak() {
  if (std::getenv("WARPGRADE_PRINT_PEAK") == nullptr) return;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:"))
      fmt::print(stderr, "peak {}\n", std::strtoll(line.c_str() + 6, nullptr, 10));
  }
}

}  // namespace

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
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  print_peak();
  return 0;
}
