#include "course/score/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/yaml_place.h"
#include "course/ingest/times.h"
#include "course/score/gpu_model.h"
#include "judge/compile/manifest.h"

namespace warpgrade {
namespace {

using Place = YamlPlace;

std::set<std::string> read_words(const Place& list, const char* example) {
  std::set<std::string> words;
  if (!list.defined()) return words;
  if (!list.node().IsSequence()) list.fail(fmt::format("a list, for instance {}", example));
  for (const auto& entry : list.node()) {
    const std::string word = entry.IsScalar() ? entry.Scalar() : "";
    if (word.empty()) list.fail("a list of words");
    words.insert(word);
  }
  return words;
}

// The words that a policy may use for cases and all else: the lab's, and what its own cases bring.
struct Words {
  std::set<std::string> cases, datasets, sets, baselines;
  std::string lab;
  bool is_kept = false;

  Words(const PolicyVocabulary& known, const Policy& policy)
      : cases(known.cases),
        datasets(known.datasets),
        sets(known.sets),
        baselines(known.baselines),
        lab(policy.lab),
        is_kept(known.is_kept) {
    cases.insert(known.run_cases.begin(), known.run_cases.end());
    for (const Case& spec : policy.cases) {
      cases.insert(spec.id);
      datasets.insert(spec.dataset);
      sets.insert(spec.set);
    }
  }
  std::set<std::string> all_cases() const {
    std::set<std::string> all = cases;
    all.insert(datasets.begin(), datasets.end());
    all.insert(sets.begin(), sets.end());
    return all;
  }
  // Refuses a word at `place` that is not one of these.
  void check(const Place& place, const std::string& word, const std::set<std::string>& among,
             const std::string& what) const {
    if (is_kept || among.contains(word)) return;
    std::string hint = Place::meant(word, among);
    if (hint.empty() && among.size() <= kMostListed) hint = fmt::format(": {}", fmt::join(among, ", "));
    place.refuse(fmt::format("lab {} has no {} '{}'{}", lab, what, word, hint));
  }
  void check_all(const Place& list, const std::set<std::string>& among, const std::string& what) const {
    if (!list.is_list()) return;
    for (const Place& item : list.items("a list")) check(item, item.text(), among, what);
  }

