#include "ingest/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "ingest/arrival.h"
#include "ingest/layout.h"
#include "ingest/roster.h"
#include "ingest/snapshot.h"
#include "ingest/times.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kOverLimit = "over_limit";

struct Attempt {
  RawAttempt raw;
  std::size_t student = 0;  // who handed in
  std::optional<Snapshot> snapshot;
  std::optional<Refusal> refusal;
  std::string status = "superseded";
  std::string submission;  // id in run.json
  int number = 0;
  std::optional<std::int64_t> arrived_at;  // of rolling hand-ins
  bool earlier = false;                    // taken in by an earlier call

  // When it was handed in, as far as anybody knows.
  std::optional<std::int64_t> time() const { return raw.submitted_at ? raw.submitted_at : arrived_at; }
};

// A student or a team, with all of their attempts.
struct Group {
  std::string team;               // empty: one student
  std::set<std::size_t> members;  // students
  std::vector<Attempt> attempts;  // in order of time
};

// "Ada Lovelace (s1)".
std::string person_text(const Student& student) {
  const std::string name = plain_line(student.name), id = plain_line(student.id);
  return name.empty() || name == id ? id : fmt::format("{} ({})", name, id);
}

class Ingest {
 public:
  Ingest(const IngestOptions& options, const RunFolder& folder)
      : options_(options),
        folder_(folder),
        scratch_("warpgrade-ingest"),
        zone_(TimeZone::named(options.timezone)) {
    if (options.roster) roster_ = Roster::read(*options.roster, zone_);
    on_roster_ = roster_.students().size();
    if (!std::set<std::string>{"last", "first", "best"}.contains(options.attempts))
      throw UsageError("--attempts: expected last, first or best, got '{}'", options.attempts);
    if (options.deadline) {
      deadline_ = parse_time(*options.deadline, zone_);
      if (!deadline_)
        throw UsageError("--deadline: expected a time like 2026-03-18T23:59:00+01:00, got '{}'",
                         *options.deadline);
    }
  }

  json take() {
    if (options_.rolling) return take_what_is_new();
    const fs::path source = unpacked_source();
    const Layout layout = read_layout(source, options_.layout, options_.lab, zone_);
    layout_ = layout.name;
    left_aside_ = layout.left_aside;
    find_owners(layout);
    if (!options_.accept_unmatched) refuse_strangers();
    for (const RawAttempt& raw : layout.attempts) {
      throw_if_interrupted();
      take_attempt(raw);
    }
    for (auto& [key, group] : groups_) order(group);
    keep_each_student_in_one_group();
    for (auto& [key, group] : groups_) choose(group);
    return describe();
  }

 private:
  // A whole export in one archive is unpacked first; entries of it that are not safe are somebody's own
  // doing.
  fs::path unpacked_source() {
    if (fs::is_directory(options_.source)) return options_.source;
    if (!fs::exists(options_.source))
      throw UsageError("no such folder or archive: {}", options_.source.string());
    if (!looks_like_archive(options_.source)) {
      throw UsageError("{} is neither a folder nor a .zip or .tar.gz of a class", options_.source.string());
    }
    const fs::path folder = scratch_.path() / "export";
    make_directories(folder);
    const auto refusal = unpack(fs::canonical(options_.source), folder, UnpackLimits::of_a_class(),
                                [&](const Refusal& entry) { unsafe_entries_.push_back(entry); });
    if (refusal) throw UsageError("{}: {}", options_.source.string(), refusal->message);
    return folder;
  }

  // What the export holds for this attempt that was not unpacked.
  std::optional<Refusal> refused_on_the_way(const RawAttempt& raw) const {
    for (const Refusal& entry : unsafe_entries_) {
      const std::string& name = entry.entry;
      if (name.find(raw.origin + "/") == 0 || name.find("/" + raw.origin + "/") != std::string::npos ||
          name.ends_with("/" + raw.origin))
        return entry;
    }
    return std::nullopt;
  }

