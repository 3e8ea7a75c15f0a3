#include "course/ingest/ingest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "course/ingest/arrival.h"
#include "course/ingest/class_file.h"
#include "course/ingest/layout.h"
#include "course/ingest/repository_list.h"
#include "course/ingest/rolling.h"
#include "course/ingest/snapshot.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// "Ada Lovelace (s1)".
std::string person_text(const Student& student) {
  const std::string name = plain_line(student.name), id = plain_line(student.id);
  return name.empty() || name == id ? id : fmt::format("{} ({})", name, id);
}

class Ingest {
 public:
  Ingest(const IngestOptions& options, const RunFolder& folder)
      : options_(options), folder_(folder), scratch_("warpgrade-ingest") {
    taken_.zone = TimeZone::named(options.timezone);
    if (options.roster) taken_.roster = Roster::read(*options.roster, taken_.zone);
    on_roster_ = taken_.roster.students().size();
    if (!std::set<std::string>{"last", "first", "best"}.contains(options.attempts))
      throw UsageError("--attempts: expected last, first or best, got '{}'", options.attempts);
    if (options.deadline) taken_.deadline = time_of("--deadline", *options.deadline);
  }

  json take() {
    options_.rolling ? take_what_is_new() : take_all();
    return class_with_questions();
  }

  json change(const ClassChange& change) {
    const json before = folder_.read_class();
    if (!options_.roster) taken_.roster = roster_of(before);
    on_roster_ = taken_.roster.students().size();
    note_former_ids(before, taken_.roster);
    restore_class(before, folder_, taken_);
    taken_.left_aside = before.value("left_aside", std::vector<std::string>());
    const std::size_t known = taken_.roster.students().size();
    extend(change.extend);
    for (const auto& [who, at] : change.confirm) confirm_time(who, at);
    const std::string layout = taken_.layout;
    if (change.add) add(*change.add);
    for (const auto& [who, path] : change.replace) replace(who, path, change.handed_in);
    if (!options_.accept_unmatched) refuse_strangers_behind(known);
    taken_.layout = layout;
    if (options_.rolling) {
      taken_.groups.keep_each_student_in_one();
      taken_.groups.choose_all(taken_.roster);
    } else {
      choose();
    }
    json after = class_with_questions();
    for (const char* key : {"created_at", "source"}) after[key] = before.at(key);
    return after;
  }

 private:
  // With what the roster could not decide: the names that two students have.
  json class_with_questions() const {
    json result = class_json(taken_, options_, folder_);
    if (!taken_.roster.questions().empty()) result["questions"] = taken_.roster.questions();
    return result;
  }

  std::int64_t time_of(const char* option, const std::string& text) const {
    const auto time = parse_time(text, taken_.zone);
    if (!time) throw UsageError("{}: expected a time like 2026-03-18T23:59:00+01:00, got '{}'", option, text);
    return *time;
  }

  std::size_t student_named(const char* option, const std::string& who) const {
    StudentKeys keys;
    keys.keys = {who};
    const auto found = taken_.roster.find(keys);
    if (!found)
      throw UsageError(
          "{}: this class has nobody called '{}'; give an id, an e-mail address or a full name that one "
          "student alone has (`--take-in` lists them)",
          option, who);
    return *found;
  }

  void extend(const std::map<std::string, std::string>& extensions) {
    for (const auto& [who, until] : extensions) {
      Student& student = taken_.roster.students()[student_named("--extend", who)];
      taken_.extensions.erase(student.id);
      student.deadline.reset();
      if (until != "none") taken_.extensions[student.id] = time_of("--extend", until);
    }
    apply_extensions(taken_);
  }

