#include "course/gradebook/gradebook.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "course/gradebook/schema.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json scored(const json& submission, double points, const std::string& verdict) {
  json line = submission;
  line.update({{"points", points},
               {"max_points", 100},
               {"verdict", verdict},
               {"correct_cases", verdict == "accepted" ? 1 : 0},
               {"total_cases", 1},
               {"undecided_cases", 0},
               {"over_threshold", 0},
               {"threshold_cases", 1}});
  line["cases"] = {{{"id", "cora-k32"},
                    {"dataset", "cora"},
                    {"k", 32},
                    {"kind", "speed"},
                    {"verdict", verdict},
                    {"points", points},
                    {"max_points", 100},
                    {"ratio", {{"median", 1.5}, {"low", 1.4}, {"high", 1.6}}}}};
  return line;
}

RunParts run_of(const std::string& name, const std::string& made, const std::vector<json>& submissions,
                const std::vector<double>& points) {
  RunParts run;
  run.run = {{"run", name},
             {"lab", "spmm"},
             {"created_at", made},
             {"backend", "cuda"},
             {"submissions", submissions}};
  run.scores = {
      {"policy_name", "spmm"}, {"policy_hash", "p1"}, {"max_points", 100}, {"submissions", json::array()}};
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    run.scores["submissions"].push_back(
        scored(submissions[i], points[i], points[i] > 50 ? "accepted" : "wrong_answer"));
    run.records.push_back(json{{"submission", {{"id", submissions[i].at("id")}}},
                               {"case", {{"id", "cora-k32"}}},
                               {"outcome", {{"verdict", "accepted"}, {"reason", "r"}}},
                               {"checksum", "c"}});
  }
  run.folder = "/runs/" + name;
  return run;
}

json student(const std::string& id) {
  return {{"id", id}, {"title", "Name of " + id}, {"role", "student"}, {"hash", "h-" + id}};
}

class GradebookTest : public ::testing::Test {
 protected:
  TemporaryDirectory scratch_{"gradebook-test"};
  fs::path file_ = scratch_.path() / "grades.sqlite";

  CollectSummary collect(const RunParts& run) {
    return Gradebook(file_, GradebookMode::kCreate).collect(run, "tester");
  }
  std::vector<Grade> grades(const GradeFilter& filter = {}) {
    return Gradebook(file_, GradebookMode::kRead).grades(filter);
  }
  void set(std::optional<double> points, const std::string& reason = "appeal",
           const std::string& author = "Prof") {
    Gradebook(file_, GradebookMode::kWrite).override_grade("ada", "spmm", points, reason, author);
  }
};

TEST_F(GradebookTest, CollectingTwiceChangesNoByte) {
  const RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {student("ada"), student("bob")}, {80, 30});
  const CollectSummary first = collect(run);
  EXPECT_EQ(first.attempts_added, 2);
  EXPECT_EQ(first.cases_added, 2);
  const std::string before = read_text(file_);
  EXPECT_TRUE(collect(run).nothing());
  EXPECT_EQ(read_text(file_), before);
}

TEST_F(GradebookTest, AnotherPolicyChangesTheScoreAndTheHistorySaysFromWhatToWhat) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {80}));
  RunParts again = run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {90});
  again.scores["policy_hash"] = "p2";
  EXPECT_EQ(collect(again).scores_changed, 1);
  EXPECT_DOUBLE_EQ(grades().front().points.value(), 90);
  const auto history = Gradebook(file_, GradebookMode::kRead).history("ada");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(json::parse(history[1].at("before").get<std::string>()).at("points"), 80);
  EXPECT_EQ(json::parse(history[1].at("after").get<std::string>()).at("policy_hash"), "p2");
}

TEST_F(GradebookTest, ARunOfTheSameNameMadeAtAnotherTimeIsRefused) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {80}));
  EXPECT_THROW(collect(run_of("w1", "2026-02-02T00:00:00Z", {student("ada")}, {10})), UsageError);
  EXPECT_DOUBLE_EQ(grades().front().points.value(), 80);
}

