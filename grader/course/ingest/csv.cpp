#include "course/ingest/csv.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace warpgrade {
namespace {

// The character between the fields: the one that the first line has most of, outside quotes.
char separator_of(const std::string& text) {
  constexpr std::string_view kCandidates = ",;\t";
  std::array<int, kCandidates.size()> counts = {};
  bool quoted = false;
  for (const char c : text) {
    if (c == '\n' && !quoted) break;
    if (c == '"') quoted = !quoted;
    const std::size_t which = kCandidates.find(c);
    if (!quoted && which != std::string_view::npos) ++counts[which];
  }
  return kCandidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                              counts.begin())];
}

bool is_utf8(const std::string& text) {
  return valid_utf8(text) == text;
}

class Reader {
 public:
  Reader(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
    separator_ = separator_of(text_);
  }

  bool next(CsvTable::Row& row) {
    while (at_ < text_.size()) {
      row = {line_, {}};
      read_row(row);
      require_utf8(row);
      if (row.cells.size() > 1 || !row.cells[0].empty()) return true;
    }
    return false;
  }

 private:
  // Spreadsheets write what the machine's language suggests: names would be broken in every page and export.
  void require_utf8(const CsvTable::Row& row) const {
    if (std::all_of(row.cells.begin(), row.cells.end(), is_utf8)) return;
    const bool wide = text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff");
    throw UsageError(
        "{}:{}: not UTF-8; save it as \"CSV UTF-8\", or convert it: iconv -f {} -t UTF-8 {} > roster.csv",
        file_, row.line, wide ? "UTF-16" : "WINDOWS-1252", file_);
  }

  void read_row(CsvTable::Row& row) {
    for (;;) {
      row.cells.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted(row.line) : plain());
      if (at_ < text_.size() && text_[at_] == separator_) {
        ++at_;
        continue;
      }
      if (at_ < text_.size() && text_[at_] == '\r') ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') ++at_;
      ++line_;
      return;
    }
  }

  std::string plain() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    std::string cell = text_.substr(begin, at_ - begin);
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
    return cell;
  }

  std::string quoted(int begun) {
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        cell += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        cell += text_[at_++];
      } else {
        ++at_;
        if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
          throw UsageError("{}:{}: expected a separator or the line's end behind a closing quote, got '{}'",
                           file_, line_, text_[at_]);
        return cell;
      }
    }
    throw UsageError("{}:{}: a quote that is never closed", file_, begun);
  }

  std::string text_, file_;
  char separator_ = ',';
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvTable::Row> csv_rows(std::string text, const std::string& name) {
  Reader reader(std::move(text), name);
  std::vector<CsvTable::Row> rows;
  for (CsvTable::Row row; reader.next(row);) rows.push_back(row);
  return rows;
}

CsvTable read_csv(const std::filesystem::path& file) {
  CsvTable table{file.string(), {}, csv_rows(read_text(file), file.string())};
  if (table.rows.empty()) throw UsageError("{} is empty; expected a line of column names", file.string());
  table.header = std::move(table.rows.front().cells);
  table.rows.erase(table.rows.begin());
  for (const CsvTable::Row& row : table.rows)
    if (row.cells.size() != table.header.size())
      throw UsageError("{}:{}: expected {} fields as in the header, got {}", file.string(), row.line,
                       table.header.size(), row.cells.size());
  return table;
}

}  // namespace warpgrade
