// Grades in the formats of other programs. All of them are made from feedback views (course/feedback/view.h):
// what a student may not see is not there to be exported.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/exports/views.h"
#include "course/score/policy.h"
#include "record/view.h"

namespace warpgrade {

// Gradescope's results.json: score, tests, leaderboard, extra_data.
nlohmann::json gradescope_results(const View& view);

// Autolab's last line of output: {"scores": {"correctness": .., "speed": ..}, "scoreboard": [..]}. A person's
// override is a third problem, "adjustment", so that the sum is the final points.
nlohmann::json autolab_scores(const View& view);

// Canvas' gradebook import: a row a student, below the row with the points possible. ID is Canvas' own number
// for a student, by which it looks first; SIS User ID the roster's. `column` names the assignment as Canvas
// does, "Lab 1 (4711)".
std::string canvas_csv(const Views& views, const std::string& column);

// Moodle's grade import: ID number, e-mail address and user name, those of them that every student has; full
// name, points, a comment.
std::string moodle_csv(const Views& views, const std::string& column);

// Blackboard's upload of grades: the user name, which a roster's number is not, and the points. `column` as
// Blackboard's own download writes it, "Lab 1 [Total Pts: 100 Score] |4711".
std::string blackboard_csv(const Views& views, const std::string& column);

// Brightspace's import of grades: OrgDefinedId, Username, "<column> Points Grade", End-of-Line Indicator.
std::string brightspace_csv(const Views& views, const std::string& column);

// Sakai's import into the gradebook: the user id by which it finds people, a name, "Lab 1 [100]". Blank cells
// and users who are not in the site are passed over; a heading without a title refuses the file.
std::string sakai_csv(const Views& views, const std::string& column);

// PrairieLearn's upload of question scores: uid, instance, qid, score_perc, feedback. `column`: the question.
std::string prairielearn_csv(const Views& views, const std::string& column);

// PrairieLearn's results.json of an external grader: score from 0 to 1, tests.
nlohmann::json prairielearn_results(const View& view);

// Who is who for Gradescope's autograder of prepared results: by e-mail address and id the file, or that
// there is none and why.
nlohmann::json gradescope_students(const Views& everyone);

// Ids of students of the roster who lack what the import of `format` (moodle, blackboard, brightspace, sakai,
// prairielearn-csv) finds people by: they are not in that file.
std::vector<std::string> left_out_of(const std::string& format, const Views& views);

// Students whom courseware of this roster does not know: they are left out of its imports.
bool is_not_on_roster(const Person& person, const Views& all);

// JUnit XML as Jenkins reads it: a suite a student, a test case a case.
std::string junit_xml(const Views& views);

// GitHub's workflow commands for a student's mistakes, one a line: `::error file=,line=,title=::message`, ten
// errors and ten warnings at most. `root`: the sources' folder in the repository.
std::string github_annotations(const View& view, const std::string& root);

// GitHub's job summary: a table of the cases and the first message, as Markdown. It has no points: in a
// student's repository they are not known.
std::string github_summary(const View& view);

// GitLab's Code Quality report: the mistakes that have a line.
nlohmann::json gitlab_quality(const View& view, const std::string& root);

// The anonymous list: {schema, run, lab, baseline, titles, rows: [{rank, shared, name, points, max_points,
// correct, total, speed, share, language, speedups}]}, best first: by points, then by `speed`, the geometric
// mean of the speed-ups over the thresholds' baseline with its interval, of who has all of these cases
// correct. Whom the measurement cannot tell from the first of a rank shares it. As `board` says also cases,
// attempt, renew_s and, if it is frozen at `now`, frozen.
nlohmann::json leaderboard(const Views& views, const Policy::Board& board = {}, std::int64_t now = 0);

// Whether the first view stands higher there than the second.
bool stands_above(const View& view, const View& other);

// The widths that speed-ups are averaged by: the lab's few, or all together.
inline constexpr int kAllWidths = 0;
std::vector<int> speed_widths(const Views& views);
std::vector<int> speed_widths_of(const View& view);
std::string speedup_title(const View& view, int k);  // "Speed-up K=32"

// Geometric mean of a view's speed-ups at width k over the correct cases; none: nothing measured.
std::optional<double> mean_speedup(const View& view, int k);

// A student's id as a file name: safe, and no two ids fall onto one.
std::string file_name_of(const std::string& id);

// Points and what made them, in a few lines of plain text.
std::string headline(const View& view);

// A case's outcome in a few lines of plain text.
std::string case_text(const ScoredCase& line);

// The headline, then every case: a file for a student.
std::string feedback_text(const View& view);

}  // namespace warpgrade