TEST_F(GradebookTest, ABrokenRunLeavesNothingBehind) {
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {80});
  run.scores["submissions"][0]["id"] = "nobody";  // a score of a submission that the run does not have
  EXPECT_THROW(collect(run), UsageError);
  EXPECT_TRUE(grades().empty());
}

TEST_F(GradebookTest, AnOverrideCountsUntilItIsWithdrawnAndCollectingKeepsIt) {
  const RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30});
  collect(run);
  set(77);
  collect(run);
  Grade grade = grades().front();
  EXPECT_DOUBLE_EQ(grade.points.value(), 77);
  EXPECT_DOUBLE_EQ(grade.computed_points.value(), 30);
  ASSERT_TRUE(grade.override_by);
  EXPECT_EQ(grade.override_by->reason, "appeal");
  set(std::nullopt, "appeal was for another lab");
  grade = grades().front();
  EXPECT_DOUBLE_EQ(grade.points.value(), 30);
  EXPECT_FALSE(grade.override_by);
  EXPECT_EQ(Gradebook(file_, GradebookMode::kRead).history("ada").size(), 3u);
}

TEST_F(GradebookTest, OverridesWithoutReasonAuthorStudentOrSensiblePointsAreRefused) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30}));
  EXPECT_THROW(set(50, "  "), UsageError);
  EXPECT_THROW(set(50, "why", ""), UsageError);
  EXPECT_THROW(set(-1), UsageError);
  EXPECT_THROW(set(std::nullopt), UsageError) << "nothing to take back";
  Gradebook book(file_, GradebookMode::kWrite);
  EXPECT_THROW(book.override_grade("eve", "spmm", 5, "why", "Prof"), UsageError);
  EXPECT_EQ(book.history(std::nullopt).size(), 1u);
}

TEST_F(GradebookTest, TheAuditTrailAndOverridesCannotBeRewritten) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30}));
  set(77);
  SQLite::Database database(file_.string(), SQLite::OPEN_READWRITE);
  for (const char* attack : {"UPDATE audit SET author = 'x'", "DELETE FROM audit",
                             "UPDATE overrides SET points = 100", "DELETE FROM overrides"}) {
    EXPECT_THROW(database.exec(attack), SQLite::Exception) << attack;
  }
}

TEST_F(GradebookTest, OneWriterAtATimeAndReadersBesideIt) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30}));
  const Gradebook writer(file_, GradebookMode::kWrite);
  EXPECT_THROW(Gradebook(file_, GradebookMode::kWrite, 0.1), UsageError);
  EXPECT_EQ(grades().size(), 1u);
}

TEST_F(GradebookTest, TheLatestRunCountsUnlessTheBestIsAsked) {
  collect(run_of("w2", "2026-01-08T00:00:00Z", {student("ada")}, {60}));
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {80}));  // collected later, made earlier
  ASSERT_EQ(grades().size(), 1u);
  EXPECT_EQ(grades().front().run, "w2");
  EXPECT_EQ(grades({.best = true}).front().run, "w1");
  EXPECT_EQ(grades({.every_attempt = true}).size(), 2u);
  EXPECT_DOUBLE_EQ(grades({.run = "w1"}).front().points.value(), 80);
}

TEST_F(GradebookTest, IngestSaysWhichOfSeveralAttemptsCounts) {
  json first = student("ada-1"), second = student("ada-2");
  first.update({{"student", "ada"}, {"members", {"ada"}}, {"attempt", 1}});
  second.update({{"student", "ada"}, {"members", {"ada"}}, {"attempt", 2}});
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {first, second}, {80, 60});
  collect(run);
  EXPECT_EQ(grades().front().submission, "ada-2");
  run.scores["submissions"][1]["counts"] = false;
  collect(run);
  EXPECT_EQ(grades().front().submission, "ada-1");
}

