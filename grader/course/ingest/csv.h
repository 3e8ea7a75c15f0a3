// Comma-separated values as in RFC 4180, and what spreadsheets make of them: a byte order mark, CRLF,
// semicolons or tabs instead of commas.
//
// Read by hand, since no library of Debian reads what learning platforms export and says where it is wrong:
// - fast-cpp-csv-parser (libfccp-dev) refuses a line break inside quotes, on its author's principle, and
//   wants the separator and the number of columns when it is compiled.
// - libcsv does not tell the line of a row, which a message about somebody's roster must name.
//
// A roster may have any columns, a cell may hold a line break, and the language of the spreadsheet
// decides the separator.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpgrade {

struct CsvTable {
  std::string file;
  std::vector<std::string> header;  // as written
  struct Row {
    int line = 0;  // where it begins, from 1
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;  // as many cells as the header; blank lines are left out
};

// Of any text, the header's row among them. `name` stands in messages. Throws UsageError with the line: an
// open quote, what is not UTF-8.
std::vector<CsvTable::Row> csv_rows(std::string text, const std::string& name);

// Throws UsageError with file and line: no header, an open quote, a row of another length.
CsvTable read_csv(const std::filesystem::path& file);

}  // namespace warpgrade
