// `warpgrade data plot A [B]`: degrees, locality and reuse as a figure, drawn by the reports' package.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/reports_module.h"
#include "commands.h"
#include "matrix_argument.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void plot(const DataCommandContext& context, const std::vector<std::string>& names, const fs::path& output) {
  std::string lines;
  for (const std::string& name : names) {
    const MatrixArgument matrix(context, name);
    // Communities take longest, and are one number: `data stats` has it.
    lines +=
        to_json(statistics_of(matrix.cols(), matrix.row_offsets(), matrix.columns(), {.communities = false}),
                matrix.name()) +
        "\n";
  }
  const TemporaryDirectory scratch("warpgrade-plot");
  const fs::path input = scratch.path() / "statistics.jsonl";
  write_text(input, lines);
  run_reports_module("warpgrade_reports.dataset_plot", {input.string(), "--output", output.string()});
  fmt::print("figure: {}\n", output.string());
}

}  // namespace

void add_data_plot(CLI::App& data, DataCommandContext& context) {
  struct PlotArguments {
    std::vector<std::string> names;
    fs::path output = "datasets.png";
  };
  const auto arguments = std::make_shared<PlotArguments>();
  CLI::App* command =
      data.add_subcommand("plot", "degrees, locality and reuse of one to four matrices as a PNG");
  command->add_option("datasets", arguments->names, "names of the catalogue, or files")
      ->required()
      ->expected(1, 4);
  command->add_option("--out,--output", arguments->output, "the figure")->capture_default_str();
  command->callback([&context, arguments] { plot(context, arguments->names, arguments->output); });
}

}  // namespace warpgrade::datasets
