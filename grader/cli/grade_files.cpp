#include "cli/grade_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/process.h"
#include "base/reports_module.h"
#include "course/batch/error_of.h"
#include "course/exports/exports.h"
#include "course/exports/worksheet.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// What courseware imports as one table.
constexpr std::pair<const char*, std::string (*)(const Views&, const std::string&)> kTables[] = {
    {"canvas", canvas_csv},           {"moodle", moodle_csv}, {"blackboard", blackboard_csv},
    {"brightspace", brightspace_csv}, {"sakai", sakai_csv},   {"prairielearn-csv", prairielearn_csv}};

// Nobody's file of an earlier export stays.
void remove_earlier(const fs::path& folder, const std::string& ending) {
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ending) files.push_back(entry.path());
  for (const fs::path& file : files) fs::remove(file);
}

}  // namespace

std::string GradeFiles::table_name(const std::string& format) {
  if (format == "ilias") return "ilias.zip";
  return format.ends_with("-csv") ? format.substr(0, format.size() - 4) + ".csv" : format + ".csv";
}

void GradeFiles::write(const std::set<std::string>& formats, const std::string& lab,
                       const std::string& column, const std::string& source_root) {
  if (formats.contains("view"))
    write_each("view", ".json", [](const json& view) { return json_text(view, 1) + "\n"; });
  write_code_hosts(formats, source_root);
  if (formats.contains("gradescope")) {
    write_each("gradescope", ".json",
               [](const json& view) { return json_text(gradescope_results(view), 1) + "\n"; });
    if (whole_)
      write_text(output_ / "gradescope-students.json",
                 json_text(gradescope_students(students_.everyone), 1) + "\n");
  }
  if (formats.contains("autolab"))
    write_each("autolab", ".txt", [](const json& view) { return json_text(autolab_scores(view)) + "\n"; });
  if (formats.contains("prairielearn"))
    write_each("prairielearn", ".json",
               [](const json& view) { return json_text(prairielearn_results(view), 1) + "\n"; });
  write_tables(formats, column);
  if (formats.contains("ilias")) write_ilias(lab);
  if (formats.contains("junit") && !students_.graded.empty())
    write_text(written_["junit"] = output_ / "junit.xml", junit_xml(students_.graded));
}

void GradeFiles::write_code_hosts(const std::set<std::string>& formats, const std::string& source_root) {
  if (formats.contains("github")) {
    write_each("github", ".txt", [&](const json& view) { return github_annotations(view, source_root); });
    write_each("github", ".md", github_summary);
  }
  if (formats.contains("gitlab"))
    write_each("gitlab", ".json",
               [&](const json& view) { return json_text(gitlab_quality(view, source_root), 1) + "\n"; });
}

std::string GradeFiles::write_worksheet(const fs::path& worksheet, const std::optional<std::string>& column) {
  const FilledWorksheet filled = fill_worksheet(worksheet, students_.graded, column);
  write_text(written_["worksheet"] = output_ / worksheet.filename(), filled.text);
  return filled.note;
}

// One file a student, named by the student's id.
void GradeFiles::write_each(const std::string& format, const std::string& ending,
                            const std::function<std::string(const json&)>& text_of) {
  const fs::path folder = written_[format] = output_ / format;
  if (whole_) remove_earlier(folder, ending);
  make_directories(folder);
  for (const json& view : students_.graded) {
    throw_if_interrupted();
    const std::string id = view.at("person").at("id");
    const auto why = error_of([&] {
      inject("export", view.value("submission", json::object()).value("id", ""));
      write_unsynced(folder / (file_name_of(id) + ending), text_of(view));
    });
    if (why) troubles_.emplace(id, *why);
  }
}

void GradeFiles::write_tables(const std::set<std::string>& formats, const std::string& column) {
  const Views& graded = students_.graded;
  const auto on_roster = std::count_if(graded.begin(), graded.end(), [&](const json& view) {
    return !is_not_on_roster(view.at("person"), students_.everyone);
  });
  for (const auto& [format, text_of] : kTables) {
    if (!formats.contains(format)) continue;
    const fs::path file = output_ / table_name(format);
    left_out_[format] = left_out_of(format, graded);
    if (std::ssize(left_out_[format]) >= on_roster) {
      fs::remove(file);  // one of an earlier export
      continue;
    }
    const std::string text = text_of(graded, column);
    write_text(written_[format] = file, text);
    hashes_[file.filename().string()] = sha256(text);
  }
}

// ILIAS takes no marks from a file, but feedback: a zip with a folder for each person, whose name ends in
// ILIAS' own number of the person (Exercise, ilExAssignment::getMultiFeedbackFiles).
void GradeFiles::write_ilias(const std::string& lab) {
  const TemporaryDirectory scratch("warpgrade-ilias");
  const fs::path file = output_ / table_name("ilias"), root = scratch.path() / ("multi_feedback_" + lab);
  int packed = 0;
  for (const json& view : students_.graded) {
    const Person person = view.at("person");
    const std::string& number = person.lms_id;
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) {
      left_out_["ilias"].push_back(person.id);
      continue;
    }
    const fs::path folder = root / (file_name_of(person.id) + "_" + number);
    make_directories(folder);
    write_scratch(folder / "feedback.txt", feedback_text(view));
    ++packed;
  }
  if (packed == 0) {
    fs::remove(file);
    return;
  }
  run_reports_module("warpgrade_reports.archive", {scratch.path().string(), file.string()});
  written_["ilias"] = file;
}

}  // namespace warpgrade
