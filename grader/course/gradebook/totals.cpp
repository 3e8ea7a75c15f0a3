#include "course/gradebook/totals.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/yaml_place.h"

namespace warpgrade {
namespace {

// A lab's share of what it is worth; nothing: there is no grade, or it does not count.
struct Share {
  const Course::Lab* lab;
  double part;
};

std::vector<Share> shares_of(const Course& course, const std::set<std::string>& with_runs,
                             const StudentTotal& student) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < course.labs.size(); ++i) {
    const Course::Lab& lab = course.labs[i];
    const std::optional<Grade>& grade = student.grades[i];
    if (!with_runs.contains(lab.name)) continue;
    if (grade && grade->points && grade->max_points > 0)
      shares.push_back({&lab, *grade->points / grade->max_points});
    else if (course.missing_is_zero && !lab.bonus)
      shares.push_back({&lab, 0});
  }
  return shares;
}

void drop_lowest(const Course& course, std::vector<Share>& shares, StudentTotal& student) {
  for (int i = 0; i < course.drop_lowest; ++i) {
    const auto counting =
        std::count_if(shares.begin(), shares.end(), [](const Share& s) { return !s.lab->bonus; });
    if (counting < 2) return;  // one always stays
    const auto lowest = std::min_element(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
      return a.lab->bonus != b.lab->bonus ? b.lab->bonus : a.part < b.part;
    });
    student.dropped.push_back(lowest->lab->name);
    shares.erase(lowest);
  }
}

void add_up(const Course& course, const std::set<std::string>& with_runs, StudentTotal& student) {
  if (!student.unfinished.empty()) return;
  std::vector<Share> shares = shares_of(course, with_runs, student);
  drop_lowest(course, shares, student);
  double earned = 0, weights = 0;
  for (const Share& share : shares) {
    earned += share.lab->weight * share.part;
    if (!share.lab->bonus) weights += share.lab->weight;
  }
  if (weights > 0) student.total = course.points * earned / weights;
}

}  // namespace

Course read_course(const std::filesystem::path& file) {
  const YamlPlace top = YamlPlace::parse(read_text(file), file.string());
  top.only({"schema", "title", "points", "missing", "drop_lowest", "labs"});
  top["schema"].word({"warpgrade.course.v1"});
  Course course;
  course.points = top["points"].number_or(100, 1, 1e6);
  course.missing_is_zero = top["missing"].word({"zero", "left_out"}) == "zero";
  if (top["drop_lowest"].defined()) course.drop_lowest = static_cast<int>(top["drop_lowest"].whole(0, 100));
  for (const auto& [name, place] : top["labs"].entries()) {
    place.only({"weight", "bonus"});
    course.labs.push_back({name, place["weight"].number_or(1, 0, 1e6), place["bonus"].truth_or(false)});
  }
  if (std::none_of(course.labs.begin(), course.labs.end(),
                   [](const Course::Lab& lab) { return !lab.bonus && lab.weight > 0; }))
    top["labs"].refuse("expected at least one lab with a weight above 0 that is no bonus");
  return course;
}

CourseTotals totals_of(const Course& course, const std::vector<Grade>& grades) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < course.labs.size(); ++i) places[course.labs[i].name] = i;
  std::map<std::string, StudentTotal> students;
  std::set<std::string> with_runs;
  for (const Grade& grade : grades) {
    const auto place = places.find(grade.lab);
    if (place == places.end()) continue;
    with_runs.insert(grade.lab);
    StudentTotal& student = students[grade.student];
    student.student = grade.student;
    if (!grade.name.empty()) student.name = grade.name;
    student.grades.resize(course.labs.size());
    student.grades[place->second] = grade;
    if (grade.unfinished()) student.unfinished.push_back(grade.lab);
  }
  CourseTotals totals;
  for (auto& [id, student] : students) {
    add_up(course, with_runs, student);
    totals.students.push_back(std::move(student));
  }
  for (const Course::Lab& lab : course.labs)
    if (!with_runs.contains(lab.name)) totals.without_runs.push_back(lab.name);
  return totals;
}

}  // namespace warpgrade