  // Before anything is unpacked: an export and a roster that do not belong together are noticed at once. The
  // first pass learns the LMS' numbers, so that the second one finds the same person by name and by number.
  void find_owners(const Layout& layout) {
    for (const RawAttempt& raw : layout.attempts)
      for (const StudentKeys& owner : raw.owners) seen_.insert(roster_.find_or_add(owner));
  }

  void refuse_strangers() const {
    if (on_roster_ == 0) return;  // without a roster everybody is welcome
    std::set<std::size_t> strangers;
    for (std::size_t i = on_roster_; i < roster_.students().size(); ++i) strangers.insert(i);
    if (strangers.empty()) return;
    const std::size_t matched = seen_.size() - strangers.size();
    if (matched > 0 && 2 * matched >= on_roster_) return;
    std::vector<std::string> handed_in, listed;
    for (const std::size_t i : strangers)
      if (handed_in.size() < 3) handed_in.push_back(person_text(roster_.students()[i]));
    for (std::size_t i = 0; i < on_roster_ && listed.size() < 3; ++i)
      if (!seen_.contains(i)) listed.push_back(person_text(roster_.students()[i]));
    throw UsageError(
        "{} of {} students of the roster are found in the hand-ins, and {} who handed in are not on it.\n"
        "  handed in, not on the roster: {}\n  on the roster, not found:     {}\n"
        "Is it this class's roster, and has it a column with what the export calls the students (id, e-mail "
        "address, name, canvas_id, ...)? The export was read as layout '{}'; --layout names another one. "
        "--accept-unmatched takes the hand-ins as they are. Nothing was kept.",
        matched, on_roster_, strangers.size(), fmt::join(handed_in, "; "), fmt::join(listed, "; "), layout_);
  }

  std::set<std::size_t> members_of(const RawAttempt& raw) {
    std::set<std::size_t> members;
    for (const StudentKeys& owner : raw.owners) members.insert(roster_.find_or_add(owner));
    return members;
  }

  void take_attempt(const RawAttempt& raw) {
    const std::set<std::size_t> members = members_of(raw);
    Attempt attempt = unpacked(raw);
    Group& group = group_of(attempt.student, members);
    group.attempts.push_back(std::move(attempt));
  }

  Attempt unpacked(const RawAttempt& raw) {
    Attempt attempt;
    attempt.raw = raw;
    attempt.student = roster_.find_or_add(raw.owners[0]);
    attempt.refusal = refused_on_the_way(raw);
    if (!attempt.refusal) {
      auto taken = take_snapshot(raw, folder_.root() / "snapshots", options_.limits);
      if (auto* snapshot = std::get_if<Snapshot>(&taken)) attempt.snapshot = *snapshot;
      if (auto* refusal = std::get_if<Refusal>(&taken)) attempt.refusal = *refusal;
    }
    return attempt;
  }

  // ---- rolling hand-ins

  json take_what_is_new() {
    if (!fs::is_directory(options_.source))
      throw UsageError("--watch: {} is no folder", options_.source.string());
    restore_earlier();
    for (auto& [key, raw] : arrived()) {
      throw_if_interrupted();
      take_if_new(raw.first, raw.second);
    }
    keep_each_student_in_one_group();
    for (auto& [key, group] : groups_) choose_rolling(group);
    return describe();
  }

  // What earlier calls took in stands, whatever has become of it in the folder.
  void restore_earlier() {
    if (!folder_.has_class()) return;
    const json before = folder_.read_class();
    layout_ = before.at("source").value("layout", "");
    seen_stamps_ = before.value("seen", json::object());
    for (const json& student : before.at("students")) roster_.find_or_add(keys_of(student));
    for (const json& told : before.at("attempts")) {
      Attempt attempt = restored(told);
      std::set<std::size_t> members;
      for (const json& member : told.at("members")) members.insert(student_of_id(member));
      members.insert(attempt.student);
      group_of(attempt.student, members).attempts.push_back(std::move(attempt));
    }
  }

