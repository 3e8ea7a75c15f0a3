// `warpgrade export`: a run's grades for other programs and for people.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/process.h"
#include "base/reports_module.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/commands.h"
#include "cli/exported_class.h"
#include "cli/grade_files.h"
#include "cli/similar_options.h"
#include "cli/view_file.h"
#include "course/batch/class_run.h"
#include "course/batch/error_of.h"
#include "course/exports/exports.h"
#include "course/exports/staff_facts.h"
#include "course/feedback/board.h"
#include "course/score/score.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct ExportOptions {
  fs::path run;
  fs::path output;  // default: RUN/export
  std::vector<std::string> formats;
  std::optional<fs::path> gradebook, policy, ladder;
  SimilarOptions similar;
  std::optional<std::string> student, column;
  std::string source_root;
  std::optional<fs::path> worksheet;
  std::string unfinished = "refuse", not_submitted = "empty", username = "login";
  bool no_pdf = false, without_overrides = false, all_graded = false;
};

const std::vector<std::string> kFormats{
    "gradescope", "autolab",      "canvas",           "moodle", "blackboard",  "brightspace", "sakai",
    "ilias",      "prairielearn", "prairielearn-csv", "junit",  "leaderboard", "feedback",    "class-report"};
// For one student's repository or for another program; a class has no use for them.
const std::vector<std::string> kForOne{"view", "github", "gitlab"};
// What says nothing of a grade that somebody would enter.
const std::set<std::string> kPages{"leaderboard", "feedback", "class-report"};

std::string few_of(const std::vector<std::string>& ids) {
  constexpr std::size_t kMostNamed = 10;
  const std::vector<std::string> named(ids.begin(), ids.begin() + std::min(kMostNamed, ids.size()));
  const std::string more =
      ids.size() > kMostNamed ? fmt::format(" and {} more", ids.size() - kMostNamed) : "";
  return fmt::format("{}{}", fmt::join(named, ", "), more);
}

json read_object(const fs::path& file, const std::string& next) {
  json value = json::parse(read_text(file), nullptr, false);
  if (!value.is_object()) throw UsageError("{}: expected a JSON object; {}", file.string(), next);
  return value;
}

