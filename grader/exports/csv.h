// Comma-separated values that spreadsheets open with every script's letters intact and run nothing of.
#pragma once

#include <string>
#include <vector>

namespace warpgrade {

// UTF-8 with a byte-order mark (without it LibreOffice and Excel guess the encoding), RFC 4180 quoting, \n
// lines.
std::string csv_text(const std::vector<std::vector<std::string>>& rows);

// A person's text as a cell: what a spreadsheet would run as a formula gets an apostrophe in front.
std::string plain_cell(const std::string& text);

// A number with no more digits than it needs, at most two behind the point.
std::string points_cell(double points);

}  // namespace warpgrade