  // A person says that the time of the attempt that counts is right, or which one is.
  void confirm_time(const std::string& who, const std::string& at) {
    std::optional<std::size_t> student;
    if (who != "all") student = student_named("--confirm-time", who);
    bool any = false;
    for (auto& [key, group] : taken_.groups.all()) {
      if (student && !group.members.contains(*student)) continue;
      for (Attempt& attempt : group.attempts) {
        if (!attempt.judged || (!student && !attempt.raw.time_is_claimed)) continue;
        any = true;
        attempt.raw.time_is_claimed = false;
        if (!at.empty()) attempt.raw.submitted_at = time_of("--confirm-time", at);
      }
    }
    if (!any) throw UsageError("--confirm-time {}: there is no hand-in whose time could be confirmed", who);
  }

  // Hand-ins that the class does not have yet. The same contents at the same time are the same hand-in.
  void add(const fs::path& source) {
    const Layout layout = layout_of(unpacked(source), options_.layout);
    find_owners(layout);
    for (const RawAttempt& raw : layout.attempts) {
      throw_if_interrupted();
      Attempt attempt = unpacked(raw);
      Group& group = group_of(attempt);
      const auto same = [&](const Attempt& other) {
        if (attempt.raw.submitted_at && other.raw.submitted_at &&
            *attempt.raw.submitted_at != *other.raw.submitted_at)
          return false;
        if (attempt.snapshot && other.snapshot) return attempt.snapshot->hash == other.snapshot->hash;
        return attempt.refusal && other.refusal && attempt.refusal->message == other.refusal->message;
      };
      if (std::none_of(group.attempts.begin(), group.attempts.end(), same))
        group.attempts.push_back(std::move(attempt));
    }
  }

  // What the staff takes in the place of a student's attempt that counts now; its time stays the student's.
  void replace(const std::string& who, const fs::path& path, const std::optional<std::string>& handed_in) {
    if (!fs::exists(path))
      throw UsageError("--replace {}: no such folder or archive: {}", who, path.string());
    RawAttempt raw;
    const Student& student = taken_.roster.students()[student_named("--replace", who)];
    StudentKeys owner;
    owner.keys = {student.id};
    owner.name = student.name;
    owner.email = student.email;
    raw.owners.push_back(std::move(owner));
    raw.origin = fs::absolute(path).lexically_normal().string();
    if (fs::is_directory(path))
      raw.folder = path;
    else
      raw.files.push_back({path, path.filename().string()});
    Attempt attempt = unpacked(raw);
    if (attempt.refusal)
      throw UsageError("--replace {}: {} is refused: {}; {}. Nothing was changed", who, path.string(),
                       attempt.refusal->message, attempt.refusal->next_step);
    Group& group = group_of(attempt);
    for (const Attempt& other : group.attempts) {
      if (!other.judged) continue;
      attempt.corrects = other.number;
      attempt.raw.submitted_at = other.time();
    }
    if (handed_in) attempt.raw.submitted_at = time_of("--handed-in", *handed_in);
    group.attempts.push_back(std::move(attempt));
  }

  void refuse_strangers_behind(std::size_t known) const {
    if (on_roster_ == 0) return;
    std::vector<std::string> strangers;
    for (std::size_t i = known; i < taken_.roster.students().size(); ++i)
      strangers.push_back(person_text(taken_.roster.students()[i]));
    if (strangers.empty()) return;
    if (strangers.size() > 3) strangers.resize(3);
    throw UsageError(
        "hand-ins of people who are not on the roster: {}. They were read as layout '{}'; --layout names "
        "another one. Correct the roster and give it with --roster, or take the hand-ins as they are with "
        "--accept-unmatched. Nothing was changed.",
        fmt::join(strangers, "; "), taken_.layout);
  }

  void choose() {
    taken_.groups.order();
    taken_.groups.keep_each_student_in_one();
    taken_.groups.choose(taken_.roster, options_.attempts);
  }

  void take_all() {
    const Layout layout = layout_of(unpacked(options_.source), options_.layout);
    find_owners(layout);
    if (!options_.accept_unmatched) refuse_unmatched();
    for (const RawAttempt& raw : layout.attempts) {
      throw_if_interrupted();
      Attempt attempt = unpacked(raw);
      group_of(attempt).attempts.push_back(std::move(attempt));
    }
    choose();
  }