  static StudentKeys keys_of(const json& student) {
    StudentKeys keys;
    keys.keys = {student.at("id")};
    keys.name = student.value("name", "");
    keys.email = student.value("email", "");
    keys.canvas_id = student.value("canvas_id", "");
    keys.moodle_id = student.value("moodle_id", "");
    keys.github = student.value("github", "");
    return keys;
  }

  std::size_t student_of_id(const std::string& id) {
    const auto& students = roster_.students();
    const auto found = std::find_if(students.begin(), students.end(),
                                    [&](const Student& student) { return student.id == id; });
    if (found != students.end()) return static_cast<std::size_t>(found - students.begin());
    return roster_.find_or_add(StudentKeys{{id}, "", "", "", "", ""});
  }

  Attempt restored(const json& told) {
    Attempt attempt;
    attempt.earlier = true;
    attempt.student = student_of_id(told.at("student"));
    attempt.number = told.at("attempt");
    attempt.raw.number = attempt.number;
    attempt.raw.origin = told.at("origin");
    attempt.raw.late_marked = told.value("late_marked", false);
    attempt.submission = told.value("submission", "");
    if (told.contains("arrived_at")) attempt.arrived_at = parse_time(told.at("arrived_at"));
    if (told.contains("submitted_at")) attempt.raw.submitted_at = parse_time(told.at("submitted_at"));
    if (told.contains("snapshot"))
      attempt.snapshot = Snapshot{told.at("hash"), folder_.root() / told.at("snapshot").get<std::string>(),
                                  told.at("files"), told.at("bytes")};
    if (told.contains("refusal")) {
      const json& refusal = told.at("refusal");
      attempt.refusal = Refusal{refusal.at("reason"), refusal.at("message"), refusal.at("next_step"),
                                refusal.value("entry", "")};
    }
    if (!attempt.submission.empty()) ids_.insert(attempt.submission);
    return attempt;
  }

  // What lies in the folder and has come to rest, in order of arrival.
  std::multimap<std::int64_t, std::pair<RawAttempt, Arrival>> arrived() {
    std::multimap<std::int64_t, std::pair<RawAttempt, Arrival>> found;
    const auto visible = [](const fs::directory_entry& entry) {
      return !entry.path().filename().string().starts_with(".");
    };
    if (std::none_of(fs::directory_iterator(options_.source), fs::directory_iterator(), visible))
      return found;
    const std::string name = layout_.empty() ? options_.layout : layout_;
    const Layout layout = read_layout(options_.source, name, options_.lab, zone_);
    layout_ = layout.name;
    left_aside_ = layout.left_aside;
    for (const RawAttempt& raw : layout.attempts) {
      const Arrival arrival = arrival_of(raw);
      const bool settled = arrival.at + options_.rolling->settle_s <= std::time(nullptr);
      const bool in_time = !options_.rolling->until || arrival.at <= *options_.rolling->until;
      if (settled && in_time && seen_stamps_.value(raw.origin, "") != arrival.stamp)
        found.emplace(arrival.at, std::pair(raw, arrival));
    }
    return found;
  }

  void take_if_new(const RawAttempt& raw, const Arrival& arrival) {
    const std::set<std::size_t> members = members_of(raw);
    Attempt attempt = unpacked(raw);
    if (arrival_of(raw).stamp != arrival.stamp) return;  // it is written to: the next look takes it
    seen_stamps_[raw.origin] = arrival.stamp;
    attempt.arrived_at = arrival.at;
    Group& group = group_of(attempt.student, members);
    const Attempt* before = nullptr;
    for (const Attempt& other : group.attempts) {
      attempt.number = std::max(attempt.number, other.number);
      if (other.raw.origin == raw.origin) before = &other;
    }
    if (before != nullptr && !is_another(*before, attempt)) return;
    attempt.number = std::max(attempt.number + 1, raw.number);
    if (!attempt.refusal) attempt.refusal = over_limit(group, attempt);
    group.attempts.push_back(std::move(attempt));
  }

