// What courseware imports as a table: Canvas, Moodle, Blackboard, Brightspace, Sakai. Which rows and columns
// each one demands stands in its own documentation: tests/lms_import names the documents and models
// the imports.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "course/exports/csv.h"
#include "course/exports/exports.h"

namespace warpgrade {
using nlohmann::json;

namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// An id as courseware wrote it, for its import to find. One that a hand-in's name brought is a
// stranger's text.
std::string id_cell(const Person& person, const std::string& id) {
  return person.on_roster ? id : plain_cell(id);
}

// The roster's id, unless it is known to be something else.
std::string own_id(const Person& person) {
  for (const std::string& other :
       {person.canvas_id, person.moodle_id, person.lms_id, person.login, person.email})
    if (other == person.id) return "";
  return person.id;
}

// The columns by which an import finds its people, of which it looks at one. A row that has nothing in it is
// worse than a row that is missing: Moodle gives its points to the person of the row above. So a column is
// there only if every row has something in it, and a row without the best column is left out.
struct KeyColumn {
  std::string title;
  std::function<std::string(const Person& person)> of;
};

struct KeyedRows {
  std::vector<KeyColumn> columns;
  std::vector<View> views;
  std::vector<std::string> left_out;  // ids of the roster's students
};

// Like PHP, which takes "0" for nothing.
bool is_blank(const std::string& key) {
  return key.empty() || key == "0";
}

KeyedRows keyed_rows(const Views& views, const std::vector<KeyColumn>& known) {
  KeyedRows rows;
  for (View view : views)
    if (!is_not_on_roster(view.person, views)) rows.views.push_back(std::move(view));
  const auto count = [&](const KeyColumn& column) {
    return std::count_if(rows.views.begin(), rows.views.end(),
                         [&](const View& view) { return !is_blank(column.of(view.person)); });
  };
  const auto best = std::max_element(known.begin(), known.end(),
                                     [&](const auto& a, const auto& b) { return count(a) < count(b); });
  if (count(*best) == 0) {  // nothing that the import could look at
    for (const View& view : rows.views) rows.left_out.push_back(view.person.id);
    rows.views.clear();
    return rows;
  }
  std::erase_if(rows.views, [&](const View& view) {
    const bool blank = is_blank(best->of(view.person));
    if (blank) rows.left_out.push_back(view.person.id);
    return blank;
  });
  for (const KeyColumn& column : known)
    if (count(column) == static_cast<std::ptrdiff_t>(rows.views.size())) rows.columns.push_back(column);
  return rows;
}

KeyedRows moodle_rows(const Views& views) {
  return keyed_rows(views,
                    {{"ID number", own_id}, {"Email address", &Person::email}, {"Username", &Person::login}});
}

KeyedRows brightspace_rows(const Views& views) {
  return keyed_rows(views, {{"OrgDefinedId", own_id}, {"Username", &Person::login}});
}

// Blackboard and Sakai look at the user name alone.
KeyedRows rows_by_username(const Views& views, const char* title) {
  return keyed_rows(views, {{title, &Person::login}});
}

// PrairieLearn's uid is an address.
KeyedRows prairielearn_rows(const Views& views) {
  return keyed_rows(views, {{"uid", &Person::email}});
}

// Moodle reads CSV by PHP's fgetcsv, for which a backslash before a quote is part of the cell: one at a
// cell's end would draw the next rows into it. Sakai's reader, opencsv, takes backslashes alike.
std::string for_php(const std::string& text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    safe += text[i];
    if (text[i] == '\\' && (i + 1 == text.size() || text[i + 1] == '"')) safe += ' ';
  }
  return safe;
}