class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options), formats_(options.formats.begin(), options.formats.end()) {
    if (formats_.empty()) formats_.insert(kFormats.begin(), kFormats.end());
    output_ = options.output.empty() ? options.run / "export" : options.output;
  }

  // Who needs a person, as the staff's page lists it.
  int show_attention(bool as_json) {
    read_run();
    choose_students();
    const TemporaryDirectory scratch("warpgrade-attention");
    write_text(scratch.path() / "people.json", json_text(people()) + "\n");
    std::vector<std::string> arguments{options_.run.string(), "--people",
                                       (scratch.path() / "people.json").string()};
    options_.similar.append_to(arguments);
    if (as_json) arguments.emplace_back("--json");
    fmt::print("{}", run_reports_module("warpgrade_reports.attention", arguments));
    return kExitGraded;
  }

  // The exit code: that of a judge's fault where a student's files are missing.
  int execute() {
    if (options_.similar.is_asked() && !wants("class-report"))
      throw UsageError("--against and --keep-fingerprints belong to the class report: name class-report too");
    const TemporaryDirectory scratch("warpgrade-export");
    // Pages take longest, and each kind is a process of its own: they run beside what is read and written here.
    std::list<ReportsRun> pages;
    if (wants("class-report")) start_class_report(scratch.path(), pages);
    read_run();
    choose_students();
    refuse_unfinished();
    if (wants("class-report")) {
      write_text(scratch.path() / "people.json", json_text(people()) + "\n");
      pages.front().go_on();
    }
    start_pages(scratch.path(), pages);
    parts_.records = {};  // what is left to write is in the views
    write_data();
    for (ReportsRun& page : pages) wait_for(page);
    made_from_["formats"] = formats_;
    write_text(output_ / "made-from.json", json_text(made_from_, 1) + "\n");
    tell("made from {}\n", made_from_.at("text").get<std::string>());
    if (!worksheet_note_.empty()) tell("{}\n", worksheet_note_);
    print_limits();
    for (const auto& [format, file] : written_) tell("{:<13} {}\n", format, file.string());
    if (troubles_.empty()) return kExitGraded;
    std::string list;
    for (const auto& [what, why] : troubles_)
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", what, why);
    say("not everything could be written; what is missing: {}\n", list);
    return kExitJudgeFault;
  }

 private:
  bool wants(const char* format) const { return formats_.contains(format); }

  void read_run() {
    const RunFolder folder(options_.run);
    parts_.folder = options_.run;
    parts_.run = folder.read_run();
    parts_.records = folder.read_records(fields_of({view_fields(), score_fields(), final_grade_fields()}));
    const fs::path class_file = options_.run / "submissions.json";
    if (fs::exists(class_file)) parts_.class_list = read_object(class_file, "ingest the class again");
    policy_ = options_.policy ? load_policy(*options_.policy, vocabulary_of(parts_.run))
                              : policy_of(folder, parts_.run);
    policy_.visibility.board = board_at(policy_, parts_.class_list);
    if (!fs::exists(folder.scores_file())) {
      throw UsageError("{}: the run is not scored yet; `warpgrade collect {}` does that",
                       folder.scores_file().string(), options_.run.string());
    }
    const Policy own = policy_of(folder, parts_.run);
    parts_.scores = score(own, parts_.run, parts_.records, journey_counts(folder, own));
    if (json_text(parts_.scores, 1) + "\n" == read_text(folder.scores_file())) return;
    const json written = read_object(folder.scores_file(), "`warpgrade collect` makes it anew");
    if (json::parse(json_text(parts_.scores)) != written) {
      throw UsageError(
          "{} does not follow from the run's records and policy any more; `warpgrade collect {}` makes it "
          "anew",
          folder.scores_file().string(), options_.run.string());
    }
  }

  // What another format met does not hold up the others.
  void wait_for(ReportsRun& page) {
    try {
      page.wait();
    } catch (const JudgeFault& fault) {
      troubles_.emplace("pages", fault.what());
    }
  }

  void choose_students() {
    FinalGrades finals;
    if (!options_.without_overrides) finals = final_grades(options_.run, options_.gradebook, &parts_);
    describe_sources(finals.gradebook);
    appeals_ = finals.appeals;
    students_ = exported_class(policy_, parts_, finals, made_from_.at("text"),
                               {options_.not_submitted == "zero", options_.all_graded});
    for (Views* views : {&students_.own, &students_.everyone, &students_.graded})
      views->change_each([&](json& view) { set_login(view); });
    if (students_.everyone.empty())
      throw UsageError("{}: no student's submission is in this run", options_.run.string());
    if (options_.student) keep_one_student();
    note_students();
    for (const json& view : students_.everyone)
      if (view.contains("trouble")) troubles_.emplace(view.at("person").at("id"), view.at("trouble"));
  }

  // Where the roster knows no user names, its ids or addresses may be them: only the instructor knows.
  void set_login(json& view) const {
    json& person = view.at("person");
    if (options_.username != "login" && person.contains(options_.username))
      person["login"] = person[options_.username];
  }

  void keep_one_student() {
    const auto is_other = [&](const json& view) { return view.at("person").at("id") != *options_.student; };
    const bool known = std::any_of(students_.everyone.begin(), students_.everyone.end(),
                                   [&](const json& view) { return !is_other(view); });
    if (!known) throw UsageError("{}: no student '{}' in this run", options_.run.string(), *options_.student);
    students_.graded.erase_if(is_other);
    std::erase_if(students_.unfinished,
                  [&](const auto& unfinished) { return unfinished.student != *options_.student; });
  }

  // Points of a submission with open cases are out of less than they are worth.
  void refuse_unfinished() const {
    const bool grades = std::any_of(formats_.begin(), formats_.end(),
                                    [](const std::string& format) { return !kPages.contains(format); });
    if (students_.unfinished.empty() || !grades || options_.unfinished == "leave-empty") return;
    throw UsageError(
        "{}: cases are not judged yet, so these students' points would be out of less than they are worth: "
        "{}. Judge them (`warpgrade batch {}`), or export the others alone: --unfinished leave-empty",
        options_.run.string(), unfinished_text(students_), options_.run.string());
  }

  // Whose cell stays empty, and whose grade comes from where.
  void note_students() {
    json unfinished = json::array();
    for (const auto& [student, undecided, total] : students_.unfinished)
      unfinished.push_back({{"student", student}, {"undecided_cases", undecided}, {"total_cases", total}});
    made_from_["students"] = {{"exported", students_.graded.size()},
                              {"unfinished", unfinished},
                              {"not_submitted", students_.absent},
                              {"not_submitted_is", options_.not_submitted},
                              {"graded_in_other_runs", students_.graded_elsewhere},
                              {"from_other_runs", students_.from_other_runs}};
  }

  // What every export says it was made from.
  void describe_sources(const json& gradebook) {
    const std::string hash = parts_.scores.value("policy_hash", "");
    std::string text = fmt::format("run {}, policy {} ({})", parts_.run.at("run").get<std::string>(),
                                   parts_.scores.value("policy_name", "?"), hash.substr(0, 8));
    if (gradebook.is_object())
      text += fmt::format(", gradebook {} at entry {} ({}), {} grades set by hand",
                          fs::path(gradebook.at("path").get<std::string>()).filename().string(),
                          gradebook.at("entry").get<std::int64_t>(), gradebook.at("at").get<std::string>(),
                          gradebook.at("overrides").get<int>());
    else
      text += options_.without_overrides ? ", computed points without overrides" : ", no gradebook";
    made_from_ = {{"schema", "warpgrade.made-from.v1"},
                  {"text", text},
                  {"run", parts_.run.at("run")},
                  {"lab", parts_.run.at("lab")},
                  {"policy_name", parts_.scores.value("policy_name", "")},
                  {"policy_hash", hash},
                  {"scores", sha256(read_text(options_.run / "scores.json"))},
                  {"gradebook", gradebook}};
  }

  // Who is missing in what courseware imports, and what is still open in it.
  void print_limits() const {
    print_students();
    std::vector<std::string> unmatched;
    for (const View view : students_.graded)
      if (is_not_on_roster(view.person, students_.everyone)) unmatched.push_back(view.person.id);
    if (!unmatched.empty())
      tell("not on the roster, so in no courseware's import that cannot find them: {}\n",
           fmt::join(unmatched, ", "));
    for (const auto& [format, missing] : left_out_) {
      if (missing.empty()) continue;
      if (written_.contains(format))
        tell("not in {0}, since the roster has nothing for them by which {1} finds people: {2}\n",
             GradeFiles::table_name(format), format, few_of(missing));
      else
        tell("no {0}: the roster has nothing by which {1} finds people\n", GradeFiles::table_name(format),
             format);
    }
    const double most = parts_.scores.at("max_points"),
                 measured = parts_.scores.value("measured_points", most);
    if (measured < most)
      tell("{}: {:g} of {:g} points are open, so these grades are not final\n",
           why_points_are_open(parts_.scores.value("open_note", ""), parts_.scores.value("limits_note", "")),
           most - measured, most);
  }

  void print_students() const {
    if (options_.student) return;
    tell("{} students have a grade here\n", students_.graded.size());
    if (!students_.unfinished.empty())
      tell("left empty, since cases are not judged yet: {}\n", unfinished_text(students_));
    if (!students_.absent.empty())
      tell("without a cell, since they handed in nothing in any run (--not-submitted zero makes it 0): {}\n",
           few_of(students_.absent));
    if (!students_.graded_elsewhere.empty())
      tell("left out, since their hand-in is in another run (--all-graded takes them in): {}\n",
           few_of(students_.graded_elsewhere));
    std::map<std::string, std::vector<std::string>> by_run;
    for (const auto& [student, run] : students_.from_other_runs) by_run[run].push_back(student);
    for (const auto& [run, students] : by_run) tell("graded in run {}: {}\n", run, few_of(students));
    for (const auto& [student, run] : students_.without_that_folder)
      tell("of {} the points alone: the folder of run {} is not where it was collected\n", student, run);
  }

  // It reads the records itself, so it need not wait until they are read here; who is in the class it hears then.
  void start_class_report(const fs::path& scratch, std::list<ReportsRun>& pages) {
    written_["class-report"] = output_ / "class-report/index.html";
    std::vector<std::string> arguments{options_.run.string(), "--output",
                                       (output_ / "class-report").string()};
    options_.similar.append_to(arguments);
    if (options_.ladder) arguments.insert(arguments.end(), {"--ladder", options_.ladder->string()});
    if (options_.no_pdf) arguments.push_back("--no-pdf");
    arguments.insert(arguments.end(), {"--people", (scratch / "people.json").string()});
    pages.emplace_back("warpgrade_reports.class_report", std::move(arguments), ReportsRun::Begin::kHalf);
  }

  void start_pages(const fs::path& scratch, std::list<ReportsRun>& pages) {
    make_directories(output_);
    if (wants("feedback")) {
      write_views(scratch / "views.json");
      std::vector<std::string> arguments{(scratch / "views.json").string(), "--output",
                                         (output_ / "feedback").string()};
      if (options_.student) arguments.push_back("--keep");
      pages.emplace_back("warpgrade_reports.feedback", std::move(arguments));
      written_["feedback"] = output_ / "feedback";
    }
    if (wants("leaderboard") && policy_.visibility.leaderboard && !students_.own.empty()) {
      const fs::path page = written_["leaderboard"] = output_ / "leaderboard.html";
      write_text(
          scratch / "leaderboard.json",
          json_text(leaderboard(students_.own, policy_.visibility.board, std::time(nullptr)), 1) + "\n");
      pages.emplace_back(
          "warpgrade_reports.leaderboard",
          std::vector<std::string>{(scratch / "leaderboard.json").string(), "--output", page.string()});
    }
  }

  // As the students get them, so that nobody has to write them anew.
  void write_views(const fs::path& file) {
    write_text(file, [&](const AddText& add) {
      students_.everyone.change_each([&](json& view) {
        if (!view.contains("submission") || !is_wanted(view)) return;
        view["file"] = file_name_of(view.at("person").at("id"));
        add(json_text(view, 1) + "\n");
        view.erase("file");
      });
    });
  }

  // What the class report tells of each student, for the staff's eyes.
  json people() const {
    const bool pages = wants("feedback") || fs::exists(output_ / "feedback/index.html");
    const StaffFacts facts(parts_, policy_);
    json list = json::array();
    for (const View view : students_.everyone) {
      const Person& person = view.person;
      json item = {{"id", person.id},
                   {"name", person.name},
                   {"points", view.points ? json(*view.points) : json()},
                   {"max_points", view.max_points},
                   {"verdict", view.verdict},
                   {"on_roster", !is_not_on_roster(person, students_.everyone)}};
      const auto add = [&](const char* key, const std::string& text) {
        if (!text.empty()) item[key] = text;
      };
      add("graded_in", view.graded_in);
      add("email", person.email);
      if (const auto appeal = appeals_.find(person.id); appeal != appeals_.end())
        item["appeal"] = appeal->second;
      if (view.late) item["late"] = view.late->note;
      if (view.refusal) item["refusal"] = view.refusal->message;
      if (view.unfinished) item["unfinished"] = true;
      if (view.overridden) item["overridden"] = true;
      if (const std::string& id = view.submission.id; !id.empty()) {
        item["submission"] = id;
        if (view.graded_in.empty()) item.update(facts.of(id));
        if (pages) item["page"] = "../feedback/" + file_name_of(person.id) + "/index.html";
      }
      list.push_back(std::move(item));
    }
    return {
        {"schema", "warpgrade.people.v1"}, {"made_from", made_from_.at("text")}, {"people", std::move(list)}};
  }

  bool is_wanted(const json& view) const {
    return !options_.student || view.at("person").at("id") == *options_.student;
  }

  void write_data() {
    const std::string lab = parts_.run.at("lab");
    GradeFiles files(students_, output_, !options_.student);
    files.write(formats_, lab, options_.column.value_or(lab), options_.source_root);
    if (options_.worksheet) worksheet_note_ = files.write_worksheet(*options_.worksheet, options_.column);
    written_.insert(files.written().begin(), files.written().end());
    troubles_.insert(files.troubles().begin(), files.troubles().end());
    left_out_ = files.left_out();
    made_from_["files"] = files.hashes_of_tables();
  }

  const ExportOptions& options_;
  std::set<std::string> formats_;
  fs::path output_;
  RunParts parts_;
  Policy policy_;
  ExportedClass students_;
  std::map<std::string, std::string> appeals_;  // open, by student
  std::string worksheet_note_;
  std::map<std::string, fs::path> written_;
  std::map<std::string, std::vector<std::string>> left_out_;  // ids of students, by format
  GradeFiles::Troubles troubles_;
  json made_from_;
};

