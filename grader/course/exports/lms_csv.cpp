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
std::string id_cell(const json& person, const std::string& id) {
  return person.value("on_roster", true) ? id : plain_cell(id);
}

std::string id_of(const json& person) {
  return person.at("id").get<std::string>();
}

// The roster's id, unless it is known to be something else.
std::string own_id(const json& person) {
  const std::string id = id_of(person);
  for (const char* other : {"canvas_id", "moodle_id", "lms_id", "login", "email"})
    if (person.value(other, "") == id) return "";
  return id;
}

// The columns by which an import finds its people, of which it looks at one. A row that has nothing in it is
// worse than a row that is missing: Moodle gives its points to the person of the row above. So a column is
// there only if every row has something in it, and a row without the best column is left out.
struct KeyColumn {
  std::string title;
  std::function<std::string(const json& person)> of;
};

struct KeyedRows {
  std::vector<KeyColumn> columns;
  std::vector<const json*> views;
  std::vector<std::string> left_out;  // ids of the roster's students
};

// Like PHP, which takes "0" for nothing.
bool is_blank(const std::string& key) {
  return key.empty() || key == "0";
}

KeyedRows keyed_rows(const Views& views, const std::vector<KeyColumn>& known) {
  KeyedRows rows;
  for (const json& view : views)
    if (!is_not_on_roster(view, views)) rows.views.push_back(&view);
  const auto count = [&](const KeyColumn& column) {
    return std::count_if(rows.views.begin(), rows.views.end(),
                         [&](const json* view) { return !is_blank(column.of(view->at("person"))); });
  };
  const auto best = std::max_element(known.begin(), known.end(),
                                     [&](const auto& a, const auto& b) { return count(a) < count(b); });
  if (count(*best) == 0) {  // nothing that the import could look at
    for (const json* view : rows.views) rows.left_out.push_back(id_of(view->at("person")));
    rows.views.clear();
    return rows;
  }
  std::erase_if(rows.views, [&](const json* view) {
    const bool blank = is_blank(best->of(view->at("person")));
    if (blank) rows.left_out.push_back(id_of(view->at("person")));
    return blank;
  });
  for (const KeyColumn& column : known)
    if (count(column) == static_cast<std::ptrdiff_t>(rows.views.size())) rows.columns.push_back(column);
  return rows;
}

KeyedRows moodle_rows(const Views& views) {
  return keyed_rows(views, {{"ID number", own_id},
                            {"Email address", [](const json& person) { return person.value("email", ""); }},
                            {"Username", [](const json& person) { return person.value("login", ""); }}});
}

KeyedRows brightspace_rows(const Views& views) {
  return keyed_rows(views, {{"OrgDefinedId", own_id},
                            {"Username", [](const json& person) { return person.value("login", ""); }}});
}

// Blackboard and Sakai look at the user name alone.
KeyedRows rows_by_username(const Views& views, const char* title) {
  return keyed_rows(views, {{title, [](const json& person) { return person.value("login", ""); }}});
}

// PrairieLearn's uid is an address.
KeyedRows prairielearn_rows(const Views& views) {
  return keyed_rows(views, {{"uid", [](const json& person) { return person.value("email", ""); }}});
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

Row with_keys(const KeyedRows& keyed, const json& person, Row row, const Row& rest) {
  for (const KeyColumn& key : keyed.columns) row.push_back(id_cell(person, key.of(person)));
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

}  // namespace

bool is_not_on_roster(const json& view, const Views& all) {
  if (view.at("person").value("on_roster", true)) return false;
  return std::any_of(all.begin(), all.end(),
                     [](const json& other) { return other.at("person").value("on_roster", true); });
}

std::string canvas_csv(const Views& views, const std::string& column) {
  Rows rows{{"Student", "ID", "SIS User ID", "SIS Login ID", "Section", column},
            {"    Points Possible", "", "", "", "", points_cell(views.front().at("max_points"))}};
  for (const json& view : views) {
    const json& person = view.at("person");
    const std::string id = person.at("id"), canvas_id = person.value("canvas_id", "");
    if (is_not_on_roster(view, views) && canvas_id.empty()) continue;
    std::string sis = person.value("sis_id", ""), login = person.value("login", "");
    // The roster's id is the SIS id, unless it is known to be something else.
    if (sis.empty()) sis = own_id(person);
    if (login.empty()) login = person.value("email", "");
    rows.push_back({plain_cell(person.value("name", "")), id_cell(person, canvas_id), id_cell(person, sis),
                    id_cell(person, login), plain_cell(person.value("section", "")),
                    points_cell(view.at("points"))});
  }
  return csv_text(rows);
}

std::string moodle_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = moodle_rows(views);
  Rows rows{with_keys(keyed, {"Identifier"}, {"Full name", column, "Maximum", "Feedback"})};
  for (const json* view : keyed.views) {
    const json& person = view->at("person");
    std::string comment = headline(*view);
    // Gradescope has a leaderboard of its own, with names of its own; ours is told here.
    if (view->contains("pseudonym"))
      comment += "\nOn the leaderboard you are " + view->at("pseudonym").get<std::string>() + ".";
    const std::string participant = person.value("moodle_id", "");
    rows.push_back(with_keys(keyed, person, {participant.empty() ? "" : "Participant " + participant},
                             {for_php(plain_cell(person.value("name", ""))), points_cell(view->at("points")),
                              points_cell(view->at("max_points")), for_php(plain_cell(comment))}));
  }
  return csv_text(rows);
}

std::string blackboard_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = rows_by_username(views, "Username");
  Rows rows{with_keys(keyed, {}, {column})};
  for (const json* view : keyed.views)
    rows.push_back(with_keys(keyed, view->at("person"), {}, {points_cell(view->at("points"))}));
  return csv_text(rows, CsvForm::kEveryCellQuoted);
}

std::string brightspace_csv(const Views& views, const std::string& column) {
  constexpr const char* kEnding = "Points Grade";
  const std::string title =
      column.find(kEnding) == std::string::npos ? fmt::format("{} {}", column, kEnding) : column;
  const KeyedRows keyed = brightspace_rows(views);
  Rows rows{with_keys(keyed, {}, {title, "End-of-Line Indicator"})};
  for (const json* view : keyed.views)
    rows.push_back(with_keys(keyed, view->at("person"), {}, {points_cell(view->at("points")), "#"}));
  return csv_text(rows, CsvForm::kPlain);
}

std::string sakai_csv(const Views& views, const std::string& column) {
  const std::string title = column.find('[') == std::string::npos
                                ? fmt::format("{} [{}]", column, points_cell(views.front().at("max_points")))
                                : column;
  const KeyedRows keyed = rows_by_username(views, "Student ID");
  Rows rows{with_keys(keyed, {}, {"Name", title})};
  for (const json* view : keyed.views) {
    const json& person = view->at("person");
    rows.push_back(with_keys(
        keyed, person, {}, {for_php(plain_cell(person.value("name", ""))), points_cell(view->at("points"))}));
  }
  return csv_text(rows, CsvForm::kPlain);
}

std::string prairielearn_csv(const Views& views, const std::string& column) {
  const KeyedRows keyed = prairielearn_rows(views);
  Rows rows{{"uid", "instance", "qid", "score_perc", "feedback"}};
  for (const json* view : keyed.views) {
    const double most = view->at("max_points"), points = view->at("points");
    rows.push_back({view->at("person").at("email"), "1", column,
                    points_cell(most > 0 ? 100 * points / most : 0), plain_cell(headline(*view))});
  }
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
