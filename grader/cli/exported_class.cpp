#include "cli/exported_class.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "course/batch/class_run.h"
#include "course/feedback/board.h"
#include "course/score/score.h"
#include "record/verdict.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// Another run of the lab, read when the first student's grade comes from there.
class OtherRuns {
 public:
  OtherRuns(const Policy& policy, const FinalGrades& finals, const std::string& made_from)
      : policy_(policy), finals_(finals), made_from_(made_from) {}

  // The student's view in that run; nullptr: its folder is not there, or is not this run any more.
  const json* view(const std::string& folder, const std::string& run, const std::string& student) {
    const auto [found, fresh] = views_.try_emplace(folder);
    if (fresh) found->second = read(folder, run);
    const auto view = found->second.find(student);
    return view == found->second.end() ? nullptr : &view->second;
  }

 private:
  std::map<std::string, json> read(const fs::path& folder, const std::string& run) const {
    const RunFolder other(folder);
    std::map<std::string, json> views;
    if (!other.exists() || !fs::exists(other.scores_file())) return views;
    RunParts parts;
    parts.folder = folder;
    parts.run = other.read_run();
    if (parts.run.value("run", "") != run) return views;
    parts.records = other.read_records(fields_of({view_fields(), score_fields()}));
    if (other.has_class()) parts.class_list = other.read_class();
    Policy policy = policy_of(other, parts.run);
    parts.scores = score(policy, parts.run, parts.records, journey_counts(other, policy));
    policy.visibility = policy_.visibility;
    for (json& view : feedback_views(policy, parts, {}, finals_.points, made_from_)) {
      const std::string student = view.at("person").at("id");
      views.emplace(student, std::move(view));
    }
    return views;
  }

  const Policy& policy_;
  const FinalGrades& finals_;
  const std::string made_from_;
  std::map<std::string, std::map<std::string, json>> views_;  // by folder, student
};

// Points alone, where the run with the cases is not there.
void keep_points_alone(const FinalPoints& final, json& view) {
  for (const char* key :
       {"submission", "compile", "late", "gates", "hidden", "refusal", "parts", "computed_points"})
    view.erase(key);
  view["cases"] = json::array();
  view["points"] = *final.points;
  view["verdict"] = "graded_elsewhere";
  view["overridden"] = final.overridden;
  if (!final.late_note.empty()) view["late"] = {{"note", final.late_note}};
}

class Sorting {
 public:
  Sorting(const Policy& policy, const RunParts& parts, const FinalGrades& finals,
          const std::string& made_from, const ExportChoice& choice)
      : finals_(finals), choice_(choice), run_(parts.run.at("run")), others_(policy, finals, made_from) {}

  ExportedClass of(std::vector<json> views) {
    for (json& view : views) sort(std::make_shared<json>(std::move(view)));
    return std::move(students_);
  }

 private:
  void sort(Views::Shared view) {
    if (view->at("verdict") != Verdict::kNotSubmitted && view->value("undecided_cases", 0) == 0)
      students_.own.push_back(view);
    const std::string id = view->at("person").at("id");
    const auto found = finals_.points.find(id);
    const FinalPoints* final = found == finals_.points.end() ? nullptr : &found->second;
    const bool here = view->at("verdict") != Verdict::kNotSubmitted;
    if (final != nullptr && final->points && final->run != run_ && !final->run.empty() &&
        !final->submission.empty()) {
      if (!here && !choice_.all_graded) {
        students_.graded_elsewhere.push_back(id);
        view->erase("points");
        students_.everyone.push_back(std::move(view));
        return;
      }
      view = std::make_shared<json>(*view);  // the leaderboard shows this run's
      take_from(*final, id, *view);
    } else if (!here && !(final != nullptr && final->points)) {
      if (!choice_.zero_for_absent) {
        students_.absent.push_back(id);
        view->erase("points");
        students_.everyone.push_back(std::move(view));
        return;
      }
      (*view)["points"] = 0.0;
    }
    add(std::move(view), id, final);
  }

  void take_from(const FinalPoints& final, const std::string& id, json& view) {
    students_.from_other_runs[id] = final.run;
    const json person = view.at("person");
    const json pseudonym = view.value("pseudonym", json());
    if (const json* other = others_.view(final.folder, final.run, id)) {
      view = *other;
    } else {
      students_.without_that_folder[id] = final.run;
      keep_points_alone(final, view);
    }
    view["person"] = person;
    view["graded_in"] = final.run;
    if (pseudonym.is_string()) view["pseudonym"] = pseudonym;
  }

  void add(Views::Shared view, const std::string& id, const FinalPoints* final) {
    const bool by_hand = view->value("overridden", false);
    const int undecided = final != nullptr && final->run == view->value("run", "")
                              ? final->undecided_cases
                              : view->value("undecided_cases", 0);
    if (undecided > 0 && !by_hand) {
      (*view)["unfinished"] = true;
      students_.unfinished.push_back({id, undecided, view->value("total_cases", undecided)});
    } else {
      students_.graded.push_back(view);
    }
    students_.everyone.push_back(std::move(view));
  }

  const FinalGrades& finals_;
  const ExportChoice choice_;
  const std::string run_;
  OtherRuns others_;
  ExportedClass students_;
};

}  // namespace

ExportedClass exported_class(const Policy& policy, const RunParts& parts, const FinalGrades& finals,
                             const std::string& made_from, const ExportChoice& choice) {
  const std::map<std::string, std::string> names = pseudonyms(pseudonym_key(parts.folder), parts.run);
  ExportedClass students = Sorting(policy, parts, finals, made_from, choice)
                               .of(feedback_views(policy, parts, names, finals.points, made_from));
  const std::int64_t now = std::time(nullptr);
  if (lists_other_attempts(policy.visibility.board, now))
    students.own = board_views(policy, parts, names, now);
  return students;
}

std::string unfinished_text(const ExportedClass& students) {
  std::vector<std::string> texts;
  for (const auto& [student, undecided, total] : students.unfinished)
    texts.push_back(fmt::format("{} ({} of {} cases)", student, undecided, total));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace warpgrade
