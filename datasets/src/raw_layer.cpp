#include "warpgrade/datasets/raw_layer.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstring>
#include <fstream>
#include <span>

#include "byte_stream.h"
#include "digest.h"
#include "line_reader.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the files' numbers are taken as they are");

constexpr const char *kGraph = "graph.txt", *kX = "x.bin", *kW = "w.bin";

// Exactly two whole numbers, apart by blanks.
bool take_pair(std::string_view line, std::int64_t& first, std::int64_t& second) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  for (std::int64_t* number : {&first, &second}) {
    while (!line.empty() && blank(line.front())) line.remove_prefix(1);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), *number);
    if (error != std::errc()) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (!line.empty() && !blank(line.front())) return false;
  }
  return std::all_of(line.begin(), line.end(), blank);
}

// The file's size, compared with what the graph asks for before anything is allocated for it.
void require_size(const fs::path& file, std::uint64_t rows, std::uint64_t columns, const std::string& what) {
  std::error_code error;
  if (!fs::exists(file, error))
    throw DatasetError("{} is not there; expected {}: {} x {} numbers, fp64, little-endian, row by row",
                       file.string(), what, rows, columns);
  const std::uint64_t bytes = fs::file_size(file, error), want = rows * columns * sizeof(double);
  if (error) throw DatasetError("cannot read {}: {}", file.string(), error.message());
  if (bytes == want) return;
  throw DatasetError("{}: expected {} bytes, {} of {} x {} fp64 numbers, got {}{}", file.string(), want, what,
                     rows, columns, bytes,
                     2 * bytes == want ? ": is it fp32?"
                     : bytes < want    ? ": the file is cut off, or of another graph"
                                       : ": it is of another graph");
}

std::vector<double> read_matrix(const fs::path& file, std::uint64_t rows, std::uint64_t columns) {
  std::vector<double> numbers(rows * columns);
  std::ifstream stream(file, std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(numbers.size() * sizeof(double));
  if (!stream || !stream.read(reinterpret_cast<char*>(numbers.data()), bytes))
    throw DatasetError("cannot read {}: {}", file.string(), std::strerror(errno));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i]))
      throw DatasetError("{}: byte {} (row {}, column {}): expected a finite number, got {}", file.string(),
                         i * sizeof(double), i / columns, i % columns, numbers[i]);
  }
  return numbers;
}

// "V E" on the first line.
std::pair<std::int64_t, std::int64_t> read_head(LineReader& reader) {
  std::string_view line;
  std::int64_t vertices = 0, entries = 0;
  if (!reader.next(line))
    throw DatasetError("{}: the file is empty; expected 'V E' on its first line", reader.name());
  if (!take_pair(line, vertices, entries)) reader.fail("two whole numbers, of vertices and of entries", line);
  if (vertices < 1 || vertices > INT_MAX - 1) reader.fail("1 vertex or more, and fewer than 2^31 - 1", line);
  if (entries < 0 || entries > INT_MAX) reader.fail("0 to 2^31 - 1 entries", line);
  return {vertices, entries};
}

// The entries as pairs, in the file's order.
std::vector<std::pair<int, int>> read_entries(LineReader& reader, std::int64_t vertices,
                                              std::int64_t entries) {
  std::vector<std::pair<int, int>> pairs;
  std::string_view line;
  while (reader.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    std::int64_t row = 0, column = 0;
    if (static_cast<std::int64_t>(pairs.size()) == entries)
      reader.fail(fmt::format("the end of the file after {} entries", entries), line);
    if (!take_pair(line, row, column)) reader.fail("'row column'", line);
    if (std::min(row, column) < 0 || std::max(row, column) >= vertices)
      reader.fail(fmt::format("vertices from 0 to {}{}", vertices - 1,
                              std::max(row, column) == vertices ? " (this file may count from 1)" : ""),
                  line);
    pairs.emplace_back(static_cast<int>(row), static_cast<int>(column));
  }
  if (static_cast<std::int64_t>(pairs.size()) < entries)
    throw DatasetError("{}:{}: expected {} entries, as the first line says, got {}", reader.name(),
                       reader.number(), entries, pairs.size());
  return pairs;
}

std::string hash_of(const RawLayer& layer) {
  Sha256 hash;
  add_to<int>(hash, layer.row_offsets);
  add_to<int>(hash, layer.columns);
  add_to<double>(hash, layer.x);
  add_to<double>(hash, layer.w);
  return hash.hex();
}

}  // namespace

RawLayer read_raw_layer(const fs::path& folder, int features, int classes, const Progress& progress) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw DatasetError("{} is not a folder; expected one with {}, {} and {}", folder.string(), kGraph, kX,
                       kW);
  LineReader reader(Source{folder / kGraph, ""}, progress);
  const auto [vertices, entries] = read_head(reader);
  const auto rows = static_cast<std::uint64_t>(vertices), width = static_cast<std::uint64_t>(features);
  require_size(folder / kX, rows, width, "X");
  require_size(folder / kW, width, static_cast<std::uint64_t>(classes), "W");
  auto pairs = read_entries(reader, vertices, entries);
  std::sort(pairs.begin(), pairs.end());
  RawLayer layer;
  layer.row_offsets.assign(rows + 1, 0);
  layer.columns.reserve(pairs.size());
  for (const auto& [row, column] : pairs) {
    ++layer.row_offsets[static_cast<std::size_t>(row) + 1];
    layer.columns.push_back(column);
  }
  for (std::size_t v = 0; v < rows; ++v) layer.row_offsets[v + 1] += layer.row_offsets[v];
  layer.x = read_matrix(folder / kX, rows, width);
  layer.w = read_matrix(folder / kW, width, static_cast<std::uint64_t>(classes));
  layer.hash = hash_of(layer);
  return layer;
}

}  // namespace warpgrade::datasets
