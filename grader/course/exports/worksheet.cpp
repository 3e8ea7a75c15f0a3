#include "course/exports/worksheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "course/exports/csv.h"
#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A cell and where its bytes lie, quotes included, so that all the others stay as they are.
struct PlacedCell {
  std::string text;
  std::size_t begin = 0, end = 0;
};
using PlacedRow = std::vector<PlacedCell>;

class SheetReader {
 public:
  SheetReader(const std::string& text, char separator) : text_(text), separator_(separator) {}

  std::vector<PlacedRow> rows() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    std::vector<PlacedRow> rows;
    while (at_ < text_.size()) rows.push_back(row());
    return rows;
  }

 private:
  PlacedRow row() {
    PlacedRow row;
    for (;;) {
      row.push_back(cell());
      if (at_ >= text_.size()) return row;
      const char next = text_[at_++];
      if (next == separator_) continue;
      if (next == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      return row;
    }
  }

  PlacedCell cell() {
    PlacedCell cell;
    cell.begin = at_;
    bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) ++at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quoted && c == '"' && text_.compare(at_ + 1, 1, "\"") == 0) {
        ++at_;
        cell.text += '"';
      } else if (quoted && c == '"') {
        quoted = false;
      } else if (!quoted && (c == separator_ || c == '\n' || c == '\r')) {
        break;
      } else {
        cell.text += c;
      }
    }
    cell.end = at_;
    return cell;
  }

  const std::string& text_;
  const char separator_;
  std::size_t at_ = 0;
};

// Where the sheet has what.
struct Sheet {
  std::vector<PlacedRow> rows;
  std::size_t head = 0, grade = 0;
  bool moodle = false;
  std::map<std::string, std::size_t> columns;
};

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The participant's number behind "Participant ", in whatever language.
std::string number_of(const std::string& identifier) {
  const std::size_t last = identifier.find_last_not_of("0123456789");
  return last == std::string::npos ? identifier : identifier.substr(last + 1);
}

std::map<std::string, std::size_t> columns_of(const PlacedRow& row) {
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < row.size(); ++i) columns.emplace(row[i].text, i);
  return columns;
}

Sheet sheet_of(const fs::path& file, const std::string& text, const std::optional<std::string>& column) {
  const std::string first = text.substr(0, text.find('\n'));
  const auto count = [&](char c) { return std::count(first.begin(), first.end(), c); };
  const char separator = count(';') > count(',') ? ';' : count('\t') > count(',') ? '\t' : ',';
  Sheet sheet;
  sheet.rows = SheetReader(text, separator).rows();
  if (sheet.rows.size() > 2 && sheet.rows[2].size() > 4 &&
      sheet.rows[0].size() <= 2) {  // Sakai's three lines
    sheet.head = 3;
    sheet.grade = 4;
    return sheet;
  }
  sheet.moodle = true;
  sheet.head = 1;
  if (!sheet.rows.empty()) sheet.columns = columns_of(sheet.rows.front());
  const auto grade = sheet.columns.find("Grade");
  const auto named = column ? sheet.columns.find(*column) : sheet.columns.end();
  if (named == sheet.columns.end() && grade == sheet.columns.end()) {
    std::vector<std::string> titles;
    for (const auto& [title, place] : sheet.columns) titles.push_back(title);
    throw UsageError(
        "{}: expected Moodle's grading worksheet (with a column Grade) or Sakai's grades.csv; its columns "
        "are {}. Where the sheet is in another language, name the column of grades: --column TITLE",
        file.string(), fmt::join(titles, ", "));
  }
  sheet.grade = named != sheet.columns.end() ? named->second : grade->second;
  return sheet;
}

// Views by the names that the sheet may have for a person; one that two have means nobody.
class People {
 public:
  People(const Views& views, bool moodle) {
    for (const json& view : views) {
      const Person person = view.at("person");
      if (moodle) {
        add("number " + person.moodle_id, view);
        add("mail " + lowered(person.email), view);
        add("id " + person.id, view);
      }
      add("login " + person.login, view);
    }
  }
  const json* find(const std::string& kind, const std::string& key) const {
    const auto found = key.empty() ? views_.end() : views_.find(kind + " " + key);
    return found == views_.end() ? nullptr : found->second;
  }

 private:
  void add(const std::string& key, const json& view) {
    if (key.back() == ' ') return;
    const auto [found, fresh] = views_.emplace(key, &view);
    if (!fresh && found->second != &view) found->second = nullptr;
  }
  std::map<std::string, const json*> views_;
};

const json* person_of(const Sheet& sheet, const PlacedRow& row, const People& people) {
  if (!sheet.moodle) return row.size() > 4 ? people.find("login", row[1].text) : nullptr;
  const auto cell = [&](const char* title) {
    const auto column = sheet.columns.find(title);
    return column == sheet.columns.end() || column->second >= row.size() ? "" : row[column->second].text;
  };
  const json* found = people.find("number", number_of(cell("Identifier")));
  if (found == nullptr && !sheet.columns.contains("Identifier") && !row.empty())
    found = people.find("number", number_of(row.front().text));
  if (found == nullptr) found = people.find("mail", lowered(cell("Email address")));
  return found != nullptr ? found : people.find("id", cell("ID number"));
}

std::string note_of(const Sheet& sheet, const Views& views, const std::set<const json*>& filled,
                    const std::vector<std::string>& zeros) {
  std::vector<std::string> missing;
  for (const json& view : views)
    if (!filled.contains(&view)) missing.push_back(view.at("person").at("id"));
  std::string note = fmt::format("the worksheet has the grades of {} students", filled.size());
  if (!missing.empty()) note += fmt::format("; not in it: {}", fmt::join(missing, ", "));
  if (sheet.moodle && !zeros.empty())
    note += fmt::format(
        "\nMoodle's upload of a worksheet enters no 0: set it by hand for {}, or import moodle.csv",
        fmt::join(zeros, ", "));
  return note;
}

}  // namespace

FilledWorksheet fill_worksheet(const fs::path& file, const Views& views,
                               const std::optional<std::string>& column) {
  const std::string text = read_text(file);
  const Sheet sheet = sheet_of(file, text, column);
  const People people(views, sheet.moodle);
  FilledWorksheet filled;
  std::set<const json*> found;
  std::vector<std::string> zeros;
  std::size_t copied = 0;
  for (std::size_t i = sheet.head; i < sheet.rows.size(); ++i) {
    const PlacedRow& row = sheet.rows[i];
    const json* known = row.size() > sheet.grade ? person_of(sheet, row, people) : nullptr;
    if (known == nullptr) continue;
    const View view = *known;
    if (!found.insert(known).second)
      throw UsageError("{}: {} stands there twice", file.string(), view.person.id);
    if (*view.points == 0.0) zeros.push_back(view.person.id);
    const PlacedCell& cell = row[sheet.grade];
    const bool quoted = cell.end > cell.begin && text[cell.begin] == '"';
    const std::string points = points_cell(*view.points);
    filled.text += text.substr(copied, cell.begin - copied) + (quoted ? "\"" + points + "\"" : points);
    copied = cell.end;
  }
  filled.text += text.substr(copied);
  filled.note = note_of(sheet, views, found, zeros);
  return filled;
}

}  // namespace warpgrade
