// In place of grades.cpp where SQLite is not installed: the commands are there and say what is missing.
#include "base/error.h"
#include "cli/grades.h"

namespace warpgrade {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "this warpgrade was built without SQLite, so it has no gradebook; install libsqlitecpp-dev and build "
      "again. Points are in the run's scores.json, and `warpgrade export` works without a gradebook");
}

}  // namespace

void collect_into(const std::filesystem::path&, const std::filesystem::path&, const std::string&, bool) {
  refuse();
}
std::string default_author() {
  return "";
}
std::optional<std::filesystem::path> gradebook_of(const std::filesystem::path& run) {
  if (!std::filesystem::exists(run / "gradebook.json")) return std::nullopt;
  return run / "gradebook.json";
}
const Fields& final_grade_fields() {
  static const Fields none;
  return none;
}
FinalGrades final_grades(const std::filesystem::path& run, const std::optional<std::filesystem::path>& given,
                         const RunParts*) {
  if (given || gradebook_of(run)) refuse();
  return {};
}
int list_grades(const GradesOptions&) {
  refuse();
}
int override_grade(const GradesOptions&) {
  refuse();
}
int show_history(const GradesOptions&) {
  refuse();
}
int show_totals(const GradesOptions&) {
  refuse();
}
int import_grades(const GradesOptions&) {
  refuse();
}
int appeal_grade(const GradesOptions&) {
  refuse();
}
int list_appeals(const GradesOptions&) {
  refuse();
}

}  // namespace warpgrade
