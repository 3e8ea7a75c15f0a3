#include "course/slurm/rounds.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "base/waiting.h"
#include "course/batch/disk_retry.h"
#include "course/batch/grade_run.h"
#include "course/batch/publish.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

json Rounds::read_object(const fs::path& file) {
  json value = json::parse(read_text(file), nullptr, false);
  if (!value.is_object())
    throw UsageError("{} is damaged: expected a JSON object; move it away and run the same command again",
                     file.string());
  return value;
}

RunLock::RunLock(const RunFolder& folder) {
  const fs::path path = folder.root() / "batch.lock";
  file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) throw UsageError("cannot open {}: {}", path.string(), std::strerror(errno));
  lock_with_notice(file_.get(), path, "the run " + folder.root().string());
}

Rounds::Rounds(const RunFolder& folder, Site site, EventLog& events, std::string same_node)
    : folder_(fs::absolute(folder.root()).lexically_normal()),  // tasks start elsewhere
      site_(std::move(site)),
      events_(events),
      same_node_(std::move(same_node)),
      cluster_(site_, [this](const std::string& why) { events_.infrastructure("controller_silent", why); }) {}

fs::path Rounds::folder_of(int round) const {
  return folder_.root() / "rounds" / std::to_string(round);
}

int Rounds::latest() const {
  int round = 0;
  while (fs::exists(folder_of(round + 1) / "plan.json")) ++round;
  return round;
}

bool Rounds::done(int round) const {
  return fs::exists(folder_of(round) / "done.json");
}

json Rounds::plan_file(int round) const {
  return read_object(folder_of(round) / "plan.json");
}

RoundPlan Rounds::plan_of(int round) const {
  return RoundPlan::from_json(plan_file(round).at("plan"));
}

std::vector<std::string> Rounds::missing() const {
  const json run = folder_.read_run();
  std::vector<std::string> ids;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    const bool complete = std::all_of(run.at("cases").begin(), run.at("cases").end(), [&](const json& spec) {
      return folder_.has_record(id, spec.at("id"));
    });
    if (!complete) ids.push_back(id);
  }
  return ids;
}

std::vector<std::string> Rounds::live_jobs(int round) {
  return cluster_.jobs(fmt::format("{}", fmt::join(names_of(round), ",")), true);
}

std::string Rounds::advance() {
  const RunLock lock(folder_);
  const int round = latest();
  if (round > 0 && !done(round)) {
    if (!fs::exists(folder_of(round) / "submitted.json")) return submit(round);
    if (const auto live = live_jobs(round); !live.empty())
      return fmt::format("round {} is on its way: {} jobs wait or run; `warpgrade status` shows them", round,
                         live.size());
    return aggregate(round, false);
  }
  if (missing().empty()) return finish(round, {});
  plan(round + 1, round + 1);
  return submit(round + 1);
}

std::string Rounds::aggregate(int round, bool expected) {
  if (done(round)) return fmt::format("round {} is done", round);
  if (!expected)
    events_.infrastructure("aggregator_lost", "the round's tasks have ended and nobody had looked at them",
                           {{"round", round}});
  log_lost_tasks(round);
  log_unended_tasks(round);
  log_left_out_nodes(round);
  const int begun = plan_file(round).at("chain_begin");
  const bool is_last = round - begun + 1 >= site_.rounds + more_rounds(round);
  if (!is_last) judge_again_elsewhere(round);
  const std::vector<std::string> left = missing();
  if (left.empty() || is_last) return finish(round, left);
  plan(round + 1, begun);
  const std::string message = submit(round + 1);
  for (const std::string& id : left)
    events_.infrastructure("requeued", "cases without a verdict go into the next round",
                           {{"submission", id}, {"round", round}});
  write_text(folder_of(round) / "done.json", json{{"left", left}}.dump(1) + "\n");
  return message;
}

std::string Rounds::finish(int round, const std::vector<std::string>& left) {
  for (const std::string& id : left)
    events_.infrastructure(
        "gave_up",
        fmt::format(
            "{} rounds left cases without a verdict; look at the log, then run the same command again",
            site_.rounds),
        {{"submission", id}, {"round", round}});
  retry_when_disk_full(events_, true, [&] {
    note_device();
    folder_.collect();
    score_run(folder_, std::nullopt);
  });
  const std::string published = publish(folder_, events_);
  retry_when_disk_full(events_, true, [&] {
    if (round > 0) write_text(folder_of(round) / "done.json", json{{"left", left}}.dump(1) + "\n");
  });
  events_.progress("scored", fmt::format("{} submissions have cases without a verdict", left.size()));
  retry_when_disk_full(events_, true, [&] { collect_events(folder_); });
  return fmt::format("{}\n{}",
                     left.empty() ? "every case has a verdict; scores.json is written"
                                  : fmt::format("{} submissions have cases without a verdict", left.size()),
                     published);
}

// The submit host may have had no GPU: what the first judge found is the run's.
void Rounds::note_device() const {
  const fs::path claim = folder_.root() / "device.json";
  json run = folder_.read_run();
  if (!run.value("device", json::object()).empty() || !fs::exists(claim)) return;
  run["device"] = read_object(claim);
  folder_.write_run(run);
}

std::string Rounds::cancel() {
  const RunLock lock(folder_);
  const int round = latest();
  if (round == 0 || done(round)) return "nothing is under way";
  // First those behind, which would go on with a next round.
  const auto live = live_jobs(round);
  cluster_.cancel(
      cluster_.jobs(fmt::format("{},{}", name_of(round, "guard"), name_of(round, "aggregate")), true));
  cluster_.cancel(live);
  write_text(folder_of(round) / "done.json", json{{"left", missing()}, {"cancelled", true}}.dump(1) + "\n");
  events_.progress("cancelled", fmt::format("{} jobs were cancelled", live.size()), {{"round", round}});
  return fmt::format("{} jobs cancelled; what was recorded is kept, `warpgrade resume` goes on from there",
                     live.size());
}

}  // namespace warpgrade
