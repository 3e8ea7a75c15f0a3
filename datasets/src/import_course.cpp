// The pair that the SpMM course hands out: NAME.config holds "nodes entries", NAME.graph a line of nodes + 1
// row offsets and a line of columns; NAME.graph.ptrdump and NAME.graph.edgedump hold the same as int32.
#include <algorithm>

#include "csr_builder.h"
#include "importers.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// Whole numbers of a text whose lines are as long as they like.
class NumberStream {
 public:
  NumberStream(const Source& source, Progress progress)
      : stream_(source.open()),
        name_(source.name()),
        total_(source.file_bytes()),
        progress_(std::move(progress)) {}

  // False at the end. Throws DatasetError for anything but digits and blanks.
  bool next(std::int64_t& number) {
    int c = skip_blanks();
    if (c < 0) return false;
    start_ = offset_ - 1;
    bool negative = c == '-';
    if (negative) c = get();
    number = 0;
    if (c < '0' || c > '9') fail(c);
    for (; c >= '0' && c <= '9'; c = get()) {
      if (number > INT64_MAX / 10 - 9)
        throw DatasetError("{}: byte {}: a number beyond 2^63", name_, offset_);
      number = number * 10 + (c - '0');
    }
    if (c >= 0 && !is_blank(c)) fail(c);
    if (negative) number = -number;
    return true;
  }
  // Where the last number begins; at the end, where that is.
  std::uint64_t place() const { return start_; }
  std::uint64_t offset() const { return offset_; }
  const std::string& name() const { return name_; }
  bool has_crlf() const { return has_crlf_; }

 private:
  static bool is_blank(int c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ','; }
  int get() {
    if (at_ == have_) {
      have_ = stream_->read(buffer_);
      at_ = 0;
      if (have_ == 0) return -1;
      if (progress_) progress_(stream_->consumed(), total_);
    }
    ++offset_;
    has_crlf_ |= buffer_[at_] == std::byte{'\r'};
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  int skip_blanks() {
    int c = get();
    while (is_blank(c)) c = get();
    return c;
  }
  [[noreturn]] void fail(int c) const {
    throw DatasetError(
        "{}: byte {}: expected a whole number, got '{}'", name_, offset_ == 0 ? 0 : offset_ - 1,
        c >= 32 && c < 127 ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c & 255));
  }

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  std::uint64_t total_;
  Progress progress_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(1 << 17);
  std::size_t at_ = 0, have_ = 0;
  std::uint64_t offset_ = 0, start_ = 0;
  bool has_crlf_ = false;
};

// Takes numbers one by one and builds the matrix of them: offsets, then columns.
class Assembler {
 public:
  Assembler(std::int64_t nodes, std::int64_t entries) : nodes_(nodes), entries_(entries) {
    matrix_.rows = matrix_.cols = static_cast<int>(nodes);
    matrix_.row_offsets.reserve(static_cast<std::size_t>(nodes) + 1);
    matrix_.columns.reserve(static_cast<std::size_t>(entries));
  }
  void offset(std::int64_t value, const std::string& name, std::uint64_t byte) {
    const std::int64_t before = matrix_.row_offsets.empty() ? 0 : matrix_.row_offsets.back();
    const auto seen = static_cast<std::int64_t>(matrix_.row_offsets.size());
    const bool fits = value >= before && value <= entries_ && (seen > 0 || value == 0) &&
                      (seen < nodes_ || value == entries_);
    if (!fits) {
      throw DatasetError("{}: byte {}: row offset {} of {}: expected {}, got {}", name, byte, seen,
                         nodes_ + 1,
                         seen == 0        ? "0"
                         : seen == nodes_ ? fmt::format("{} entries", entries_)
                                          : fmt::format("{} to {}", before, entries_),
                         value);
    }
    matrix_.row_offsets.push_back(static_cast<int>(value));
  }
  void column(std::int64_t value, const std::string& name, std::uint64_t byte) {
    if (value < 0 || value >= nodes_) {
      throw DatasetError("{}: byte {}: column {} of {}: expected 0 to {}{}, got {}", name, byte,
                         matrix_.columns.size(), entries_, nodes_ - 1,
                         value == nodes_ ? " (does the file count from 1?)" : "", value);
    }
    matrix_.columns.push_back(static_cast<int>(value));
  }
  Csr finish(ImportReport& report) {
    report.lines = entries_;
    matrix_.values.assign(matrix_.columns.size(), 1.0f);
    tidy_rows(matrix_, Duplicates::kKeepAll);
    return std::move(matrix_);
  }

 private:
  std::int64_t nodes_, entries_;
  Csr matrix_;
};

struct Config {
  std::int64_t nodes = 0, entries = 0;
};

void check_config(const Config& config, const std::string& name, const Source& data) {
  if (config.nodes < 0 || config.nodes > kMostRows || !fits_file(config.nodes, data) || config.entries < 0 ||
      config.entries > kMostEntries ||
      config.entries / 64 > static_cast<std::int64_t>(data.file_bytes()) + 64) {
    throw DatasetError("{}: expected 'nodes entries' that {} can hold ({} bytes), got {} and {}", name,
                       data.path.filename().string(), data.file_bytes(), config.nodes, config.entries);
  }
}

