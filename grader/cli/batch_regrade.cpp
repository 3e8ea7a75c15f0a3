// `warpgrade regrade`: some of a batch is judged anew.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "cli/batch_commands.h"
#include "course/batch/nodes.h"
#include "course/record/superseded.h"
#include "course/slurm/cluster.h"
#include "course/slurm/rounds.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct RegradeOptions {
  fs::path run;
  std::vector<std::string> only, cases, verdicts;
  std::optional<fs::path> site;
  std::optional<std::string> same_node;  // a student: judged again where they were judged
  bool quiet = false;
};

bool any_match(const std::vector<std::string>& patterns, const std::string& name) {
  if (patterns.empty()) return true;
  for (const std::string& pattern : patterns)
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

// Ids of submissions that the patterns mean: by their own id, their title, or a student whom they count for.
std::set<std::string> meant_submissions(const json& run, const std::vector<std::string>& patterns) {
  std::set<std::string> ids;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    bool meant = any_match(patterns, id) || any_match(patterns, submission.value("title", id)) ||
                 any_match(patterns, submission.value("student", id));
    for (const json& member : submission.value("members", json::array()))
      meant = meant || any_match(patterns, member.get<std::string>());
    if (meant) ids.insert(id);
  }
  return ids;
}

// What one regrade is about: the records that it has moved aside, under superseded/<n>, and what it
// was asked.
class Superseded {
 public:
  // The latest one when it was asked the same and has not come to its end, else a new one.
  Superseded(const RunFolder& folder, json request) : folder_(folder), request_(std::move(request)) {
    number_ = latest_superseded(folder_);
    if (!is_unfinished()) ++number_;
  }

  bool has(const std::string& id, const std::string& case_id) const {
    return fs::exists(place() / id / (case_id + ".json"));
  }
  void take(const std::string& id, const std::string& case_id) const {
    if (!fs::exists(request_file())) begin_superseded(folder_, with_end(false));
    supersede(folder_, number_, id, case_id);
  }
  void note(bool ended) const { write_superseded_request(folder_, number_, with_end(ended)); }
  fs::path place() const { return superseded_folder(folder_, number_); }

  struct Count {
    int all = 0, missing = 0;  // of which not judged again so far
  };
  Count count() const {
    Count count;
    std::error_code none;
    for (const auto& submission : fs::directory_iterator(place(), none)) {
      if (!submission.is_directory()) continue;
      for (const auto& record : fs::directory_iterator(submission.path())) {
        ++count.all;
        if (!folder_.has_record(submission.path().filename().string(), record.path().stem().string()))
          ++count.missing;
      }
    }
    return count;
  }

 private:
  json with_end(bool ended) const {
    json kept = request_;
    kept["ended"] = ended;
    return kept;
  }
  fs::path request_file() const { return place() / "request.json"; }
  bool is_unfinished() const {
    if (number_ == 0 || !fs::exists(request_file())) return false;
    json kept = json::parse(read_text(request_file()), nullptr, false);
    if (!kept.is_object()) return false;
    const bool ended = kept.value("ended", true) && count().missing == 0;
    kept.erase("ended");
    return kept == request_ && !ended;
  }

  const RunFolder& folder_;
  json request_;
  int number_ = 0;
};

// The node that judged all of these submissions last.
std::string node_of(const RunFolder& folder, const json& batch, const std::string& student,
                    const std::set<std::string>& meant) {
  if (batch.at("executor") != "slurm")
    throw UsageError("--same-node is for a run on a cluster: this one is judged on one machine");
  std::set<std::string> nodes;
  for (const std::string& id : meant) {
    nodes.insert(judging_node(folder, id));
  }
  nodes.erase("");
  if (nodes.size() != 1)
    throw UsageError(
        "--same-node {}: expected one node that judged this student, found {}; {}", student,
        nodes.empty() ? "none" : fmt::format("{}", fmt::join(nodes, ", ")),
        nodes.empty() ? "`warpgrade status` shows what the run holds" : "name one submission by its id");
  const Site site = Site::from_json(batch.at("site"));
  if (names_node(site.judge.exclude, *nodes.begin()))
    throw UsageError(
        "--same-node {}: {} judged this student, and {} excludes it (judge: exclude: {}); take it out of "
        "`exclude`, or judge on any node with --only",
        student, *nodes.begin(), site.file, site.judge.exclude);
  return *nodes.begin();
}

// Verdicts are never overwritten: those to be found anew are moved aside, and the batch goes on. The same
// command after an interruption goes on with that and moves nothing twice.
int regrade(RegradeOptions options) {
  if (options.same_node) options.only = {*options.same_node};
  if (options.only.empty() && options.verdicts.empty() && options.cases.empty())
    throw UsageError(
        "tell what to judge again: give --only SUBMISSIONS, --cases CASES or --verdict VERDICTS");
  const RunFolder folder(options.run);
  json batch = read_batch(folder);
  if (options.site) batch["site"] = Site::read(*options.site).to_json();
  auto lock = std::make_unique<RunLock>(folder);  // whoever judges here is not disturbed
  const Superseded aside(folder,
                         {{"only", options.only}, {"cases", options.cases}, {"verdicts", options.verdicts}});
  const std::set<std::string> meant = meant_submissions(folder.read_run(), options.only);
  const std::string node = options.same_node ? node_of(folder, batch, *options.same_node, meant) : "";
  if (options.site) keep_site(folder, *options.site, batch);  // not of a call that is refused
  for (const Record& record : folder.read_records({"submission/id", "case/id", "outcome/verdict"})) {
    const std::string &id = record.submission.id, &case_id = record.test_case.id;
    if (meant.contains(id) && any_match(options.cases, case_id) &&
        any_match(options.verdicts, std::string(word_of(record.outcome.verdict))) &&
        folder.has_record(id, case_id) && !aside.has(id, case_id))
      aside.take(id, case_id);
  }
  if (!fs::exists(aside.place()))
    throw UsageError(
        "no record of {} fits --only, --cases and --verdict; `warpgrade status` shows what the run holds",
        folder.root().string());
  const auto count = aside.count();
  tell("{} records are judged again, {} of them are to come; the old ones are kept in {}\n", count.all,
       count.missing, aside.place().string());
  lock.reset();
  const int code = continue_batch(options.run, batch, options.quiet, node);
  if (code == kExitGraded) aside.note(true);
  return code;
}

}  // namespace

void add_regrade_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<RegradeOptions>();
  CLI::App* command = app.add_subcommand("regrade", "judge some of a batch anew");
  command->add_option("run", options->run, "a run's folder")->required();
  command->add_option("--only", options->only, "ids or names of students, teams or submissions; * matches")
      ->delimiter(',');
  command->add_option("--cases", options->cases, "ids of cases; * matches")->delimiter(',');
  command->add_option("--verdict", options->verdicts, "those with this verdict")->delimiter(',');
  command
      ->add_option("--same-node", options->same_node,
                   "a student or submission, judged again on the cluster's node that judged it")
      ->excludes("--only");
  command->add_option("--site", options->site, "YAML: other settings of the cluster, from now on");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options, &code] { code = regrade(*options); });
}

}  // namespace warpgrade
