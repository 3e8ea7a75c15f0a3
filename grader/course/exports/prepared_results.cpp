// Results that a platform's own autograder returns: PrairieLearn's results.json (docs/externalGrading.md,
// "Grading results", of github.com/PrairieLearn/PrairieLearn) and who is who for Gradescope's.
#include <algorithm>

#include "course/exports/exports.h"

namespace warpgrade {
using nlohmann::json;

json prairielearn_results(const json& view) {
  json tests = json::array();
  for (const json& line : view.at("cases")) {
    json test = {{"name", line.at("id")},
                 {"points", line.value("points", 0.0)},
                 {"max_points", line.value("max_points", 0.0)},
                 {"message", line.value("note", "")},
                 {"output", case_text(line)}};
    tests.push_back(std::move(test));
  }
  const double most = view.at("max_points"), points = view.at("points");
  return {{"gradable", true},
          {"score", most > 0 ? std::clamp(points / most, 0.0, 1.0) : 0.0},
          {"message", headline(view)},
          {"tests", tests}};
}

json gradescope_students(const Views& everyone) {
  json students = json::array();
  for (const json& view : everyone) {
    const json& person = view.at("person");
    json student = {{"id", person.at("id")}};
    for (const char* key : {"email", "login", "name"})
      if (person.contains(key)) student[key] = person[key];
    if (view.value("unfinished", false))
      student["why"] = "cases of this submission are not judged yet";
    else if (!view.contains("points"))
      student["why"] = "nothing of this student was judged";
    else
      student["file"] = file_name_of(person.at("id")) + ".json";
    students.push_back(std::move(student));
  }
  return {{"schema", "warpgrade.gradescope-students.v1"},
          {"run", everyone.front().at("run")},
          {"lab", everyone.front().at("lab")},
          {"students", students}};
}

}  // namespace warpgrade
