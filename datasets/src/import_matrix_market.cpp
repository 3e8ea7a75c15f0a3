// Matrix Market: https://math.nist.gov/MatrixMarket/formats.html, the coordinate formats.
#include <cmath>

#include "csr_builder.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {

struct MarketHeader {
  bool pattern = false, symmetric = false, skew = false;
  std::int64_t rows = 0, cols = 0, entries = 0;
};

void read_banner(LineReader& reader, MarketHeader& header) {
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
  if (!has("general") && !has("symmetric") && !has("skew-symmetric"))
    reader.fail("the symmetry general, symmetric or skew-symmetric", line);
  header.pattern = has("pattern");
  header.skew = has("skew-symmetric");
  header.symmetric = header.skew || has("symmetric");
}

MarketHeader read_header(LineReader& reader, const Source& source) {
  MarketHeader header;
  read_banner(reader, header);
  std::string_view line;
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
    if (!fits_file(header.rows, source))
      reader.fail("no more rows than a file of this size could fill", whole);
    if (header.entries < 0 || header.entries > kMostEntries / (header.symmetric ? 2 : 1)) {
      reader.fail(fmt::format("at most {} stored entries (32-bit offsets)", kMostEntries), whole);
    }
    if (header.symmetric && header.rows != header.cols) {
      reader.fail("a square shape, since the matrix is said to be symmetric", whole);
    }
    return header;
  }
  throw DatasetError("{}:{}: the file ends before its size line", reader.name(), reader.number());
}

void add_entry(const LineReader& reader, const MarketHeader& header, std::string_view whole,
               CsrBuilder& builder) {
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
  if (header.skew && row == col && value != 0)
    reader.fail("nothing on the diagonal, since the matrix is said to be skew-symmetric", whole);
  if (!std::isfinite(static_cast<float>(value))) reader.fail("a finite value that fits into fp32", whole);
  builder.add(row - 1, col - 1, static_cast<float>(value));
}

// One pass over the entries.
MarketHeader market_pass(const ImportJob& job, CsrBuilder& builder, Progress progress) {
  LineReader reader(job.source, std::move(progress));
  const MarketHeader header = read_header(reader, job.source);
  builder.mirror = header.symmetric ? Mirror::kOnce : Mirror::kNo;
  builder.negate_mirrored = header.skew;
  std::int64_t seen = 0;
  for (std::string_view line; reader.next(line);) {
    if (line.empty() || line.front() == '%' || only_blanks(line)) continue;
    if (++seen > header.entries)
      reader.fail(fmt::format("no more than the {} entries of the header", header.entries), line);
    add_entry(reader, header, line, builder);
  }
  if (seen != header.entries) {
    throw DatasetError(
        "{}:{}: expected {} entries as its header says, got {}: the file is cut off, or its header wrong",
        reader.name(), reader.number(), header.entries, seen);
  }
  job.report->notes = reader.repairs();
  return header;
}

}  // namespace

Csr import_matrix_market(const ImportJob& job) {
  CsrBuilder builder(job.source.name());
  builder.duplicates = Duplicates::kSum;
  builder.drop_self_edges = job.options.drop_self_edges;
  const MarketHeader header = market_pass(job, builder, half_of(job.progress, 0));
  builder.begin_placing(header.rows, header.cols);
  market_pass(job, builder, half_of(job.progress, 1));
  job.report->lines = header.entries;
  Csr matrix = builder.finish(job.report);
  for (const float value : matrix.values) {
    if (std::isfinite(value)) continue;
    throw DatasetError(
        "{}: expected finite values, but repeated entries add up to more than fp32 holds; scale them down",
        job.source.name());
  }
  return matrix;
}

}  // namespace warpgrade::datasets