// The exit code, as of a run's export.
int export_view(const ExportOptions& options) {
  if (options.formats.empty() || options.output.empty())
    throw UsageError("{}: of a view --format and --output are needed: which files, and where",
                     options.run.string());
  const std::set<std::string> formats(options.formats.begin(), options.formats.end());
  for (const std::string& format : formats)
    if (!formats_of_a_view().contains(format))
      throw UsageError("{}: a view alone is not enough for '{}'; there is {}", options.run.string(), format,
                       fmt::join(formats_of_a_view(), ", "));
  const ExportedClass student = class_of_view(options.run);
  const std::string lab = student.graded.front().at("lab");
  GradeFiles files(student, options.output, true);
  files.write(formats, lab, lab, options.source_root);
  for (const auto& [format, file] : files.written()) fmt::print("{:<13} {}\n", format, file.string());
  for (const auto& [who, why] : files.troubles()) say("{}: {}\n", who, why);
  return files.troubles().empty() ? kExitGraded : kExitJudgeFault;
}

void add_attention_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<ExportOptions>();
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "attention",
      "who in a class needs a person: refused, no source, no kernel, near a threshold, faults, appeals ...");
  command->add_option("run", options->run, "a run's folder, scored")->required();
  command->add_option("--gradebook", options->gradebook, "the course's gradebook; default: the run's own")
      ->envname("WARPGRADE_GRADEBOOK");
  options->similar.add_compared(*command);
  command->add_flag("--without-overrides", options->without_overrides, "without the gradebook");
  command->add_flag("--json", *as_json, "for programs");
  command->callback([options, as_json, &code] { code = Export(*options).show_attention(*as_json); });
}

}  // namespace

