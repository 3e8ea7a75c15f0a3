// `warpgrade data stats A [B]`: degrees, imbalance, locality and reuse, side by side.
#include <fmt/core.h>

#include <memory>

#include "commands.h"
#include "matrix_argument.h"
#include "terminal.h"
#include "warpgrade/datasets/fit.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Share of accesses that an LRU cache of so many of B's rows would hold.
double hits_within(const Reuse& reuse, std::size_t log2_rows) {
  double hits = 0;
  for (std::size_t bucket = 0; bucket <= log2_rows && bucket < reuse.histogram.size(); ++bucket)
    hits += reuse.histogram[bucket];
  return hits;
}

struct Line {
  const char* name;
  std::string (*value)(const Statistics&);
};

constexpr Line kLines[] = {
    {"rows", [](const Statistics& s) { return grouped(s.rows); }},
    {"entries", [](const Statistics& s) { return grouped(s.nnz); }},
    {"pattern", [](const Statistics& s) { return std::string(s.symmetric ? "symmetric" : "not symmetric"); }},
    {"row length, mean", [](const Statistics& s) { return fmt::format("{:.2f}", s.row_degrees.mean); }},
    {"  median", [](const Statistics& s) { return grouped(s.row_degrees.median); }},
    {"  99 %", [](const Statistics& s) { return grouped(s.row_degrees.p99); }},
    {"  longest", [](const Statistics& s) { return grouped(s.row_degrees.max); }},
    {"  empty", [](const Statistics& s) { return grouped(s.row_degrees.empty); }},
    {"  Gini", [](const Statistics& s) { return fmt::format("{:.3f}", s.row_degrees.gini); }},
    {"column, most entries", [](const Statistics& s) { return grouped(s.column_degrees.max); }},
    {"  Gini", [](const Statistics& s) { return fmt::format("{:.3f}", s.column_degrees.gini); }},
    {"lanes at work, a row each", [](const Statistics& s) { return percent(s.warp_efficiency); }},
    {"within 1 % of the diagonal", [](const Statistics& s) { return percent(s.diagonal_band); }},
    {"within communities", [](const Statistics& s) { return percent(s.community); }},
    {"  their nodes, median entry", [](const Statistics& s) { return grouped(s.community_nodes); }},
    {"reuse distance, median", [](const Statistics& s) { return grouped(s.reuse.median); }},
    {"  first accesses", [](const Statistics& s) { return percent(s.reuse.cold); }},
    {"  hits, LRU of 2^10 rows", [](const Statistics& s) { return percent(hits_within(s.reuse, 10)); }},
    {"  hits, LRU of 2^14 rows", [](const Statistics& s) { return percent(hits_within(s.reuse, 14)); }},
    {"  hits, LRU of 2^18 rows", [](const Statistics& s) { return percent(hits_within(s.reuse, 18)); }},
};

void stats(const DataCommandContext& context, const std::vector<std::string>& names, bool as_json,
           bool communities) {
  std::vector<Statistics> all;
  std::vector<std::string> heads;
  for (const std::string& name : names) {
    const MatrixArgument matrix(context, name);
    all.push_back(
        statistics_of(matrix.cols(), matrix.row_offsets(), matrix.columns(), {.communities = communities}));
    heads.push_back(matrix.name());
  }
  if (as_json) {
    for (std::size_t i = 0; i < all.size(); ++i) fmt::print("{}\n", to_json(all[i], heads[i]));
    return;
  }
  fmt::print("{:<28}", "");
  for (const std::string& head : heads) fmt::print(" {:>20}", head);
  fmt::print("\n");
  for (const Line& line : kLines) {
    fmt::print("{:<28}", line.name);
    for (const Statistics& s : all) fmt::print(" {:>20}", line.value(s));
    fmt::print("\n");
  }
  if (all.front().reuse.sampled < 1)
    fmt::print("reuse: {} of the columns were followed\n", percent(all.front().reuse.sampled));
  if (all.size() == 2)
    fmt::print("reuse histograms lie {:.2f} octaves apart\n", reuse_distance(all[0].reuse, all[1].reuse));
}

}  // namespace

void add_data_stats(CLI::App& data, DataCommandContext& context) {
  struct StatsArguments {
    std::vector<std::string> names;
    bool json = false, no_communities = false;
  };
  const auto arguments = std::make_shared<StatsArguments>();
  CLI::App* command =
      data.add_subcommand("stats", "degrees, imbalance, locality and reuse, of two side by side");
  command->add_option("datasets", arguments->names, "names of the catalogue, or files")
      ->required()
      ->expected(1, 4);
  command->add_flag("--json", arguments->json, "one JSON object a line, with the histograms");
  command->add_flag("--no-communities", arguments->no_communities, "leave out what takes longest");
  command->callback([&context, arguments] {
    stats(context, arguments->names, arguments->json, !arguments->no_communities);
  });
}

}  // namespace warpgrade::datasets