Config read_config(const fs::path& path) {
  NumberStream numbers(Source{path, ""}, {});
  Config config;
  std::int64_t more = 0;
  if (!numbers.next(config.nodes) || !numbers.next(config.entries) || numbers.next(more))
    throw DatasetError("{}: expected two numbers, 'nodes entries'", path.string());
  return config;
}

Csr read_text(const ImportJob& job, const fs::path& config_file, const fs::path& graph_file) {
  const Source graph{graph_file, ""};
  const Config config = read_config(config_file);
  check_config(config, config_file.string(), graph);
  NumberStream numbers(graph, job.progress);
  Assembler assembler(config.nodes, config.entries);
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < config.nodes + 1 + config.entries; ++i) {
    if (!numbers.next(number)) {
      throw DatasetError(
          "{}: byte {}: expected {} offsets and {} columns as {} says, got {} numbers: it is cut off",
          graph.name(), numbers.offset(), config.nodes + 1, config.entries, config_file.filename().string(),
          i);
    }
    i <= config.nodes ? assembler.offset(number, graph.name(), numbers.place())
                      : assembler.column(number, graph.name(), numbers.place());
  }
  if (numbers.next(number))
    throw DatasetError("{}: byte {}: expected the end after {} columns, got {}", graph.name(),
                       numbers.offset(), config.entries, number);
  if (numbers.has_crlf()) job.report->notes.emplace_back("line ends are CRLF");
  return assembler.finish(*job.report);
}

template <typename Take>
void each_int32(const Source& source, std::int64_t count, const Progress& progress, Take take_one) {
  const auto stream = source.open_raw();
  std::vector<std::int32_t> chunk(1 << 14);
  for (std::int64_t at = 0; at < count;) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(count - at, std::ssize(chunk)));
    read_exactly(*stream, std::as_writable_bytes(std::span(chunk).first(size)), source.name(),
                 static_cast<std::uint64_t>(at) * 4);
    for (std::size_t i = 0; i < size; ++i)
      take_one(chunk[i], static_cast<std::uint64_t>(at + static_cast<std::int64_t>(i)) * 4);
    at += static_cast<std::int64_t>(size);
    if (progress) progress(stream->consumed(), source.file_bytes());
  }
}

Csr read_dumps(const ImportJob& job, const fs::path& config_file, const Source& offsets,
               const Source& columns) {
  for (const Source& dump : {offsets, columns}) {
    if (dump.file_bytes() % 4 != 0)
      throw DatasetError("{}: byte {}: expected a whole number of int32, the file is cut off", dump.name(),
                         dump.file_bytes() / 4 * 4);
  }
  Config config{static_cast<std::int64_t>(offsets.file_bytes() / 4) - 1,
                static_cast<std::int64_t>(columns.file_bytes() / 4)};
  if (config.nodes < 0)
    throw DatasetError("{}: expected at least one row offset, the file is empty", offsets.name());
  check_config(config, offsets.name(), columns);
  if (fs::exists(config_file)) {
    const Config said = read_config(config_file);
    if (said.nodes != config.nodes || said.entries != config.entries) {
      throw DatasetError("{}: expected {} nodes and {} entries as the dumps hold, got {} and {}",
                         config_file.string(), config.nodes, config.entries, said.nodes, said.entries);
    }
  }
  Assembler assembler(config.nodes, config.entries);
  each_int32(offsets, config.nodes + 1, {},
             [&](std::int64_t value, std::uint64_t byte) { assembler.offset(value, offsets.name(), byte); });
  each_int32(columns, config.entries, job.progress,
             [&](std::int64_t value, std::uint64_t byte) { assembler.column(value, columns.name(), byte); });
  return assembler.finish(*job.report);
}

}  // namespace

Csr import_course(const ImportJob& job) {
  std::string stem = job.source.path.string();
  bool dumps = false;
  for (const char* suffix : {".graph.ptrdump", ".graph.edgedump", ".config", ".graph"}) {
    if (!stem.ends_with(suffix)) continue;
    dumps = std::string(suffix).ends_with("dump");
    stem.resize(stem.size() - std::string(suffix).size());
    break;
  }
  const fs::path config = stem + ".config", graph = stem + ".graph";
  const Source offsets{stem + ".graph.ptrdump", ""}, columns{stem + ".graph.edgedump", ""};
  if (!dumps && !fs::exists(graph)) dumps = true;
  if (dumps) {
    if (!fs::exists(offsets.path) || !fs::exists(columns.path))
      throw DatasetError("{}: expected {} and {} beside each other", job.source.name(), offsets.name(),
                         columns.name());
    return read_dumps(job, config, offsets, columns);
  }
  if (!fs::exists(config))
    throw DatasetError("{}: expected {} with 'nodes entries' beside it (or .properties, for a BVGraph)",
                       graph.string(), config.string());
  return read_text(job, config, graph);
}

}  // namespace warpgrade::datasets
