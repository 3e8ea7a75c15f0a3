// `warpgrade batch RUN --add, --replace, --extend, --roster, --deadline, --attempts`: a class changes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/batch_commands.h"
#include "cli/grades.h"
#include "course/ingest/times.h"
#include "course/ingest/unpack.h"
#include "course/record/events.h"
#include "course/slurm/rounds.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

IngestOptions options_of(const BatchOptions& given, const json& batch) {
  IngestOptions ingesting = given.ingest;
  ingesting.source = batch.at("source").get<std::string>();
  ingesting.lab = batch.at("options").at("lab");
  return ingesting;
}

// Of what lies in the folder of a watched class the watch itself takes everything.
void refuse_where_watched(const ClassChange& change, const json& batch) {
  if (batch.contains("watch") && (change.add || !change.replace.empty()))
    throw UsageError("this class is watched: put the hand-in into {}, and the watch takes it in",
                     batch.at("source").get<std::string>());
}

// Tasks of a round know their submissions by the ids that it was planned with.
void refuse_while_a_round_runs(const RunFolder& folder, const json& batch) {
  if (batch.at("executor") != "slurm") return;
  EventLog events(folder.root());
  Rounds rounds(folder, Site::from_json(batch.at("site")), events);
  const int round = rounds.latest();
  if (round > 0 && !rounds.done(round))
    throw UsageError(
        "round {} of {} is on its way, and its tasks judge the class as it was: wait until it has ended "
        "(`warpgrade status` shows it), or end it with `warpgrade cancel {}`, and then change the class",
        round, folder.root().string(), folder.root().string());
}

// A later call that says again what the first one said changes nothing.
ClassChange without_repetition(ClassChange change, const json& batch, const json& taken) {
  if (change.attempts == taken.at("attempts_policy").get<std::string>()) change.attempts.reset();
  const json& asked = batch.at("asked");
  if (change.deadline && *change.deadline == asked.value("deadline", "")) change.deadline.reset();
  // A watched class reads its roster at each look.
  if (batch.contains("watch") && change.roster && identity_of(*change.roster) == asked.value("roster", ""))
    change.roster.reset();
  return change;
}

void print_differences(const std::vector<ClassDifference>& differences) {
  std::vector<std::vector<std::string>> rows{{"what", "who", "before", "after"}};
  for (const ClassDifference& line : differences)
    rows.push_back({line.what, line.who, line.before, line.after});
  tell("{}", format_table(rows));
}

json history_of(const std::vector<ClassDifference>& differences, const ClassChange& change) {
  json lines = json::array();
  const std::string at = format_time(std::time(nullptr));
  const std::string author = change.author.empty() ? default_author() : change.author;
  for (const ClassDifference& line : differences)
    lines.push_back({{"at", at},
                     {"author", author},
                     {"reason", change.reason},
                     {"action", line.what},
                     {"student", line.id},
                     {"text", fmt::format("{} -> {}", line.before, line.after)}});
  return lines;
}

bool is_confirmed(bool yes) {
  if (!yes && isatty(STDIN_FILENO) == 1) {
    tell("change the class so? [y/N] ");
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    yes = answer == "y" || answer == "yes";
  }
  if (!yes) tell("nothing was changed; add --yes to change it\n");
  return yes;
}

void note_in_batch(const ClassChange& change, json& batch) {
  json& asked = batch["asked"];
  if (change.roster) asked["roster"] = identity_of(*change.roster);
  if (change.attempts) asked["attempts"] = *change.attempts;
  if (change.deadline) asked["deadline"] = *change.deadline == "none" ? "" : *change.deadline;
}

}  // namespace

bool change_batch(const BatchOptions& given, const RunFolder& folder, json& batch) {
  const RunLock lock(folder);
  const json before = folder.read_class();
  const ClassChange change = without_repetition(given.change, batch, before);
  if (change.empty()) return true;
  refuse_where_watched(change, batch);
  refuse_while_a_round_runs(folder, batch);
  json after = changed_class(options_of(given, batch), change, folder);
  const std::vector<ClassDifference> differences = class_differences(before, after);
  if (differences.empty()) {
    if (change.add || !change.replace.empty() || !change.extend.empty())
      tell("nothing changes: the class is as this call would have it\n");
    return true;
  }
  print_differences(differences);
  if (change.reason.find_first_not_of(" \t\n") == std::string::npos)
    throw UsageError("a change of a class needs a --reason: the history keeps it. Nothing was changed");
  if (!is_confirmed(given.yes)) return false;
  for (json& line : history_of(differences, change)) after["changes"].push_back(std::move(line));
  write_class(folder, after);
  note_in_batch(change, batch);
  write_text(folder.batch_file(), batch.dump(1) + "\n");
  EventLog(folder.root())
      .progress("class_changed", fmt::format("{} changes: {}", differences.size(), change.reason));
  return true;
}

void print_new_hand_ins(const BatchOptions& given, const RunFolder& folder, const json& batch) {
  // Repositories are not fetched again for a look.
  if (!fs::is_directory(*given.source) && !looks_like_archive(*given.source)) return;
  ClassChange again;
  again.add = *given.source;
  IngestOptions ingesting = options_of(given, batch);
  ingesting.accept_unmatched = true;
  ingesting.layout = batch.at("asked").value("layout", "auto");
  const json before = folder.read_class();
  std::set<std::string> names;
  for (const ClassDifference& line : class_differences(before, changed_class(ingesting, again, folder)))
    if (line.what == "hand-in") names.insert(line.who);
  if (names.empty()) return;
  tell(
      "{} has hand-ins that this run does not have: {}. Take them in with: warpgrade batch {} --add {} "
      "--reason \"...\"\n",
      given.source->string(), fmt::join(names, ", "), folder.root().string(), given.source->string());
}

}  // namespace warpgrade