TEST_F(GradebookTest, ATeamsPointsGoToEachMemberAndTheRostersAbsenteesAreListed) {
  json team = student("t1");
  team.update({{"student", "ada"}, {"members", {"ada", "bob"}}, {"team", "Warp"}});
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {team}, {80});
  run.class_list = {{"students",
                     {{{"id", "ada"}, {"name", "Ada"}, {"email", "a@x"}},
                      {{"id", "bob"}, {"name", "Боб"}},
                      {{"id", "zoe"}, {"name", "Zoë"}}}},
                    {"attempts", json::array()}};
  collect(run);
  const std::vector<Grade> all = grades();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].name, "Боб");
  EXPECT_EQ(all[1].team, "Warp");
  EXPECT_DOUBLE_EQ(all[1].points.value(), 80);
  EXPECT_EQ(all[2].student, "zoe");
  EXPECT_EQ(all[2].verdict, "not_submitted");
  EXPECT_FALSE(all[2].points) << "nothing handed in is no 0";
}

json person(const std::string& id, const std::string& name = "") {
  return {{"id", id}, {"name", name.empty() ? "Name of " + id : name}};
}

TEST_F(GradebookTest, AnAppealsRunWithTheWholeRosterTouchesNobodyElse) {
  RunParts first = run_of("w1", "2026-01-01T00:00:00Z", {student("ada"), student("bob")}, {80, 30});
  first.class_list = {{"students", {person("ada"), person("bob"), person("zoe")}}};
  collect(first);
  RunParts appeal = run_of("appeal", "2026-02-01T00:00:00Z", {student("bob")}, {70});
  appeal.class_list = first.class_list;
  collect(appeal);
  const std::vector<Grade> all = grades();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].run, "w1");
  EXPECT_DOUBLE_EQ(all[0].points.value(), 80);
  EXPECT_EQ(all[1].run, "appeal");
  EXPECT_DOUBLE_EQ(all[1].points.value(), 70);
  EXPECT_FALSE(all[2].points);
}

TEST_F(GradebookTest, AnAttemptThatLeftTheRunCountsNoMore) {
  json first = student("ada-1"), second = student("ada-2");
  for (json* attempt : {&first, &second}) attempt->update({{"student", "ada"}, {"members", {"ada"}}});
  collect(run_of("w1", "2026-01-01T00:00:00Z", {first}, {95}));
  EXPECT_EQ(collect(run_of("w1", "2026-01-01T00:00:00Z", {second}, {40})).attempts_superseded, 1);
  EXPECT_EQ(grades({.every_attempt = true}).size(), 1u);
  EXPECT_EQ(grades().front().submission, "ada-2");
  EXPECT_DOUBLE_EQ(grades({.best = true}).front().points.value(), 40);
  EXPECT_EQ(collect(run_of("w1", "2026-01-01T00:00:00Z", {second}, {40})).attempts_superseded, 0);
}

TEST_F(GradebookTest, ACorrectedNumberTakesPointsOverrideAndAppealWithIt) {
  json work = student("t1");
  work.update({{"student", "ada"}, {"members", {"ada"}}});
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {work}, {30});
  run.class_list = {{"students", {person("ada")}}};
  collect(run);
  set(77);
  Gradebook(file_, GradebookMode::kWrite).appeal("ada", "spmm", "a case is wrong", "Prof");
  run.run["submissions"][0].update({{"student", "ada2"}, {"members", {"ada2"}}});
  json corrected = person("ada2");
  corrected["former_ids"] = {"ada"};
  run.class_list = {{"students", {corrected}}};
  EXPECT_EQ(collect(run).students_renamed, 1);
  EXPECT_EQ(collect(run).students_renamed, 0);
  const std::vector<Grade> all = grades();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].student, "ada2");
  EXPECT_DOUBLE_EQ(all[0].points.value(), 77);
  ASSERT_TRUE(all[0].override_by);
  EXPECT_NE(all[0].override_by->reason.find("former number ada"), std::string::npos)
      << all[0].override_by->reason;
  const Gradebook book(file_, GradebookMode::kRead);
  ASSERT_EQ(book.open_appeals().size(), 1u);
  EXPECT_EQ(book.open_appeals().front().student, "ada2");
  // A lab that was graded before the correction comes again with the number of then.
  RunParts earlier = run_of("other", "2025-12-01T00:00:00Z", {work}, {60});
  earlier.run["lab"] = "histogram";
  earlier.class_list = {{"students", {person("ada")}}};
  collect(earlier);
  EXPECT_EQ(grades({.lab = "histogram"}).front().student, "ada2");
}