void add_export_command(CLI::App& app, int& code) {
  add_attention_command(app, code);
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "a run's grades for courseware, students and staff");
  command->add_option("run", options->run, "a run's folder, scored; or one student's view, a file")
      ->required();
  std::vector<std::string> formats = kFormats;
  formats.insert(formats.end(), kForOne.begin(), kForOne.end());
  command
      ->add_option(
          "--format", options->formats,
          fmt::format("of {}; default: all but the last {}", fmt::join(formats, ", "), kForOne.size()))
      ->delimiter(',')
      ->check(CLI::IsMember(formats));
  command->add_option("--output", options->output, "a folder; default: RUN/export");
  command
      ->add_option("--gradebook", options->gradebook,
                   "take overrides from it; default: the one that the run was collected into")
      ->envname("WARPGRADE_GRADEBOOK");
  command->add_flag("--without-overrides", options->without_overrides,
                    "the computed points, whatever a gradebook says");
  command->add_option(
      "--column", options->column,
      "the assignment's name in the courseware, for instance \"Lab 1 (4711)\"; default: the lab");
  command->add_option("--student", options->student, "of this student alone");
  command
      ->add_option(
          "--unfinished", options->unfinished,
          "of students with cases that are not judged yet: refuse, or leave-empty: export the others")
      ->check(CLI::IsMember({"refuse", "leave-empty"}))
      ->capture_default_str();
  command
      ->add_option("--not-submitted", options->not_submitted,
                   "of the roster's students who handed in nothing in any run: empty, or zero")
      ->check(CLI::IsMember({"empty", "zero"}))
      ->capture_default_str();
  command->add_flag("--all-graded", options->all_graded,
                    "also the roster's students whose hand-in is in another run of the lab");
  command
      ->add_option("--worksheet", options->worksheet,
                   "Moodle's grading worksheet or Sakai's grades.csv, as downloaded: a filled copy is "
                   "written")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--username", options->username,
                   "what courseware calls the user name: the roster's login, its id, or its email")
      ->check(CLI::IsMember({"login", "id", "email"}))
      ->capture_default_str();
  command->add_option("--policy", options->policy,
                      "what students may see by another policy than the run's own");
  command
      ->add_option("--ladder", options->ladder,
                   "a run of the staff's steps on the class's model of GPU, to show between which steps a "
                   "class stands")
      ->check(CLI::ExistingDirectory);
  options->similar.add_compared(*command);
  options->similar.add_kept(*command);
  command->add_option("--source-root", options->source_root,
                      "where a repository has the sources, for remarks at their lines (github, gitlab)");
  command->add_flag("--no-pdf", options->no_pdf, "the class report as HTML alone");
  command->callback([options, &code] {
    if (fs::is_regular_file(options->run)) {
      code = export_view(*options);
      return;
    }
    static Export* const whole =
        new Export(*options);  // to free a class's views takes a tenth of this process's time
    code = whole->execute();
  });
}

}  // namespace warpgrade
