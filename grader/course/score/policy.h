// A policy: what a lab is worth. YAML, see grader/policies/spmm.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/case.h"
#include "record/record.h"

namespace warpgrade {

class YamlPlace;

// What a policy may speak of: its lab's words. All words of a policy are checked against these.
struct PolicyVocabulary {
  std::set<std::string> datasets, cases;  // the lab's: names, ids
  std::set<std::string> run_cases = {};   // ids of a run's, some of which its own policy may have added
  std::set<std::string> sets = {}, baselines = {};
  std::set<std::string> gpus = {};  // words of GPU models; empty: any word may be one
  // A run's own policy, which was read before: what it names besides does no harm.
  bool is_kept = false;
  std::string width = {};  // by which cases of one dataset differ: "K"; empty: they do not
  // The cases that the policy adds, from its list.
  std::function<std::vector<Case>(const YamlPlace& list)> read_cases = {};
};

// What there is of a student's way to the result, or what a policy asks of it (journey.h).
struct JourneyCounts {
  int versions = 0;  // states of the program
  int notes = 0;     // versions with a note
  int gains = 0;     // versions that are faster than the one before, beyond noise
  bool operator==(const JourneyCounts&) const = default;
};

struct Policy {
  std::string name, lab, baseline;
  std::set<std::string> secret_baselines;  // measured against, but never shipped to students
  std::string timezone = "UTC";            // of the course: how times without a zone are meant and shown
  double correctness_points = 40, speed_points = 60;
  double limit_points = 0;    // for the share of the least time that the device allows (limit.h)
  double journey_points = 0;  // for the way there; each part of `journey` that is not 0 is worth the same
  JourneyCounts journey;
  bool speed_needs_all_correct = true;
  // "executor": host code has no GPU and cannot forge a time; "any": `grade --direct` is allowed as well.
  std::string host_isolation = "executor";
  // "device": the device's time counts; "device_and_host": what host code does until its work is enqueued as
  // well, for the submission and for the baseline.
  std::string time = "device";
  const char* ratios_key() const { return time == "device" ? "ratios" : "ratios_with_host"; }
  const std::map<std::string, Ratio>& ratios_of(const Record& record) const {
    return record.ratios_by(time != "device");
  }
  // Points are earned only where the geometric mean of the speed-ups over each of these baselines reaches the
  // number; not asked where speed is not measured.
  std::map<std::string, double> faster_than;
  bool within_noise_passes = true;
  double partial_from = 0.5;  // below its threshold a case earns linearly from this share of it; 1: nothing

  // What handing in late costs. Days begin: an hour late is a day.
  struct Late {
    double grace_minutes = 0;         // nothing is lost within them
    double percent_per_day = 10;      // of the points
    double cap_percent = 100;         // never more than this,
    double max_days = 1e6;            // unless it is later than this: then everything
    double marked_days = 1;           // marked late by an LMS that does not say by how much
    double slip_days = 0;             // over the whole course: late for nothing
    bool slip_days_per_team = false;  // one budget a team, or each student has an own one
  };
  std::optional<Late> late;

  struct Limits {
    double compile_s = 120;
    std::map<std::string, double> run_s;    // a call, by backend
    std::map<std::string, double> case_s;   // all calls of a case, by backend
    std::set<std::string> forbidden_flags;  // compiler flags that submissions of this course may not ask for
    std::size_t host_memory_mb = 4096, device_memory_mb = 16384, output_kb = 256;
  } limits;

  // The class's anonymous list.
  struct Board {
    std::string attempt = "counts";  // of each student: the one that counts, the last, or the best
    bool cases = false;              // also a list for each case whose speed-up is shown
    int renew_s = 0;                 // the page asks for itself anew; 0: never
    // While it is frozen it shows what was handed in before: seconds since 1970; 0: it never is.
    std::int64_t frozen_from = 0, frozen_until = 0;
    // A freeze that is given by the class's deadline, in seconds before and after it: board_at() (board.h)
    // puts it on the clock.
    std::int64_t freeze_before_s = 0, freeze_after_s = 0;
    std::string frozen_from_text = {}, frozen_until_text = {};  // on the course's clocks
    bool is_frozen(std::int64_t now) const { return frozen_from <= now && now < frozen_until; }
  };