 private:
  static constexpr std::size_t kMostListed = 12;
};

constexpr const char* kCaseWords = "case, dataset or set";

// `correct`, `none`, or {correct, faster_than: {naive: 1.2}}.
void read_gate(const Place& gate, const Words& words, Policy& policy) {
  if (!gate.defined() || gate.node().IsScalar()) {
    policy.speed_needs_all_correct = gate.word_or("correct", {"correct", "none"}) == "correct";
    return;
  }
  gate.only({"correct", "faster_than"});
  policy.speed_needs_all_correct = gate.node()["correct"].IsDefined();
  const Place faster = gate["faster_than"];
  if (!faster.defined()) return;
  if (!faster.node().IsMap()) faster.fail("a map from baseline to speed-up, for instance {naive: 1.2}");
  for (const auto& entry : faster.node()) {
    const std::string baseline = entry.first.as<std::string>();
    words.check(faster[baseline], baseline, words.baselines, "baseline");
    policy.faster_than[baseline] = faster[baseline].number(0.01, 1e6);
  }
}

// Its own cases: beside the lab's, under ids that none of these has.
void read_own_cases(const Place& place, const PolicyVocabulary& known, Policy& policy) {
  if (!place.defined()) return;
  if (!known.read_cases) place.refuse("this policy cannot add cases here");
  policy.cases = known.read_cases(place);
  for (const Case& spec : policy.cases)
    if (known.cases.contains(spec.id))
      throw UsageError("{}: the lab has a case {} of its own: give this one another id", spec.place, spec.id);
}

// `cora: {32: 1.5, 256: 1.1}` by dataset and width, or `big: 1.5` of one case. `what`: "speed-up"; none
// is above `most`.
void read_numbers_of_cases(const Place& place, const PolicyVocabulary& known, const Policy& policy,
                           const std::string& what, double most, Policy::Thresholds& result) {
  if (!place.defined()) return;
  const std::string width = known.width.empty() ? "width" : known.width;
  if (!place.is_map())
    place.fail(
        fmt::format("a map from dataset to {{{}: {}}}, or from a case's id to a {}", width, what, what));
  const Words words(known, policy);
  std::set<std::string> datasets = words.datasets;
  const std::set<std::string>& cases = words.cases;
  datasets.insert("default");
  for (const auto& [name, item] : place.entries()) {
    if (item.is_scalar() && cases.contains(name)) {
      result.cases[name] = item.number(0, most);
      continue;
    }
    if (!datasets.contains(name))
      item.fail("a dataset or a case of this lab (`warpgrade labs` lists them)" +
                Place::meant(name, datasets));
    if (!item.is_map())
      item.fail(fmt::format("a map from {} to {}, for instance {{32: {}, 256: {}}}", width, what,
                            most > 1 ? "1.5" : "0.5", most > 1 ? "1.1" : "0.7"));
    for (const auto& [key, value] : item.entries()) {
      int k = 0;
      if (!YAML::convert<int>::decode(YAML::Node(key), k) || k <= 0)
        value.refuse(fmt::format("expected a positive {} as key, got '{}'", width, key));
      result.datasets[name][k] = value.number(0, most);
    }
  }
}

constexpr double kMostSpeedUp = 1e6, kWholeLimit = 1;

// Speed-ups alone, or `{baseline: {...}, limit: {...}}` where shares of the limit earn points, too.
void read_thresholds(const Place& place, const PolicyVocabulary& known, const Policy& policy,
                     Policy::Thresholds& speed_ups, Policy::Thresholds& shares) {
  const bool is_both = place.is_map() && (place["baseline"].defined() || place["limit"].defined());
  if (!is_both) return read_numbers_of_cases(place, known, policy, "speed-up", kMostSpeedUp, speed_ups);
  place.only({"baseline", "limit"});
  read_numbers_of_cases(place["baseline"], known, policy, "speed-up", kMostSpeedUp, speed_ups);
  read_numbers_of_cases(place["limit"], known, policy, "share of the limit", kWholeLimit, shares);
}

// At least one word of the model is known. A GPU may be newer than this list: so only `policy check` asks,
// and only where a known one is near.
void check_gpu(const Place& place, const std::string& model, const std::set<std::string>& gpus) {
  std::string meant;
  for (const std::string& word : gpu_words(model)) {
    if (gpus.contains(word)) return;
    if (meant.empty() && word.find_first_of("0123456789") != std::string::npos)
      meant = nearest_word(word, gpus);
  }
  if (meant.empty()) return;
  place.refuse(
      fmt::format("no GPU that this version knows is called '{}' (did you mean {}?). The policy can be used "
                  "all the same, if it is a newer one",
                  model, meant));
}

// `measured_on: H200` of `thresholds`, and `thresholds_by_gpu: {H100: {...}}`.
void read_gpu_thresholds(const Place& root, const PolicyVocabulary& known, Policy& policy) {
  const auto check_model = [&](const Place& place, const std::string& model) {
    if (gpu_words(model).empty() || model.size() > 64)
      place.refuse(
          fmt::format("expected a GPU model as nvidia-smi names it, for instance H100, got '{}'", model));
    check_gpu(place, model, known.gpus);
  };
  if (const Place on = root["measured_on"]; on.defined()) {
    policy.measured_on = on.text();
    check_model(on, policy.measured_on);
  }
  const Place by_gpu = root["thresholds_by_gpu"];
  if (!by_gpu.defined()) return;
  if (!by_gpu.is_map())
    by_gpu.fail("a map from GPU model to thresholds, for instance {H100: {default: {32: 1.5}}}");
  for (const auto& [model, item] : by_gpu.entries()) {
    check_model(item, model);
    if (gpu_words(model) == gpu_words(policy.measured_on))
      item.refuse(
          fmt::format("{} is the GPU of `measured_on`: its thresholds belong under `thresholds`", model));
    Policy::Thresholds speed_ups, shares;
    read_thresholds(item, known, policy, speed_ups, shares);
    if (speed_ups.empty() && shares.empty()) item.fail("thresholds as `thresholds` has them");
    if (!speed_ups.empty()) policy.gpu_thresholds[model] = std::move(speed_ups);
    if (!shares.empty()) policy.gpu_limit_thresholds[model] = std::move(shares);
  }
}

// `thresholds_by_language: {python: {...}}`.
void read_language_thresholds(const Place& place, const PolicyVocabulary& known, Policy& policy) {
  if (!place.defined()) return;
  place.only({"python"});
  const Place python = place["python"];
  read_thresholds(python, known, policy, policy.python_thresholds, policy.python_limit_thresholds);
  if (policy.python_thresholds.empty() && policy.python_limit_thresholds.empty())
    python.fail("thresholds as `thresholds` has them");
}

// A case calls a program seven times or more; what one call may take at most, all may take three times.
constexpr double kCallsOfCase = 3;

void read_limits(const Place& limits, Policy::Limits& result) {
  limits.only(
      {"compile_s", "run_s", "case_s", "host_memory_mb", "device_memory_mb", "output_kb", "forbidden_flags"});
  for (const char* times : {"run_s", "case_s"}) limits[times].only({"cuda", "emulator"});
  result.compile_s = limits["compile_s"].number_or(120, 1, 86400);
  for (const char* backend : {"cuda", "emulator"}) {
    const double run_s = result.run_s[backend] = limits["run_s"][backend].number_or(30, 0.1, 86400);
    result.case_s[backend] =
        limits["case_s"][backend].number_or(kCallsOfCase * run_s, run_s, kCallsOfCase * 86400);
  }
  result.forbidden_flags = read_words(limits["forbidden_flags"], "[--use_fast_math]");
  for (const std::string& flag : result.forbidden_flags)
    if (std::ranges::find(allowed_flags(), flag) == allowed_flags().end())
      limits["forbidden_flags"].fail(fmt::format("flags that a submission may ask for ({}), and {} is none",
                                                 fmt::join(allowed_flags(), ", "), flag));
  result.host_memory_mb = static_cast<std::size_t>(limits["host_memory_mb"].number_or(4096, 64, 1 << 24));
  result.device_memory_mb = static_cast<std::size_t>(limits["device_memory_mb"].number_or(16384, 1, 1 << 24));
  result.output_kb = static_cast<std::size_t>(limits["output_kb"].number_or(256, 1, 1 << 20));
}

std::int64_t read_moment(const Place& place, const TimeZone& zone) {
  const auto at = parse_time(place.text(), zone);
  if (!at) place.fail("a time, for instance 2026-03-18T23:59");
  return *at;
}

// "90m", "24h", "2d": seconds.
std::int64_t read_span(const Place& place) {
  const std::string text = place.is_scalar() ? place.text() : "";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const std::int64_t seconds = unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86400 : 0;
  constexpr std::size_t kMostDigits = 4;
  if (digits == 0 || digits > kMostDigits || seconds == 0)
    place.fail("a span of time: minutes, hours or days, for instance 90m, 24h or 2d");
  return seconds * std::stoll(text.substr(0, digits));
}

// `{from: TIME, until: TIME}`, or by the class's deadline: `{before_deadline: 24h}`.
void read_freeze(const Place& frozen, const TimeZone& zone, Policy::Board& board) {
  if (!frozen.defined()) return;
  frozen.only({"from", "until", "before_deadline", "after_deadline"});
  if (const Place before = frozen["before_deadline"]; before.defined()) {
    for (const char* key : {"from", "until"})
      if (frozen[key].defined())
        frozen[key].refuse("the freeze is given by the deadline already: leave one out");
    board.freeze_before_s = read_span(before);
    if (const Place after = frozen["after_deadline"]; after.defined())
      board.freeze_after_s = read_span(after);
    if (board.freeze_before_s == 0) before.fail("a span of time longer than 0");
    return;
  }
  if (const Place after = frozen["after_deadline"]; after.defined())
    after.refuse("it goes with before_deadline, which says when the freeze begins");
  board.frozen_from = read_moment(frozen["from"], zone);
  board.frozen_until = read_moment(frozen["until"], zone);
  board.frozen_from_text = zone.text(board.frozen_from);
  board.frozen_until_text = zone.text(board.frozen_until);
  if (board.frozen_until <= board.frozen_from) frozen["until"].refuse("it is not after frozen.from");
}

// `shown`, `hidden`, or a map that says what it shows.
void read_board(const Place& place, const TimeZone& zone, Policy::Visibility& result) {
  if (!place.is_map()) {
    result.leaderboard = place.word_or("shown", {"shown", "hidden"}) == "shown";
    return;
  }
  place.only({"attempt", "cases", "frozen", "renew_seconds"});
  Policy::Board& board = result.board;
  board.attempt = place["attempt"].word_or("counts", {"counts", "last", "best"});
  board.cases = place["cases"].word_or("hidden", {"shown", "hidden"}) == "shown";
  if (const Place renew = place["renew_seconds"]; renew.defined())
    board.renew_s = static_cast<int>(renew.whole(5, 86400));
  read_freeze(place["frozen"], zone, board);
}

void read_visibility(const Place& place, const Words& words, const TimeZone& zone,
                     Policy::Visibility& result) {
  place.only({"open", "hidden", "hidden_names", "speed", "override_reasons", "leaderboard"});
  const auto shown = [&](const char* key, bool fallback) {
    return place[key].word_or(fallback ? "shown" : "hidden", {"shown", "hidden"}) == "shown";
  };
  if (const Place open = place["open"]; open.defined()) {
    result.open_sets = read_words(open, "[public], of sets of cases");
    words.check_all(open, words.sets, "set");
  }
  result.hidden_verdicts = place["hidden"].word_or("verdict", {"verdict", "count"}) == "verdict";
  result.hidden_names = place["hidden_names"].word_or("shown", {"shown", "numbered"}) == "shown";
  result.speed = shown("speed", true);
  result.override_reasons = shown("override_reasons", false);
  read_board(place["leaderboard"], zone, result);
}

void read_remote(const Place& remote, const Words& words, Policy::Remote& result) {
  remote.only({"cases", "runs_per_hour", "runs_per_day", "waiting", "seconds", "last_remote_counts"});
  const auto count = [&](const char* key, int fallback, int least) {
    return remote[key].defined() ? static_cast<int>(remote[key].whole(least, 1'000'000)) : fallback;
  };
  if (const Place cases = remote["cases"]; cases.defined()) {
    result.cases = read_words(cases, "[public], of cases, datasets or sets");
    words.check_all(cases, words.all_cases(), kCaseWords);
  }
  result.runs_per_hour = count("runs_per_hour", result.runs_per_hour, 0);
  result.runs_per_day = count("runs_per_day", result.runs_per_day, 0);
  result.waiting = count("waiting", result.waiting, 1);
  result.seconds = remote["seconds"].number_or(result.seconds, 1, 86400);
  result.last_remote_counts = remote["last_remote_counts"].truth_or(false);
}

// `{hidden: 2, big: 0.5}`.
std::map<std::string, double> read_numbers(const Place& place, const Words& words, const char* example) {
  std::map<std::string, double> numbers;
  if (!place.defined()) return numbers;
  if (!place.is_map())
    place.fail(fmt::format("a map from {} to number, for instance {}", kCaseWords, example));
  for (const auto& [word, item] : place.entries()) {
    words.check(item, word, words.all_cases(), kCaseWords);
    numbers[word] = item.number(0, 1e6);
  }
  return numbers;
}

// `{big: 10}`, of the points for correctness, or `{big: {correctness: 5, speed: 20}}`.
void read_shares(const Place& place, const Words& words, Policy& policy) {
  if (!place.defined()) return;
  if (!place.is_map()) place.fail("a map from a case's id to points, for instance {big: 10}");
  Policy::Share all;
  for (const auto& [id, item] : place.entries()) {
    words.check(item, id, words.cases, "case");
    Policy::Share& share = policy.shares[id];
    if (item.is_map()) {
      item.only({"correctness", "speed", "limit"});
      share.correctness = item["correctness"].number_or(0, 0, 1e6);
      share.speed = item["speed"].number_or(0, 0, 1e6);
      share.limit = item["limit"].number_or(0, 0, 1e6);
    } else {
      share.correctness = item.number(0, 1e6);
    }
    all.correctness += share.correctness;
    all.speed += share.speed;
    all.limit += share.limit;
    if (policy.bonus.contains(id)) item.refuse("this case has bonus points: it has no share of the others");
  }
  constexpr double kRounding = 1e-9;
  for (const auto& [name, sum, most] : {std::tuple{"correctness", all.correctness, policy.correctness_points},
                                        std::tuple{"speed", all.speed, policy.speed_points},
                                        std::tuple{"limit", all.limit, policy.limit_points}})
    if (sum > most + kRounding)
      place.refuse(fmt::format("the shares of the points for {} add up to {:g}, but points.{} is {:g}", name,
                               sum, name, most));
}

void read_values_of_cases(const Place& root, const Words& words, Policy& policy) {
  policy.dropped = read_words(root["drop"], "[big, hidden], of cases, datasets or sets");
  words.check_all(root["drop"], words.all_cases(), kCaseWords);
  policy.weights = read_numbers(root["weights"], words, "{hidden: 2, big: 0.5}");
  policy.bonus = read_numbers(root["bonus"], words, "{big: 5}");
  read_shares(root["shares"], words, policy);
  policy.kernel_required = root["kernel"].word_or("told", {"required", "told"}) == "required";
  policy.order_required = root["order"].word_or("told", {"required", "told"}) == "required";
}

// `points.journey`, and what is asked for them.
void read_journey(const Place& points, const Place& asked, Policy& policy) {
  policy.journey_points = points.number_or(0, 0, 1e6);
  asked.only({"versions", "notes", "gains"});
  const auto count = [&](const char* key) {
    return asked[key].defined() ? static_cast<int>(asked[key].whole(0, 1000)) : 0;
  };
  policy.journey = {count("versions"), count("notes"), count("gains")};
  if (policy.journey_points > 0 && policy.journey == JourneyCounts{})
    points.refuse("nothing is asked for these points: give journey: {versions: 3, notes: 3, gains: 2}");
  if (asked.defined() && !points.defined())
    asked.refuse("no points are given for it: add journey to points: (0 gives none)");
}

void read_late(const Place& late, Policy& policy) {
  if (!late.defined()) return;
  late.only({"grace_minutes", "percent_per_day", "cap_percent", "max_days", "marked_days", "slip_days",
             "slip_days_per"});
  Policy::Late rules;
  rules.grace_minutes = late["grace_minutes"].number_or(rules.grace_minutes, 0, 1e6);
  rules.percent_per_day = late["percent_per_day"].number_or(rules.percent_per_day, 0, 100);
  rules.cap_percent = late["cap_percent"].number_or(rules.cap_percent, 0, 100);
  rules.max_days = late["max_days"].number_or(rules.max_days, 0, 1e6);
  rules.marked_days = late["marked_days"].number_or(rules.marked_days, 0, 1e6);
  rules.slip_days = late["slip_days"].number_or(rules.slip_days, 0, 1000);
  rules.slip_days_per_team = late["slip_days_per"].word_or("student", {"student", "team"}) == "team";
  policy.late = rules;
}

}  // namespace

Policy parse_policy(const std::string& text, const std::string& file, const PolicyVocabulary& known) {
  const Place root = Place::parse(text, file);
  root.only({"schema",
             "name",
             "lab",
             "baseline",
             "secret_baselines",
             "timezone",
             "points",
             "journey",
             "within_noise",
             "partial",
             "limits",
             "cases",
             "thresholds",
             "measured_on",
             "thresholds_by_gpu",
             "thresholds_by_language",
             "visibility",
             "late",
             "host_isolation",
             "time",
             "remote",
             "drop",
             "weights",
             "shares",
             "bonus",
             "kernel",
             "order"});
  if (!root["schema"].defined() || root["schema"].text() != "warpgrade.policy.v1") {
    root["schema"].fail("warpgrade.policy.v1");
  }
  Policy policy;
  policy.hash = sha256(text);
  policy.name = root["name"].text();
  policy.lab = root["lab"].text();
  policy.baseline = root["baseline"].text();
  if (root["timezone"].defined()) {
    try {
      policy.timezone = TimeZone::named(root["timezone"].text()).name();
    } catch (const UsageError& error) {
      throw UsageError("{}: {}", file, error.what());
    }
  }
  const Place points = root["points"];
  points.only({"correctness", "speed", "limit", "journey", "gate"});
  policy.correctness_points = points["correctness"].number_or(40, 0, 1e6);
  policy.speed_points = points["speed"].number_or(60, 0, 1e6);
  policy.limit_points = points["limit"].number_or(0, 0, 1e6);
  read_journey(points["journey"], root["journey"], policy);
  policy.host_isolation = root["host_isolation"].word_or("executor", {"executor", "any"});
  policy.time = root["time"].word_or("device", {"device", "device_and_host"});
  policy.within_noise_passes = root["within_noise"].word_or("pass", {"pass", "fail"}) == "pass";
  root["partial"].only({"from"});
  policy.partial_from = root["partial"]["from"].number_or(1.0, 0, 1);
  read_limits(root["limits"], policy.limits);
  read_late(root["late"], policy);
  read_own_cases(root["cases"], known, policy);
  const Words words(known, policy);
  words.check(root["baseline"], policy.baseline, words.baselines, "baseline");
  policy.secret_baselines = read_words(root["secret_baselines"], "[naive]");
  words.check_all(root["secret_baselines"], words.baselines, "baseline");
  read_gate(points["gate"], words, policy);
  read_visibility(root["visibility"], words, TimeZone::named(policy.timezone), policy.visibility);
  read_remote(root["remote"], words, policy.remote);
  read_values_of_cases(root, words, policy);
  read_thresholds(root["thresholds"], known, policy, policy.thresholds, policy.limit_thresholds);
  read_gpu_thresholds(root, known, policy);
  read_language_thresholds(root["thresholds_by_language"], known, policy);
  if (policy.limit_points > 0 && policy.limit_thresholds.empty() && policy.gpu_limit_thresholds.empty())
    points["limit"].refuse(
        "no case has a share of the limit to reach: give thresholds: {baseline: {...}, limit: {default: "
        "...}} (`warpgrade calibrate RUN --limit` proposes it)");
  return policy;
}

Policy load_policy(const std::filesystem::path& file, const PolicyVocabulary& known) {
  return parse_policy(read_text(file), file.string(), known);
}

}  // namespace warpgrade
