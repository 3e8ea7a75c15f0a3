// Matrix Market and SNAP edge lists.
#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>

#include "line_reader.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

constexpr std::int64_t kMostEntries = INT_MAX;
// Dimensions are claims that cost memory before any entry is seen: 2^28 rows take 5 GB while the matrix is
// built.
constexpr std::int64_t kMostRows = std::int64_t{1} << 28;

bool blank(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';';
}

// Takes the next number off the front of the line.
template <typename T>
bool take(std::string_view& line, T& value) {
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  if (!line.empty() && line.front() == '+') line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return line.empty() || blank(line.front());
}

bool only_blanks(std::string_view line) {
  return std::all_of(line.begin(), line.end(), blank);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct MarketHeader {
  bool pattern = false, symmetric = false, skew = false;
  std::int64_t rows = 0, cols = 0, entries = 0;
};

MarketHeader read_header(LineReader& reader) {
  std::string_view line;
  if (!reader.next(line))
    throw DatasetError("{}: the file is empty; expected '%%MatrixMarket matrix coordinate ...'",
                       reader.name());
  const std::string banner = lower(line);
  if (!banner.starts_with("%%matrixmarket"))
    reader.fail("'%%MatrixMarket matrix coordinate FIELD SYMMETRY'", line);
  const auto has = [&](const char* word) {
    return banner.find(std::string(" ") + word) != std::string::npos;
  };
  if (!has("coordinate")) reader.fail("a sparse matrix: 'coordinate'", line);
  if (!has("real") && !has("integer") && !has("pattern"))
    reader.fail("the field real, integer or pattern", line);
  if (!has("general") && !has("symmetric") && !has("skew-symmetric")) {
    reader.fail("the symmetry general, symmetric or skew-symmetric", line);
  }
  MarketHeader header;
  header.pattern = has("pattern");
  header.skew = has("skew-symmetric");
  header.symmetric = header.skew || has("symmetric");
  while (reader.next(line)) {
    if (line.empty() || line.front() == '%' || only_blanks(line)) continue;
    const std::string_view whole = line;
    if (!take(line, header.rows) || !take(line, header.cols) || !take(line, header.entries) ||
        !only_blanks(line)) {
      reader.fail("'rows columns entries'", whole);
    }
    if (header.rows < 0 || header.cols < 0 || header.rows > kMostRows || header.cols > kMostRows) {
      reader.fail(fmt::format("rows and columns from 0 to {}", kMostRows), whole);
    }
    if (header.entries < 0 || header.entries > kMostEntries / (header.symmetric ? 2 : 1)) {
      reader.fail(fmt::format("at most {} stored entries (32-bit offsets)", kMostEntries), whole);
    }
    if (header.symmetric && header.rows != header.cols) {
      reader.fail("a square shape, since the matrix is said to be symmetric", whole);
    }
    return header;
  }
  throw DatasetError("{}: the file ends before its size line", reader.name());
}

void add_entry(const LineReader& reader, const MarketHeader& header, std::string_view whole,
               std::vector<Entry>& entries) {
  std::string_view line = whole;
  std::int64_t row = 0, col = 0;
  double value = 1;
  if (!take(line, row) || !take(line, col) || (!header.pattern && !take(line, value)) || !only_blanks(line)) {
    reader.fail(header.pattern ? "'row column'" : "'row column value'", whole);
  }
  if (row < 1 || row > header.rows || col < 1 || col > header.cols) {
    reader.fail(
        fmt::format("indices from 1 to {} and 1 to {}{}", header.rows, header.cols,
                    row == 0 || col == 0 ? " (Matrix Market counts from 1; this file counts from 0)" : ""),
        whole);
  }
  if (!std::isfinite(static_cast<float>(value))) reader.fail("a finite value that fits into fp32", whole);
  const Entry entry{static_cast<int>(row - 1), static_cast<int>(col - 1), static_cast<float>(value)};
  entries.push_back(entry);
  if (header.symmetric && row != col)
    entries.push_back({entry.col, entry.row, header.skew ? -entry.value : entry.value});
}

bool ends_with(const std::filesystem::path& path, std::string_view suffix) {
  return lower(path.string()).ends_with(suffix);
}

bool begins_like_market(const std::filesystem::path& path) {
  LineReader reader(path, {});
  std::string_view line;
  return reader.next(line) && lower(line).starts_with("%%matrixmarket");
}

}  // namespace