TEST_F(GradebookTest, ANumberThatAnotherStudentHasMovesNothing) {
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {student("ada"), student("bob")}, {30, 90});
  json corrected = person("bob");
  corrected["former_ids"] = {"ada"};
  run.class_list = {{"students", {person("ada"), corrected}}};
  EXPECT_EQ(collect(run).students_renamed, 0);
  EXPECT_EQ(grades().size(), 2u);
}

TEST_F(GradebookTest, ChangesOfTheClassEnterTheAuditOnce) {
  RunParts run = run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30});
  run.class_list = {{"changes",
                     {{{"at", "2026-01-02T00:00:00Z"},
                       {"author", "Prof"},
                       {"reason", "ill"},
                       {"action", "extension"},
                       {"student", "ada"}}}}};
  EXPECT_EQ(collect(run).changes_noted, 1);
  EXPECT_EQ(collect(run).changes_noted, 0);
  const auto history = Gradebook(file_, GradebookMode::kRead).history("ada");
  EXPECT_EQ(history.back().at("action"), "extension");
  EXPECT_EQ(history.back().at("at"), "2026-01-02T00:00:00Z");
  EXPECT_EQ(history.back().at("author"), "Prof");
}

// A run of a lab with slip days; `late_s` of its one submission, of a team where `members` are several.
RunParts late_run(const std::string& lab, const std::string& deadline, double late_s,
                  const std::vector<std::string>& members, const char* per = "student") {
  json work = student(lab + "-work");
  work.update({{"student", members.front()}, {"members", members}, {"late_s", late_s}});
  if (members.size() > 1) work["team"] = "Warp";
  RunParts run = run_of("run-" + lab, deadline, {work}, {100});
  run.run["lab"] = lab;
  run.class_list = {{"deadline", deadline}};
  run.scores["late_rules"] = {
      {"percent_per_day", 10}, {"cap_percent", 100}, {"slip_days", 3}, {"slip_days_per", per}};
  return run;
}

TEST_F(GradebookTest, SlipDaysAreSpentInTheOrderOfTheDeadlines) {
  // Collected in another order than their deadlines'.
  collect(late_run("c", "2026-03-01T00:00:00Z", 86400, {"ada"}));
  collect(late_run("b", "2026-02-01T00:00:00Z", 2 * 86400, {"ada"}));
  collect(late_run("a", "2026-01-01T00:00:00Z", 2 * 86400, {"ada"}));
  const std::vector<Grade> all = grades();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_DOUBLE_EQ(all[0].points.value(), 100);
  EXPECT_DOUBLE_EQ(all[0].slip_days, 2);
  EXPECT_DOUBLE_EQ(all[1].points.value(), 90) << "one day was left";
  EXPECT_DOUBLE_EQ(all[1].slip_days, 1);
  EXPECT_DOUBLE_EQ(all[2].points.value(), 90) << "none was left";
  EXPECT_DOUBLE_EQ(grades({.lab = "c"}).front().points.value(), 90)
      << "one lab alone is asked after the others, too";
  Gradebook(file_, GradebookMode::kWrite).override_grade("ada", "a", 50, "why", "Prof");
  EXPECT_DOUBLE_EQ(grades({.lab = "b"}).front().points.value(), 100) << "what a person decides uses none";
}

