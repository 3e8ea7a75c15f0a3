// What differs between two states of a class, as people read it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/text.h"
#include "course/ingest/ingest.h"
#include "course/ingest/times.h"

namespace warpgrade {
using nlohmann::json;

namespace {

using Places = std::map<std::string, const json*>;

std::string lateness(const json& attempt) {
  if (!attempt.contains("late_s")) return "no deadline";
  const std::int64_t late = attempt.at("late_s");
  return late == 0 ? "in time" : fmt::format("{} h {} min late", late / 3600, late / 60 % 60);
}

// Each attempt by who handed it in and its number, which never change but for corrected ids.
std::string key_of(const json& attempt, const std::map<std::string, std::string>& now_called) {
  std::string student = attempt.at("student");
  if (const auto found = now_called.find(student); found != now_called.end()) student = found->second;
  return fmt::format("{}\n{}", student, attempt.at("attempt").get<int>());
}

class Differences {
 public:
  Differences(const json& before, const json& after)
      : before_(before), after_(after), zone_(TimeZone::named(after.value("timezone", "UTC"))) {
    for (const json& student : before.at("students")) was_.emplace(student.at("id"), &student);
    for (const json& student : after.at("students")) {
      is_.emplace(student.at("id"), &student);
      for (const json& former : student.value("former_ids", json::array()))
        now_called_.emplace(former, student.at("id"));
    }
  }

  std::vector<ClassDifference> all() {
    if (before_.value("deadline", "") != after_.value("deadline", ""))
      add("deadline", "", deadline_of(before_), deadline_of(after_));
    if (before_.at("attempts_policy") != after_.at("attempts_policy"))
      add("attempts", "", before_.at("attempts_policy"), after_.at("attempts_policy"));
    for (const auto& [id, student] : is_) compare_person(id, *student);
    for (const auto& [id, student] : was_)
      if (!is_.contains(id) && !now_called_.contains(id)) add("roster", id, "on it", "no longer");
    compare_attempts();
    return std::move(lines_);
  }

 private:
  void add(const std::string& what, const std::string& id, const std::string& before,
           const std::string& after) {
    std::string who = id;
    for (const Places* people : {&was_, &is_}) {  // as it is, before as it was
      const auto person = people->find(id);
      if (person == people->end()) continue;
      const std::string name = person->second->value("name", "");
      if (!name.empty() && name != id) who = fmt::format("{} ({})", name, id);
    }
    lines_.push_back({what, id, plain_line(who), plain_line(before), plain_line(after)});
  }

  std::string deadline_of(const json& of) const {
    return of.contains("deadline") ? zone_.text(*parse_time(of.at("deadline"))) : "none";
  }

  void compare_person(const std::string& id, const json& student) {
    const json* before = nullptr;
    if (const auto same = was_.find(id); same != was_.end()) before = same->second;
    for (const json& former : student.value("former_ids", json::array())) {
      const auto found = was_.find(former.get<std::string>());
      if (before != nullptr || found == was_.end()) continue;
      before = found->second;
      add("number", id, former, id);
    }
    if (before == nullptr) {
      add("roster", id, "not there", student.value("on_roster", true) ? "on it" : "not on it, handed in");
      return;
    }
    if (before->value("team", "") != student.value("team", ""))
      add("team", id, before->value("team", "none"), student.value("team", "none"));
    if (before->value("deadline", "") != student.value("deadline", ""))
      add("extension", id, deadline_of(*before), deadline_of(student));
  }

  std::string time_of(const json& attempt) const {
    if (!attempt.contains("submitted_at")) return "not known";
    const std::string text = zone_.text(*parse_time(attempt["submitted_at"]));
    return attempt.value("time_is_claimed", false) ? text + " (claimed)" : text;
  }

  std::string text_of(const json& attempt) const {
    std::string text = fmt::format("attempt {}", attempt.at("attempt").get<int>());
    if (attempt.contains("submitted_at")) text += ", " + zone_.text(*parse_time(attempt["submitted_at"]));
    if (attempt.at("status") == "refused") text += ", refused: " + attempt["refusal"].value("message", "");
    if (attempt.contains("corrects"))
      text += fmt::format(", in the place of attempt {}", attempt["corrects"].get<int>());
    return text;
  }

  void compare_attempts() {
    Places before;
    for (const json& attempt : before_.at("attempts")) before[key_of(attempt, now_called_)] = &attempt;
    for (const json& attempt : after_.at("attempts")) {
      const std::string id = attempt.at("student");
      const bool counts = attempt.contains("submission");
      const auto found = before.find(key_of(attempt, {}));
      if (found == before.end()) {
        add("hand-in", id, "none of it",
            text_of(attempt) + (counts ? "; is judged" : "; another one counts"));
        continue;
      }
      const json& was = *found->second;
      if (was.contains("submission") != counts)
        add("counts", id, was.contains("submission") ? text_of(was) : "",
            counts ? text_of(attempt)
                   : fmt::format("attempt {} counts no more", attempt["attempt"].get<int>()));
      if (counts && time_of(was) != time_of(attempt)) add("time", id, time_of(was), time_of(attempt));
      if (counts && lateness(was) != lateness(attempt)) add("late", id, lateness(was), lateness(attempt));
      if (counts && members_of(was) != members_of(attempt))
        add("members", id, fmt::format("{}", fmt::join(members_of(was), ", ")),
            fmt::format("{}", fmt::join(members_of(attempt), ", ")));
    }
  }

  std::set<std::string> members_of(const json& attempt) const {
    std::set<std::string> members;
    for (const json& member : attempt.at("members")) {
      const auto now = now_called_.find(member.get<std::string>());
      members.insert(now == now_called_.end() ? member.get<std::string>() : now->second);
    }
    return members;
  }

  const json &before_, &after_;
  TimeZone zone_;
  Places was_, is_;
  std::map<std::string, std::string> now_called_;  // by former id
  std::vector<ClassDifference> lines_;
};

}  // namespace

std::vector<ClassDifference> class_differences(const json& before, const json& after) {
  return Differences(before, after).all();
}

}  // namespace warpgrade