Row with_keys(const KeyedRows& keyed, Row row, const Row& rest) {
  for (const KeyColumn& key : keyed.columns) row.push_back(key.title);
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

Row with_keys(const KeyedRows& keyed, const Person& person, Row row, const Row& rest) {
  for (const KeyColumn& key : keyed.columns) row.push_back(id_cell(person, key.of(person)));
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

}  // namespace

bool is_not_on_roster(const Person& person, const Views& all) {
  return !person.on_roster && std::any_of(all.begin(), all.end(), [](const json& other) {
    return other.at("person").get<Person>().on_roster;
  });
}

std::string canvas_csv(const Views& views, const std::string& column) {
  Rows rows{{"Student", "ID", "SIS User ID", "SIS Login ID", "Section", column},
            {"    Points Possible", "", "", "", "", points_cell(View(views.front()).max_points)}};
  for (const View view : views) {
    const Person& person = view.person;
    if (is_not_on_roster(person, views) && person.canvas_id.empty()) continue;
    // The roster's id is the SIS id, unless it is known to be something else.
    const std::string sis = person.sis_id.empty() ? own_id(person) : person.sis_id;
    rows.push_back({plain_cell(person.name), id_cell(person, person.canvas_id), id_cell(person, sis),
                    id_cell(person, person.login.empty() ? person.email : person.login),
                    plain_cell(person.section), points_cell(*view.points)});
  }
  return csv_text(rows);
}

std::string moodle_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = moodle_rows(views);
  Rows rows{with_keys(keyed, {"Identifier"}, {"Full name", column, "Maximum", "Feedback"})};
  for (const View& view : keyed.views) {
    const Person& person = view.person;
    std::string comment = headline(view);
    // Gradescope has a leaderboard of its own, with names of its own; ours is told here.
    if (!view.pseudonym.empty()) comment += "\nOn the leaderboard you are " + view.pseudonym + ".";
    rows.push_back(with_keys(keyed, person,
                             {person.moodle_id.empty() ? "" : "Participant " + person.moodle_id},
                             {for_php(plain_cell(person.name)), points_cell(*view.points),
                              points_cell(view.max_points), for_php(plain_cell(comment))}));
  }
  return csv_text(rows);
}

std::string blackboard_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = rows_by_username(views, "Username");
  Rows rows{with_keys(keyed, {}, {column})};
  for (const View& view : keyed.views)
    rows.push_back(with_keys(keyed, view.person, {}, {points_cell(*view.points)}));
  return csv_text(rows, CsvForm::kEveryCellQuoted);
}

std::string brightspace_csv(const Views& views, const std::string& column) {
  constexpr const char* kEnding = "Points Grade";
  const std::string title =
      column.find(kEnding) == std::string::npos ? fmt::format("{} {}", column, kEnding) : column;
  const KeyedRows keyed = brightspace_rows(views);
  Rows rows{with_keys(keyed, {}, {title, "End-of-Line Indicator"})};
  for (const View& view : keyed.views)
    rows.push_back(with_keys(keyed, view.person, {}, {points_cell(*view.points), "#"}));
  return csv_text(rows, CsvForm::kPlain);
}

std::string sakai_csv(const Views& views, const std::string& column) {
  const std::string title = column.find('[') == std::string::npos
                                ? fmt::format("{} [{}]", column, points_cell(View(views.front()).max_points))
                                : column;
  const KeyedRows keyed = rows_by_username(views, "Student ID");
  Rows rows{with_keys(keyed, {}, {"Name", title})};
  for (const View& view : keyed.views)
    rows.push_back(with_keys(keyed, view.person, {},
                             {for_php(plain_cell(view.person.name)), points_cell(*view.points)}));
  return csv_text(rows, CsvForm::kPlain);
}

std::string prairielearn_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = prairielearn_rows(views);
  Rows rows{{"uid", "instance", "qid", "score_perc", "feedback"}};
  for (const View& view : keyed.views)
    rows.push_back({view.person.email, "1", column,
                    points_cell(view.max_points > 0 ? 100 * *view.points / view.max_points : 0),
                    plain_cell(headline(view))});
  return csv_text(rows, CsvForm::kPlain);
}

std::vector<std::string> left_out_of(const std::string& format, const Views& views) {
  if (format == "moodle") return moodle_rows(views).left_out;
  if (format == "brightspace") return brightspace_rows(views).left_out;
  if (format == "prairielearn-csv") return prairielearn_rows(views).left_out;
  return format == "blackboard" || format == "sakai" ? rows_by_username(views, "Username").left_out
                                                     : std::vector<std::string>{};
}

}  // namespace warpgrade