  void take_what_is_new() {
    if (!fs::is_directory(options_.source))
      throw UsageError("--watch: {} is not a folder", options_.source.string());
    if (folder_.has_class()) {
      const json before = folder_.read_class();
      note_former_ids(before, taken_.roster);
      restore_class(before, folder_, taken_);
      apply_extensions(taken_);
    }
    if (!is_empty(options_.source)) {
      const Layout layout =
          layout_of(options_.source, taken_.layout.empty() ? options_.layout : taken_.layout);
      for (auto& [key, raw] : new_arrivals(layout, *options_.rolling, taken_.seen_stamps)) {
        throw_if_interrupted();
        take_arrival(raw.first, raw.second);
      }
    }
    taken_.groups.keep_each_student_in_one();
    taken_.groups.choose_all(taken_.roster);
  }

  void take_arrival(const RawAttempt& raw, const Arrival& arrival) {
    Attempt attempt = unpacked(raw);
    if (arrival_of(raw).stamp != arrival.stamp) return;  // it is written to: the next look takes it
    taken_.seen_stamps[raw.origin] = arrival.stamp;
    attempt.arrived_at = arrival.at;
    Group& group = group_of(attempt);
    add_arrival(group, std::move(attempt), *options_.rolling, taken_.zone);
  }

  Layout layout_of(const fs::path& source, const std::string& name) {
    Layout layout = read_layout(source, {name, options_.lab, taken_.zone, &taken_.roster, taken_.deadline,
                                         unsafe_entries_, scratch_.path()});
    taken_.layout = layout.name;
    taken_.left_aside = layout.left_aside;
    return layout;
  }

  static bool is_empty(const fs::path& folder) {
    return std::none_of(fs::directory_iterator(folder), fs::directory_iterator(),
                        [](const auto& entry) { return !entry.path().filename().string().starts_with("."); });
  }

  // A whole export in one archive is unpacked first; entries of it that are not safe are somebody's
  // own doing.
  fs::path unpacked(const fs::path& source) {
    if (fs::is_directory(source) || is_repository_list(source)) return source;
    if (!fs::exists(source)) throw UsageError("no such folder or archive: {}", source.string());
    if (!looks_like_archive(source))
      throw UsageError(
          "{} is neither a folder nor a .zip or .tar.gz with a class, nor a list of repositories (.txt, "
          ".csv)",
          source.string());
    const fs::path folder = scratch_.path() / "export";
    make_directories(folder);
    const auto refusal = unpack(fs::canonical(source), folder, UnpackLimits::of_a_class(),
                                [&](const Refusal& entry) { unsafe_entries_.push_back(entry); });
    if (refusal) throw UsageError("{}: {}", source.string(), refusal->message);
    return folder;
  }

  // What the export holds for this attempt that was not unpacked, or not fetched.
  static std::optional<Refusal> refused_on_the_way(const RawAttempt& raw) { return raw.refusal; }

  // Before anything is unpacked: an export and a roster that do not belong together are noticed at once. The
  // first pass learns the LMS' numbers, so that the second one finds the same person by name and by number.
  void find_owners(const Layout& layout) {
    for (const RawAttempt& raw : layout.attempts)
      for (const StudentKeys& owner : raw.owners) see(taken_.roster.find_or_add(owner));
  }

  // What one of a team hands in is of all of them.
  void see(std::size_t student) {
    seen_.insert(student);
    const std::string& team = taken_.roster.students()[student].team;
    for (std::size_t i = 0; i < on_roster_ && !team.empty(); ++i)
      if (taken_.roster.students()[i].team == team) seen_.insert(i);
  }

