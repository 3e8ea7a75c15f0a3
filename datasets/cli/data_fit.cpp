// `warpgrade data fit GRAPH`: a stand-in's parameters from a real graph, and how near it comes.
#include <fmt/core.h>

#include <fstream>
#include <memory>
#include <utility>

#include "base/say.h"
#include "commands.h"
#include "matrix_argument.h"
#include "warpgrade/datasets/fit.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  const fs::path part = file.string() + ".part";
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) fs::rename(part, file, error);
  if (!out || error) {
    fs::remove(part, error);
    throw DatasetError("cannot write {}", file.string());
  }
}

// One row of datasets/README.md's table: real | stand-in.
void print_row(const std::string& name, const Fit& fit) {
  const Statistics &r = fit.real, &s = fit.standin;
  fmt::print(
      "| {} | {} / {} | {:.2f} / {:.2f} | {:.0f} / {:.0f} % | {:.0f} / {:.0f} % | {:.0f} / {:.0f} % | {} / "
      "{} | "
      "{:.2f} |\n",
      name, r.row_degrees.max, s.row_degrees.max, r.row_degrees.gini, s.row_degrees.gini,
      100 * r.warp_efficiency, 100 * s.warp_efficiency, 100 * r.diagonal_band, 100 * s.diagonal_band,
      100 * r.community, 100 * s.community, r.reuse.median, s.reuse.median, fit.reuse_distance);
  std::fflush(stdout);
}

void print_head() {
  fmt::print(
      "| graph | longest row | Gini of rows | lanes at work | near the diagonal | in communities | median "
      "reuse | octaves apart |\n|---|---|---|---|---|---|---|---|\n");
}

void fit_command(const DataCommandContext& context, const std::vector<std::string>& graphs,
                 const fs::path& folder, std::uint64_t seed, bool quiet) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  bool headed = false;
  for (const std::string& graph : graphs) {
    const MatrixArgument matrix(context, graph);
    if (matrix.rows() != matrix.cols())
      throw DatasetError("{} is {} x {}: stand-ins are square", matrix.name(), matrix.rows(), matrix.cols());
    const auto say = [&](const std::string& what) {
      if (!quiet) warpgrade::say("{}: {}\n", matrix.name(), what);
    };
    const Fit fit = fit_standin(matrix.row_offsets(), matrix.columns(), seed, say);
    if (!folder.empty()) write_text(folder / (matrix.name() + ".json"), to_json(fit.spec));
    if (!std::exchange(headed, true)) print_head();
    print_row(matrix.name(), fit);
  }
}

}  // namespace

void add_data_fit(CLI::App& data, DataCommandContext& context) {
  struct FitArguments {
    std::vector<std::string> graphs;
    fs::path output;
    std::uint64_t seed = 1;
    bool quiet = false;
  };
  const auto arguments = std::make_shared<FitArguments>();
  CLI::App* command =
      data.add_subcommand("fit", "a stand-in's parameters from real graphs; prints a table real / stand-in");
  command->add_option("graphs", arguments->graphs, "names of the catalogue, or files")->required();
  command->add_option("--output", arguments->output, "a folder for the parameters, GRAPH.json each");
  command->add_option("--seed", arguments->seed, "of the stand-in")->capture_default_str();
  command->add_flag("--quiet", arguments->quiet, "do not tell what is tried");
  command->callback([&context, arguments] {
    fit_command(context, arguments->graphs, arguments->output, arguments->seed, arguments->quiet);
  });
}

}  // namespace warpgrade::datasets