  // The same again is no new attempt, unless the first try met the day's limit.
  static bool is_another(const Attempt& before, const Attempt& now) {
    if (before.refusal && before.refusal->reason == kOverLimit) return true;
    if (before.snapshot && now.snapshot) return before.snapshot->hash != now.snapshot->hash;
    return !(before.refusal && now.refusal && before.refusal->message == now.refusal->message);
  }

  std::optional<Refusal> over_limit(const Group& group, const Attempt& attempt) const {
    const int limit = options_.rolling->attempts_per_day;
    if (limit <= 0) return std::nullopt;
    // "Wed 18 Mar 2026 23:59 CET"
    const auto day_of = [&](std::int64_t at) { return zone_.text(at).substr(0, 15); };
    const std::string day = day_of(*attempt.arrived_at);
    const auto same_day =
        std::count_if(group.attempts.begin(), group.attempts.end(), [&](const Attempt& other) {
          return !other.refusal && other.arrived_at && day_of(*other.arrived_at) == day;
        });
    if (same_day < limit) return std::nullopt;
    return Refusal{kOverLimit,
                   fmt::format("{} {} on {} are judged, this is one more", limit,
                               limit == 1 ? "attempt" : "attempts", day),
                   "hand it in again on another day before the deadline; the earlier attempts stand", ""};
  }

  void choose_rolling(Group& group) {
    if (group.members.empty() || group.attempts.empty()) return;
    const std::string stem = rolling_stem(group);
    const bool any_taken = std::any_of(group.attempts.begin(), group.attempts.end(),
                                       [](const Attempt& attempt) { return !attempt.refusal; });
    for (Attempt& attempt : group.attempts) {
      attempt.status = attempt.refusal ? "refused" : "graded";
      // While nothing else is there the latest refusal itself is what is judged, and told.
      const bool judged = !attempt.refusal || (!any_taken && &attempt == &group.attempts.back());
      if (!judged) attempt.submission.clear();
      if (judged && attempt.submission.empty())
        attempt.submission = unique(fmt::format("{}.attempt-{}", stem, attempt.number));
    }
  }

  // What the group's ids begin with, from its first attempt on.
  std::string rolling_stem(const Group& group) const {
    for (const Attempt& attempt : group.attempts)
      if (const std::size_t at = attempt.submission.rfind(".attempt-"); at != std::string::npos)
        return attempt.submission.substr(0, at);
    return safe_submission_id(group.team.empty() ? roster_.students()[group.attempts[0].student].id
                                                 : group.team);
  }

  Group& group_of(std::size_t student, const std::set<std::size_t>& members) {
    const std::string team = roster_.students()[student].team;
    std::string key = "student " + std::to_string(student);
    if (!team.empty()) {
      key = "team " + team;
    } else if (members.size() > 1) {
      key = fmt::format("members {}", fmt::join(members, "+"));
    }
    Group& group = groups_[key];
    group.members.insert(members.begin(), members.end());
    if (!team.empty()) {
      group.team = team;
      for (std::size_t i = 0; i < roster_.students().size(); ++i)
        if (roster_.students()[i].team == team) group.members.insert(i);
    } else if (members.size() > 1 && group.team.empty()) {
      std::vector<std::string> ids;
      for (std::size_t member : members) ids.push_back(roster_.students()[member].id);
      group.team = fmt::format("{}", fmt::join(ids, "+"));
    }
    return group;
  }

  // ---- teams, order, choice

  static void order(Group& group) {
    const bool timed = std::all_of(group.attempts.begin(), group.attempts.end(), [](const Attempt& attempt) {
      return attempt.raw.submitted_at.has_value();
    });
    std::stable_sort(group.attempts.begin(), group.attempts.end(), [&](const Attempt& a, const Attempt& b) {
      if (timed && *a.raw.submitted_at != *b.raw.submitted_at)
        return *a.raw.submitted_at < *b.raw.submitted_at;
      return a.raw.number < b.raw.number;
    });
    int number = 0;
    for (Attempt& attempt : group.attempts) {
      number = std::max(number + 1, attempt.raw.number);
      attempt.number = number;
    }
  }

