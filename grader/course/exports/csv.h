// Comma-separated values (ten lines; what counts is in plain_cell) that spreadsheets open with every script's
// letters intact and run nothing of.
#pragma once

#include <string>
#include <vector>

namespace warpgrade {

enum class CsvForm {
  kSpreadsheet,      // with a byte-order mark, without which LibreOffice and Excel guess the encoding
  kPlain,            // without it
  kEveryCellQuoted,  // without it, and cells are quoted whatever is in them
};

// UTF-8, RFC 4180 quoting, \n lines.
std::string csv_text(const std::vector<std::vector<std::string>>& rows, CsvForm form = CsvForm::kSpreadsheet);

// A person's text as a cell: what a spreadsheet would run as a formula gets an apostrophe in front.
std::string plain_cell(const std::string& text);

// A number with no more digits than it needs, at most two behind the point.
std::string points_cell(double points);

}  // namespace warpgrade