TEST_F(GradebookTest, ATeamsSlipDaysAreSpentOnceForAllItsMembers) {
  collect(late_run("a", "2026-01-01T00:00:00Z", 2 * 86400, {"ada", "bob"}, "team"));
  collect(late_run("b", "2026-02-01T00:00:00Z", 2 * 86400, {"ada", "bob"}, "team"));
  for (const Grade& grade : grades()) {
    EXPECT_DOUBLE_EQ(grade.points.value(), grade.lab == "a" ? 100 : 90) << grade.student << grade.lab;
    EXPECT_DOUBLE_EQ(grade.slip_days, grade.lab == "a" ? 2 : 1);
  }
}

TEST_F(GradebookTest, AnAppealIsOpenUntilItIsClosedOrThePointsAreSet) {
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {30}));
  Gradebook book(file_, GradebookMode::kWrite);
  EXPECT_THROW(book.appeal("eve", "spmm", "why", "Prof"), UsageError);
  EXPECT_THROW(book.close_appeal("ada", "spmm", "why", "Prof"), UsageError) << "none is open";
  book.appeal("ada", "spmm", "a case is wrong", "Prof");
  ASSERT_EQ(book.open_appeals().size(), 1u);
  book.override_grade("ada", "spmm", 50, "granted", "Prof");
  EXPECT_TRUE(book.open_appeals().empty());
  book.appeal("ada", "spmm", "again", "Prof");
  book.close_appeal("ada", "spmm", "heard", "Prof");
  EXPECT_TRUE(book.open_appeals().empty());
  EXPECT_EQ(book.history("ada").back().at("action"), "appeal closed");
}

TEST_F(GradebookTest, AFileOfVersionOneIsBroughtUpToDateInPlace) {
  {
    SQLite::Database old(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(kGradebookSchema);
    old.exec(R"sql(PRAGMA user_version = 1;
INSERT INTO runs VALUES ('w1', 'spmm', '2026-01-01T00:00:00Z', 'cuda', 'spmm', 'p1', 'h', 100, '/runs/w1');
INSERT INTO students VALUES ('w1', 'ada', 'Ada', 'a@x', NULL, NULL);
INSERT INTO attempts VALUES ('w1', 'ada', 'Ada', 'student', NULL, 1, NULL, NULL, 'h-ada', 'spmm.h', NULL);
INSERT INTO members VALUES ('w1', 'ada', 'ada');
INSERT INTO scores VALUES ('w1', 'ada', 30, 100, NULL, NULL, 1, 'accepted', 1, 1, 0, 0, 1, 'p1');
INSERT INTO overrides VALUES (1, '2026-01-02T00:00:00Z', 'Prof', 'ada', 'spmm', 77, 'appeal');)sql");
  }
  EXPECT_DOUBLE_EQ(grades().front().points.value(), 77) << "a reader is enough";
  EXPECT_DOUBLE_EQ(grades().front().computed_points.value(), 30);
  EXPECT_EQ(SQLite::Database(file_.string()).execAndGet("PRAGMA user_version").getInt(), 2);
  collect(run_of("w1", "2026-01-01T00:00:00Z", {student("ada")}, {40}));
  EXPECT_DOUBLE_EQ(grades().front().computed_points.value(), 40);
}

TEST_F(GradebookTest, OtherFilesAndNewerVersionsAreRefusedByName) {
  EXPECT_THROW(Gradebook(file_, GradebookMode::kRead), UsageError) << "nothing there";
  EXPECT_FALSE(fs::exists(file_));
  write_text(file_, "this is no database, only a text that is long enough to be looked at for a header");
  EXPECT_THROW(Gradebook(file_, GradebookMode::kCreate), UsageError);
  fs::remove(file_);
  {
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  }
  EXPECT_THROW(Gradebook(file_, GradebookMode::kCreate), UsageError);
  { SQLite::Database(file_.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99"); }
  EXPECT_THROW(Gradebook(file_, GradebookMode::kRead), UsageError);
}

}  // namespace
}  // namespace warpgrade
