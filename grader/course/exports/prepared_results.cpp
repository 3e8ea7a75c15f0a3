// Results that a platform's own autograder returns: PrairieLearn's results.json (docs/externalGrading.md,
// "Grading results", of github.com/PrairieLearn/PrairieLearn) and who is who for Gradescope's.
#include <algorithm>

#include "course/exports/exports.h"

namespace warpgrade {
using nlohmann::json;

json prairielearn_results(const View& view) {
  json tests = json::array();
  for (const ScoredCase& line : view.cases)
    tests.push_back({{"name", line.id},
                     {"points", line.points},
                     {"max_points", line.max_points},
                     {"message", line.note},
                     {"output", case_text(line)}});
  const double most = view.max_points, points = view.points.value_or(0);
  return {{"gradable", true},
          {"score", most > 0 ? std::clamp(points / most, 0.0, 1.0) : 0.0},
          {"message", headline(view)},
          {"tests", tests}};
}

json gradescope_students(const Views& everyone) {
  json students = json::array();
  for (const View view : everyone) {
    json student = {{"id", view.person.id}};
    const auto add = [&](const char* key, const std::string& value) {
      if (!value.empty()) student[key] = value;
    };
    add("email", view.person.email);
    add("login", view.person.login);
    add("name", view.person.name);
    if (view.unfinished)
      student["why"] = "cases of this submission are not judged yet";
    else if (!view.points)
      student["why"] = "nothing of this student was judged";
    else
      student["file"] = file_name_of(view.person.id) + ".json";
    students.push_back(std::move(student));
  }
  return {{"schema", "warpgrade.gradescope-students.v1"},
          {"run", View(everyone.front()).run},
          {"lab", View(everyone.front()).lab},
          {"students", students}};
}

}  // namespace warpgrade
