// `warpgrade limits`: the least time that a GPU allows for each case, and who comes how near.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/commands.h"
#include "course/record/run_folder.h"
#include "course/score/limit.h"
#include "course/score/score.h"
#include "record/outcome.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kStaff = "optimized";  // the submission with a column of its own

struct CaseShares {
  json limit;
  std::map<std::string, double> by_submission;

  std::string staff() const {
    const auto found = by_submission.find(kStaff);
    return found == by_submission.end() ? "" : fmt::format("{:.1f} %", 100 * found->second);
  }
  std::string best_other() const {
    const auto best = std::ranges::max_element(
        by_submission, {}, [](const auto& entry) { return entry.first == kStaff ? -1 : entry.second; });
    return best == by_submission.end() || best->first == kStaff
               ? ""
               : fmt::format("{:.1f} % {}", 100 * best->second, best->first);
  }
};

struct RunShares {
  json rates;
  std::vector<std::string> order;  // of cases
  std::map<std::string, CaseShares> cases;
};

RunShares shares_of(const RunFolder& folder) {
  RunShares shares;
  KnownRates known;
  for (const Record& record : folder.read_records(score_fields())) {
    if (!record.outcome.accepted()) continue;
    const auto limit = limit_of_record(record, known.of(record));
    if (!limit) continue;
    const std::string& id = record.test_case.id;
    if (!shares.cases.contains(id)) shares.order.push_back(id);
    shares.cases[id].limit = *limit;
    shares.cases[id].by_submission[record.submission.id] = limit->at("share");
  }
  shares.rates = known.first();
  return shares;
}

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const RunShares& shares) {
  Rows rows{{"case", "at least, us", "bound by", kStaff, "best other"}};
  for (const std::string& id : shares.order) {
    const CaseShares& one = shares.cases.at(id);
    rows.push_back({id, fmt::format("{:.2f}", one.limit.at("us").get<double>()), one.limit.at("bound_by"),
                    one.staff(), one.best_other()});
  }
  return rows;
}

std::string markdown(const Rows& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& cell : rows[i]) text += "| " + cell + " ";
    text += "|\n";
    if (i == 0) text += "|---|--:|---|--:|---|\n";
  }
  return text;
}

int limits(const std::vector<fs::path>& runs, bool as_markdown) {
  for (const fs::path& path : runs) {
    const RunFolder folder(path);
    const json run = folder.read_run();
    const RunShares shares = shares_of(folder);
    if (shares.cases.empty())
      throw UsageError(
          "{}: no case was timed on a GPU of known rates: limits need a run with --backend cuda on one of "
          "the models in grader/course/profile/rates",
          path.string());
    const std::string device = shares.rates.at("device"), source = shares.rates.at("source");
    const Rows rows = rows_of(shares);
    if (as_markdown)
      fmt::print("## {} on an {}\n\n`{}`; rates: {}\n\n{}\n", run.at("lab").get<std::string>(), device,
                 path.generic_string(), source, markdown(rows));
    else
      fmt::print("{}: share of the least time that {} allows (rates: {})\n\n{}\n", path.string(), device,
                 source, format_table(rows));
  }
  return kExitGraded;
}

}  // namespace

void add_limits_command(CLI::App& app, int& code) {
  const auto runs = std::make_shared<std::vector<fs::path>>();
  const auto as_markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "limits", "the least time that the GPU allows for each case, and who comes how near");
  command->add_option("runs", *runs, "run folders, judged on a GPU")->required();
  command->add_flag("--markdown", *as_markdown, "tables for a page");
  command->callback([runs, as_markdown, &code] { code = limits(*runs, *as_markdown); });
}

}  // namespace warpgrade