Csr import_matrix_market(const std::filesystem::path& path, const Progress& progress) {
  LineReader reader(path, progress);
  const MarketHeader header = read_header(reader);
  std::vector<Entry> entries;
  // The header is only a claim: memory grows with the lines that are really there.
  entries.reserve(static_cast<std::size_t>(std::min<std::int64_t>(header.entries, 1 << 22)));
  std::int64_t seen = 0;
  for (std::string_view line; reader.next(line);) {
    if (line.empty() || line.front() == '%' || only_blanks(line)) continue;
    if (++seen > header.entries)
      reader.fail(fmt::format("no more than the {} entries of the header", header.entries), line);
    add_entry(reader, header, line, entries);
  }
  if (seen != header.entries) {
    throw DatasetError(
        "{}:{}: expected {} entries as its header says, got {}: the file is cut off, or its header wrong",
        reader.name(), reader.number(), header.entries, seen);
  }
  Csr matrix = build_csr(static_cast<int>(header.rows), static_cast<int>(header.cols), std::move(entries),
                         Duplicates::kSum);
  if (!std::all_of(matrix.values.begin(), matrix.values.end(),
                   [](float value) { return std::isfinite(value); })) {
    throw DatasetError(
        "{}: expected finite values, but repeated entries add up to more than fp32 holds; scale them down",
        reader.name());
  }
  return matrix;
}

Csr import_edge_list(const std::filesystem::path& path, const Progress& progress) {
  LineReader reader(path, progress);
  std::vector<Entry> entries;
  std::int64_t largest = -1;
  for (std::string_view line; reader.next(line);) {
    if (line.empty() || line.front() == '#' || line.front() == '%' || only_blanks(line)) continue;
    const std::string_view whole = line;
    std::int64_t from = 0, to = 0;
    double weight = 1;
    if (!take(line, from) || !take(line, to)) reader.fail("an edge: 'from to', two whole numbers", whole);
    if (!only_blanks(line) && !take(line, weight))
      reader.fail("an edge: 'from to' or 'from to weight'", whole);
    if (from < 0 || to < 0 || from >= INT_MAX || to >= INT_MAX) {
      reader.fail(fmt::format("node ids from 0 to {}", INT_MAX - 1), whole);
    }
    if (!std::isfinite(static_cast<float>(weight))) reader.fail("a finite weight", whole);
    largest = std::max({largest, from, to});
    entries.push_back({static_cast<int>(from), static_cast<int>(to), static_cast<float>(weight)});
    if (static_cast<std::int64_t>(entries.size()) > kMostEntries)
      reader.fail("at most 2^31 - 1 edges", whole);
  }
  if (entries.empty()) throw DatasetError("{}: no edge in it; expected lines 'from to'", reader.name());
  if (largest > (std::int64_t{1} << 26) && largest > 1000 * static_cast<std::int64_t>(entries.size())) {
    throw DatasetError("{}: node id {} with only {} edges: number the nodes from 0 without gaps",
                       reader.name(), largest, entries.size());
  }
  const int n = static_cast<int>(largest + 1);
  return build_csr(n, n, std::move(entries), Duplicates::kKeepFirst);
}

Csr import_file(const std::filesystem::path& path, const Progress& progress) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw DatasetError("no such file: {}", path.string());
  if (ends_with(path, ".npz")) return import_npz(path, progress);
  if (ends_with(path, ".mtx") || ends_with(path, ".mtx.gz") || begins_like_market(path)) {
    return import_matrix_market(path, progress);
  }
  return import_edge_list(path, progress);
}

}  // namespace warpgrade::datasets