  // Who handed in alone and later with others is where the latest attempt is.
  void keep_each_student_in_one_group() {
    std::map<std::size_t, Group*> home;
    const auto latest = [](const Group& group) { return group.attempts.back().time().value_or(0); };
    for (auto& [key, group] : groups_) {
      for (std::size_t member : group.members) {
        Group*& before = home[member];
        if (before == nullptr || latest(group) >= latest(*before)) before = &group;
      }
    }
    for (auto& [key, group] : groups_)
      std::erase_if(group.members, [&](std::size_t member) { return home[member] != &group; });
  }

  void choose(Group& group) {
    if (group.members.empty()) return;
    std::vector<Attempt*> taken;
    for (Attempt& attempt : group.attempts) {
      if (attempt.refusal)
        attempt.status = "refused";
      else
        taken.push_back(&attempt);
    }
    const std::string stem = safe_submission_id(
        group.team.empty() ? roster_.students()[group.attempts[0].student].id : group.team);
    if (taken.empty()) {  // the refusal itself is what is judged, and told
      group.attempts.back().submission = unique(stem);
      return;
    }
    if (options_.attempts == "last") taken.erase(taken.begin(), taken.end() - 1);
    if (options_.attempts == "first") taken.resize(1);
    for (Attempt* attempt : taken) {
      attempt->status = "graded";
      attempt->submission =
          unique(taken.size() > 1 ? fmt::format("{}.attempt-{}", stem, attempt->number) : stem);
    }
  }

  std::string unique(std::string id) {
    while (!ids_.insert(id).second) id += "-2";
    return id;
  }

  std::optional<std::int64_t> deadline_of(const Group& group) const {
    std::optional<std::int64_t> extended;
    for (std::size_t member : group.members) {
      const auto& own = roster_.students()[member].deadline;
      if (own && (!extended || *own > *extended)) extended = own;
    }
    return extended ? extended : deadline_;
  }

  json describe_attempt(const Group& group, const Attempt& attempt) const {
    json members = json::array();
    for (std::size_t member : group.members) members.push_back(roster_.students()[member].id);
    json result{{"student", roster_.students()[attempt.student].id},
                {"members", members},
                {"attempt", attempt.number},
                {"origin", attempt.raw.origin},
                {"status", attempt.status}};
    if (!group.team.empty()) result["team"] = group.team;
    if (attempt.arrived_at) result["arrived_at"] = format_time(*attempt.arrived_at);
    if (const auto time = attempt.time()) {
      result["submitted_at"] = format_time(*time);
      if (const auto deadline = deadline_of(group))
        result["late_s"] = std::max<std::int64_t>(0, *time - *deadline);
    }
    if (attempt.raw.late_marked) result["late_marked"] = true;
    if (!attempt.submission.empty()) result["submission"] = attempt.submission;
    if (attempt.snapshot) {
      result["snapshot"] = "snapshots/" + attempt.snapshot->hash;
      result["hash"] = attempt.snapshot->hash;
      result["bytes"] = attempt.snapshot->bytes;
      result["files"] = attempt.snapshot->files;
    }
    if (attempt.refusal) result["refusal"] = attempt.refusal->to_json();
    return result;
  }

  json describe() const {
    json students = json::array(), attempts = json::array();
    for (const Student& student : roster_.students()) students.push_back(student.to_json());
    for (const auto& [key, group] : groups_)
      for (const Attempt& attempt : group.attempts) attempts.push_back(describe_attempt(group, attempt));
    json result{{"schema", "warpgrade.class.v1"},
                {"run", folder_.root().filename().string()},
                {"created_at", format_time(std::time(nullptr))},
                {"source", {{"layout", layout_}, {"path", fs::absolute(options_.source).string()}}},
                {"attempts_policy", options_.attempts},
                {"students", students},
                {"attempts", attempts}};
    result["timezone"] = zone_.name();
    if (deadline_) result["deadline"] = format_time(*deadline_);
    if (!left_aside_.empty()) result["left_aside"] = left_aside_;
    if (options_.rolling) {
      result["rolling"] = true;
      result["seen"] = seen_stamps_;
    }
    return result;
  }