  // What a student may see of the own submission; grader/course/gradebook/README.md says what each
  // word gives.
  struct Visibility {
    std::set<std::string> open_sets{"public"};  // sets of cases that are shown in full
    bool hidden_verdicts = true;    // of the others: the verdict's kind, or only how many are correct
    bool hidden_names = true;       // their names, or "hidden 1", "hidden 2", ...
    bool speed = true;              // speed-ups and thresholds
    bool override_reasons = false;  // why a person set the points
    bool leaderboard = true;        // the class's anonymous list is made
    Board board;                    // and what it shows
  } visibility;

  // Students' own runs on the course's GPU; grader/course/desk/README.md says what each word does.
  struct Remote {
    std::set<std::string> cases{"public"};  // as `--cases` takes them: nobody's run judges any other
    int runs_per_hour = 12, runs_per_day = 60;
    int waiting = 1;       // a student's runs that wait or are judged, at a time
    double seconds = 600;  // a run's longest; cases that it has not reached by then are not judged
    bool last_remote_counts = false;
  } remote;

  // Words for cases: ids, datasets, sets.
  std::set<std::string> dropped;          // neither points nor gate
  std::map<std::string, double> weights;  // 1 where none is given
  // Points of a case that are fixed; the other cases share the rest by weight.
  struct Share {
    double correctness = 0, speed = 0, limit = 0;
  };
  std::map<std::string, Share> shares;  // by ids alone
  std::map<std::string, double> bonus;  // points of each of these cases, beyond the maximum
  // A case whose outputs no kernel wrote last earns nothing.
  bool kernel_required = false;
  // A run that leaves work which nothing orders before its end is a wrong answer.
  bool order_required = false;

  std::vector<Case> cases;  // its own, beside the lab's

  struct Thresholds {
    std::map<std::string, std::map<int, double>> datasets;  // by dataset (or "default") and width
    std::map<std::string, double> cases;                    // by a case's id; they come first
    bool empty() const { return datasets.empty() && cases.empty(); }
    // None: its speed earns nothing and costs nothing.
    std::optional<double> of(const Case& spec) const;
  };
  Thresholds thresholds;    // for every GPU that has none of its own
  std::string measured_on;  // the GPU model of these; empty: the policy does not say, and they hold for all
  std::map<std::string, Thresholds> gpu_thresholds;  // by GPU model, in place of `thresholds`
  // Shares of the limit, 0 to 1: for every GPU, since the limit is each GPU's own, and where one has others.
  Thresholds limit_thresholds;
  std::map<std::string, Thresholds> gpu_limit_thresholds;
  // Of submissions in Python, case by case in the place of all others.
  Thresholds python_thresholds, python_limit_thresholds;

  // Those for a device as CUDA names it ("NVIDIA H100 80GB HBM3"); "" is no known one.
  const Thresholds& thresholds_for(const std::string& device) const;
  const Thresholds& limit_thresholds_for(const std::string& device) const;
  // A case's own for a submission in this language, as records call it ("Python", "" for CUDA).
  std::optional<double> threshold_of(const Case& spec, const std::string& device,
                                     const std::string& language) const;
  std::optional<double> limit_threshold_of(const Case& spec, const std::string& device,
                                           const std::string& language) const;
  // That they are another model's, in a sentence for people; empty where they are its own.
  std::string thresholds_note(const std::string& device) const;

  double max_points() const { return correctness_points + speed_points + limit_points + journey_points; }

  std::string hash;  // of the text
};

// Throws UsageError naming file, line, key, what was expected and what stands there; for an unknown key the
// known one that is nearest. Thresholds must speak of known datasets and cases. All keys:
// grader/policies/README.md.
Policy parse_policy(const std::string& text, const std::string& file_name, const PolicyVocabulary& known);
Policy load_policy(const std::filesystem::path& file, const PolicyVocabulary& known);

}  // namespace warpgrade
