#include "course/desk/housekeeping.h"

#include <fmt/core.h>

#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"
#include "base/reports_module.h"
#include "course/desk/open_cases.h"
#include "course/exports/exports.h"
#include "course/feedback/view.h"
#include "judge/judging/lab.h"
#include "judge/labs/registry.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr double kPageOfCancelled = 300;  // seconds

std::int64_t bytes_below(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code none;  // what goes meanwhile counts nothing
  for (auto at = fs::recursive_directory_iterator(folder, none); !none && at != fs::end(at);
       at.increment(none)) {
    std::error_code gone;
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    const auto size = at->file_size(gone);
    if (!gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

json view_of(const Queue& queue, const Request& run) {
  const fs::path file = queue.folder_of(run.id) / "view.json";
  json view = fs::exists(file) ? json::parse(read_text(file), nullptr, false) : json();
  return view.is_object() ? view : json();
}

// By student, of each the last run; null where its files are gone.
std::map<std::string, json> last_views(const Queue& queue, const std::vector<Request>& runs) {
  std::map<std::string, json> views;
  for (const Request& run : runs) views[run.student] = view_of(queue, run);
  return views;
}

// By student, of each the best run. What is known is kept in `file`, since a run's files go one day, and so
// that no run is read twice.
std::map<std::string, json> best_views(const Queue& queue, const std::vector<Request>& runs,
                                       const std::vector<std::string>& cases, const fs::path& file) {
  json known = fs::exists(file) ? json::parse(read_text(file), nullptr, false) : json();
  if (!known.is_object() || known.value("cases", json()) != json(cases))
    known = {{"cases", cases}, {"seen", json::array()}, {"views", json::object()}};
  std::set<std::int64_t> seen = known.at("seen");
  json& views = known.at("views");
  for (const Request& run : runs) {
    if (!seen.insert(run.id).second) continue;
    json view = view_of(queue, run);
    if (!view.is_null() && (!views.contains(run.student) || !stands_above(views[run.student], view)))
      views[run.student] = std::move(view);
  }
  known["seen"] = seen;
  write_text(file, json_text(known) + "\n");
  return views.get<std::map<std::string, json>>();
}

// Each under its student's pseudonym.
Views named_views(const Queue& queue, std::map<std::string, json> by_student) {
  json people = json::array();
  for (const auto& [student, view] : by_student) people.push_back({{"id", student}});
  const auto names = pseudonyms(pseudonym_key(queue.desk()), {{"submissions", people}});
  Views views;
  for (auto& [student, view] : by_student) {
    if (view.is_null()) continue;
    view["pseudonym"] = names.at(student);
    view["run"] = "desk";
    views.push_back(std::move(view));
  }
  return views;
}

// Of runs that judged all that is open: one of a single case, chosen by its student, says nothing of
// the others.
void write_leaderboard(const Queue& queue, const std::string& lab, const Policy& policy,
                       const fs::path& folder) {
  const Policy::Board& board = policy.visibility.board;
  const auto now = static_cast<std::int64_t>(now_s());
  const double before =
      board.is_frozen(now) ? static_cast<double>(board.frozen_from) : std::numeric_limits<double>::max();
  const std::vector<std::string> cases = open_cases(lab, policy, queue.setting("backend"));
  const std::vector<Request> runs = queue.latest_judged(lab, cases, before);
  std::string mark = policy.hash + (board.is_frozen(now) ? " frozen " : " ");
  for (const Request& run : runs) mark += std::to_string(run.id) + " ";
  const fs::path stamp = folder / ("." + lab);
  if (runs.empty() || (fs::exists(stamp) && read_text(stamp) == mark)) return;
  const Views views =
      named_views(queue, board.attempt == "best" ? best_views(queue, queue.all_judged(lab, cases, before),
                                                              cases, queue.desk() / ("best-" + lab + ".json"))
                                                 : last_views(queue, runs));
  if (views.empty()) return;
  make_directories(folder);
  const TemporaryDirectory scratch("warpgrade-leaderboard");
  write_text(scratch.path() / "board.json", json_text(leaderboard(views, board, now), 1) + "\n");
  run_reports_module("warpgrade_reports.leaderboard", {(scratch.path() / "board.json").string(), "--output",
                                                       (folder / (lab + ".html")).string()});
  write_text(stamp, mark);
}

std::set<std::string> labs_of(const Config& config) {
  std::set<std::string> labs;
  for (const auto& [lab, policy] : config.labs) labs.insert(lab);
  if (labs.empty())
    for (const Lab* lab : warpgrade::labs()) labs.insert(lab->name());
  return labs;
}

// One that is there already stays as it is: whoever watches the folder sees a change only where there is one.
void write_hand_in(const Queue& queue, const Request& run, const fs::path& folder) {
  const fs::path file = folder / (run.student + ".tar.gz"), stamp = folder / ("." + run.student);
  const fs::path from = queue.folder_of(run.id) / "submission.tar.gz";
  const std::string mark = std::to_string(run.id);
  if ((fs::exists(stamp) && read_text(stamp) == mark) || !fs::exists(from)) return;
  write_text(file, read_text(from));
  write_text(stamp, mark);
}

}  // namespace

void write_metrics(const Queue& queue, const Config& config) {
  const json counts = queue.counts();
  std::string text;
  const auto metric = [&](const char* name, const char* type, const char* help) {
    text += fmt::format("# HELP warpgrade_desk_{} {}\n# TYPE warpgrade_desk_{} {}\n", name, help, name, type);
  };
  metric("runs", "gauge", "Runs by state.");
  for (const char* state : {"queued", "running", "judged", "failed", "cancelled"})
    text +=
        fmt::format("warpgrade_desk_runs{{state=\"{}\"}} {}\n", state, counts.at(state).get<std::int64_t>());
  metric("wait_seconds", "gauge", "Seconds that the last 100 runs waited.");
  for (const auto& [quantile, key] : {std::pair("0.5", "wait_median_s"), std::pair("0.95", "wait_p95_s")})
    text += fmt::format("warpgrade_desk_wait_seconds{{quantile=\"{}\"}} {:.3f}\n", quantile,
                        counts.value(key, 0.0));
  metric("worker_busy", "gauge", "Whether a worker judges a run.");
  for (const Worker& worker : queue.workers())
    text += fmt::format("warpgrade_desk_worker_busy{{worker=\"{}\"}} {}\n", worker.name,
                        worker.request != 0 ? 1 : 0);
  metric("written_seconds", "gauge", "When this file was written, in seconds since 1970.");
  text += fmt::format("warpgrade_desk_written_seconds {:.0f}\n", now_s());
  write_text(config.metrics, text);
}

void write_hand_ins(const Queue& queue, const Config& config, const Log& log) {
  for (const std::string& lab : labs_of(config)) {
    try {
      const std::vector<Request> runs = queue.latest_judged(lab);
      if (runs.empty() || !config.policy(lab).remote.last_remote_counts) continue;
      const fs::path folder = queue.desk() / "hand-ins" / lab;
      make_directories(folder);
      for (const Request& run : runs) write_hand_in(queue, run, folder);
    } catch (const std::exception& error) {
      log.add("no_hand_ins", {{"lab", lab}, {"why", error.what()}});
    }
  }
}

void write_leaderboards(const Queue& queue, const Config& config, const Log& log) {
  for (const std::string& lab : labs_of(config)) {
    try {
      if (queue.latest_judged(lab).empty()) continue;
      if (const Policy policy = config.policy(lab); policy.visibility.leaderboard)
        write_leaderboard(queue, lab, policy, config.pages);
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {
      log.add("no_leaderboard", {{"lab", lab}, {"why", error.what()}});
    }
  }
}

// Of a run that was cancelled while it was judged, its student's connection may still fetch the page: what
// was handed in goes first.
void keep_what_counts(Queue& queue, std::int64_t id, const std::string& state) {
  const fs::path folder = queue.folder_of(id);
  if (state == "cancelled") {
    fs::remove(folder / "submission.tar.gz");
    remove_tree(folder / "run");
  }
  queue.set_kept(id, bytes_below(folder));
}

void remove_old_files(Queue& queue, const Config& config, const Log& log) {
  for (const std::int64_t id : queue.ended_and_not_measured())
    queue.set_kept(id, bytes_below(queue.folder_of(id)));
  log.turn_over();
  const double before = now_s() - 86400 * config.feedback_days;
  for (const Request& run : queue.ended_since(0, 0)) {
    if (!fs::exists(queue.folder_of(run.id))) continue;
    const bool cancelled = run.state == "cancelled" && run.ended < now_s() - kPageOfCancelled;
    if (run.ended > before && !cancelled) continue;
    queue.drop_files(run.id);
    log.add("removed", {{"run", run.id}, {"student", run.student}});
  }
}

}  // namespace warpgrade::desk