  void refuse_unmatched() const {
    if (on_roster_ == 0) return;  // without a roster everybody is welcome
    std::set<std::size_t> unmatched;
    for (std::size_t i = on_roster_; i < taken_.roster.students().size(); ++i) unmatched.insert(i);
    if (unmatched.empty()) return;
    const std::size_t matched = seen_.size() - unmatched.size();
    if (matched > 0 && 2 * matched >= on_roster_) return;
    std::vector<std::string> handed_in, listed;
    for (const std::size_t i : unmatched)
      if (handed_in.size() < 3) handed_in.push_back(person_text(taken_.roster.students()[i]));
    for (std::size_t i = 0; i < on_roster_ && listed.size() < 3; ++i)
      if (!seen_.contains(i)) listed.push_back(person_text(taken_.roster.students()[i]));
    throw UsageError(
        "{} of {} students of the roster are found in the hand-ins, and {} who handed in are not on it.\n"
        "  handed in, not on the roster: {}\n  on the roster, not found:     {}\n"
        "Is it this class's roster, and has it a column with what the export calls the students (id, e-mail "
        "address, name, canvas_id, ...)? The export was read as layout '{}'; --layout names another one. "
        "--accept-unmatched takes the hand-ins as they are. Nothing was kept.",
        matched, on_roster_, unmatched.size(), fmt::join(handed_in, "; "), fmt::join(listed, "; "),
        taken_.layout);
  }

  Attempt unpacked(const RawAttempt& raw) {
    Attempt attempt;
    attempt.raw = raw;
    attempt.student = taken_.roster.find_or_add(raw.owners[0]);
    attempt.refusal = refused_on_the_way(raw);
    if (!attempt.refusal) {
      auto taken = take_snapshot(raw, folder_.root() / "snapshots", options_.limits);
      if (auto* snapshot = std::get_if<Snapshot>(&taken)) attempt.snapshot = *snapshot;
      if (auto* refusal = std::get_if<Refusal>(&taken)) attempt.refusal = *refusal;
    }
    return attempt;
  }

  Group& group_of(const Attempt& attempt) {
    std::set<std::size_t> members;
    for (const StudentKeys& owner : attempt.raw.owners) members.insert(taken_.roster.find_or_add(owner));
    return taken_.groups.of(taken_.roster, attempt.student, members);
  }

  const IngestOptions& options_;
  const RunFolder& folder_;
  TemporaryDirectory scratch_;
  ClassInProgress taken_;
  std::size_t on_roster_ = 0;   // the first so many of its students; the others were added
  std::set<std::size_t> seen_;  // students who handed in
  std::vector<Refusal> unsafe_entries_;
};

}  // namespace

void write_class(const RunFolder& folder, const json& taken) {
  write_text(folder.class_file(), taken.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

json changed_class(const IngestOptions& options, const ClassChange& change, const RunFolder& folder) {
  const json before = folder.read_class();
  IngestOptions now = options;
  now.timezone = before.value("timezone", options.timezone);
  now.roster = change.roster;
  now.attempts = change.attempts.value_or(before.at("attempts_policy"));
  now.deadline =
      before.contains("deadline") ? std::optional<std::string>(before.at("deadline")) : std::nullopt;
  if (change.deadline) now.deadline = change.deadline == "none" ? std::nullopt : change.deadline;
  if (before.value("rolling", false) && !now.rolling) now.rolling = RollingOptions();
  remove_staged(folder.root() / "snapshots");
  return Ingest(now, folder).change(change);
}

json ingest(const IngestOptions& options, const RunFolder& folder) {
  make_directories(folder.root());
  remove_staged(folder.root() / "snapshots");
  const json before = options.rolling && folder.has_class() ? folder.read_class() : json();
  json result = Ingest(options, folder).take();
  // Looking again and again at a folder in which nothing happens writes nothing.
  if (before.is_object()) result["created_at"] = before.at("created_at");
  if (result == before) return result;
  write_class(folder, result);
  return result;
}

}  // namespace warpgrade