  const IngestOptions& options_;
  const RunFolder& folder_;
  TemporaryDirectory scratch_;
  TimeZone zone_;
  Roster roster_;
  std::size_t on_roster_ = 0;   // the first so many of its students; the others were added
  std::set<std::size_t> seen_;  // students who handed in
  std::optional<std::int64_t> deadline_;
  std::string layout_;
  std::vector<std::string> left_aside_;
  std::vector<Refusal> unsafe_entries_;
  json seen_stamps_ =
      json::object();  // of rolling hand-ins: by origin, as they lay there when they were taken
  std::map<std::string, Group> groups_;
  std::set<std::string> ids_;
};

Submission submission_of(const RunFolder& folder, const json& attempt,
                         const std::map<std::string, json>& students, const std::string& lab) {
  Submission submission;
  if (attempt.contains("snapshot")) {
    const fs::path snapshot = folder.root() / attempt.at("snapshot").get<std::string>();
    if (!fs::is_directory(snapshot) || snapshot_hash(snapshot) != attempt.at("hash").get<std::string>()) {
      throw UsageError(
          "{} is not what was taken in: its contents have changed; put it back, or take the class in anew "
          "with --fresh",
          snapshot.string());
    }
    submission = read_submission(snapshot, lab, Role::kStudent);
  } else {
    const json& refusal = attempt.at("refusal");
    submission.role = Role::kStudent;
    submission.interface = lab + ".h";
    submission.problem =
        fmt::format("{} ({}); {}", refusal.at("message").get<std::string>(),
                    refusal.at("reason").get<std::string>(), refusal.at("next_step").get<std::string>());
  }
  submission.id = attempt.at("submission");
  const json& student = students.at(attempt.at("student").get<std::string>());
  submission.title =
      plain_line(attempt.value("team", student.value("name", student.at("id").get<std::string>())));
  submission.about = json::object();
  for (const char* key : {"student", "members", "team", "attempt", "submitted_at", "late_s", "late_marked"})
    if (attempt.contains(key)) submission.about[key] = attempt[key];
  if (attempt.contains("refusal")) submission.about["refused"] = attempt["refusal"].at("reason");
  return submission;
}

}  // namespace

json ingest(const IngestOptions& options, const RunFolder& folder) {
  make_directories(folder.root());
  remove_staged(folder.root() / "snapshots");
  const json before = options.rolling && folder.has_class() ? folder.read_class() : json();
  json result = Ingest(options, folder).take();
  // Looking again and again at a folder in which nothing happens writes nothing.
  if (before.is_object()) result["created_at"] = before.at("created_at");
  if (result == before) return result;
  write_text(folder.class_file(), result.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return result;
}

std::vector<json> new_attempts(const json& before, const json& now) {
  std::set<std::pair<std::string, int>> known;
  if (before.is_object())
    for (const json& attempt : before.at("attempts"))
      known.emplace(attempt.at("student"), attempt.at("attempt"));
  std::vector<json> fresh;
  for (const json& attempt : now.at("attempts"))
    if (!known.contains({attempt.at("student"), attempt.at("attempt")})) fresh.push_back(attempt);
  return fresh;
}

std::vector<Submission> class_submissions(const RunFolder& folder, const std::string& lab) {
  const json taken = folder.read_class();
  std::map<std::string, json> students;
  for (const json& student : taken.at("students")) students[student.at("id")] = student;
  std::vector<Submission> submissions;
  for (const json& attempt : taken.at("attempts"))
    if (attempt.contains("submission")) submissions.push_back(submission_of(folder, attempt, students, lab));
  std::sort(submissions.begin(), submissions.end(),
            [](const Submission& a, const Submission& b) { return a.id < b.id; });
  return submissions;
}

}  // namespace warpgrade
