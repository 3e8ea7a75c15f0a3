// WebGraph's BVGraph: P. Boldi, S. Vigna, "The WebGraph Framework I: Compression Techniques", WWW 2004. A bit
// stream of successor lists: a list copies blocks of an earlier one, then gives intervals, then gaps. The
// NAME.properties beside it holds the parameters and the counts.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "csr_builder.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

enum class Code { kUnary, kGamma, kDelta, kZeta, kNibble };

struct Properties {
  std::int64_t nodes = 0, arcs = 0, window = 7, most_references = 3, shortest_interval = 4, zeta_k = 3;
  // Outdegrees, references, copied blocks, their number, residuals: WebGraph's defaults.
  Code outdegrees = Code::kGamma, references = Code::kUnary, blocks = Code::kGamma,
       block_count = Code::kGamma, residuals = Code::kZeta;
};

void read_flags(const std::string& name, const std::string& flags, Properties& properties) {
  const std::map<std::string, Code*> parts = {{"OUTDEGREES_", &properties.outdegrees},
                                              {"REFERENCES_", &properties.references},
                                              {"BLOCKS_", &properties.blocks},
                                              {"BLOCK_COUNT_", &properties.block_count},
                                              {"RESIDUALS_", &properties.residuals}};
  const std::map<std::string, Code> codes = {{"UNARY", Code::kUnary},
                                             {"GAMMA", Code::kGamma},
                                             {"DELTA", Code::kDelta},
                                             {"ZETA", Code::kZeta},
                                             {"NIBBLE", Code::kNibble}};
  std::string word;
  for (std::size_t at = 0; at <= flags.size(); ++at) {
    if (at < flags.size() && flags[at] != '|' && flags[at] != ' ') {
      word += flags[at];
      continue;
    }
    if (word.empty()) continue;
    bool known = word.starts_with("OFFSETS_");  // of a file that is not needed
    for (const auto& [prefix, code] : parts) {
      if (!word.starts_with(prefix) || !codes.contains(word.substr(prefix.size()))) continue;
      *code = codes.at(word.substr(prefix.size()));
      known = true;
    }
    if (!known) throw DatasetError("{}: compressionflags: the code {} is not read", name, word);
    word.clear();
  }
}

Properties read_properties(const fs::path& path, const Source& graph) {
  LineReader reader(Source{path, ""}, {});
  std::map<std::string, std::string> values;
  for (std::string_view line; reader.next(line);) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
    std::string key(line.substr(0, equals)), value(line.substr(equals + 1));
    while (!key.empty() && key.back() == ' ') key.pop_back();
    while (!value.empty() && value.front() == ' ') value.erase(0, 1);
    values[key] = value;
  }
  Properties properties;
  const auto number = [&](const char* key, std::int64_t& into, std::int64_t most, bool needed) {
    if (!values.contains(key)) {
      if (needed) throw DatasetError("{}: expected a line '{}=...'", path.string(), key);
      return;
    }
    std::string_view text = values[key];
    if (!take(text, into) || !only_blanks(text) || into < 0 || into > most) {
      throw DatasetError("{}: expected {} from 0 to {}, got '{}'", path.string(), key, most,
                         values[key].substr(0, 40));
    }
  };
  number("nodes", properties.nodes, kMostRows, true);
  number("arcs", properties.arcs, kMostEntries, true);
  number("windowsize", properties.window, 1 << 16, false);
  number("maxrefcount", properties.most_references, INT32_MAX, false);
  number("minintervallength", properties.shortest_interval, INT32_MAX, false);
  number("zetak", properties.zeta_k, 30, false);
  if (values.contains("graphclass") && values["graphclass"].find("BVGraph") == std::string::npos)
    throw DatasetError("{}: expected a BVGraph, got {}", path.string(), values["graphclass"].substr(0, 60));
  if (values["endianness"] == "little")
    throw DatasetError("{}: little-endian bit streams are not read; store it with webgraph's default",
                       path.string());
  if (properties.zeta_k < 1) throw DatasetError("{}: zetak must be at least 1", path.string());
  if (!fits_file(properties.nodes, graph))
    throw DatasetError("{}: {} nodes, more than a graph of {} bytes can have", path.string(),
                       properties.nodes, graph.file_bytes());
  read_flags(path.string(), values["compressionflags"], properties);
  return properties;
}

// Bits from the most significant down, with the codes of "Codes for the World-Wide Web" (Boldi, Vigna 2005).
class BitReader {
 public:
  explicit BitReader(const Source& source, Progress progress)
      : stream_(source.open_raw()),
        name_(source.name()),
        file_bytes_(source.file_bytes()),
        progress_(std::move(progress)) {}

  std::uint64_t bits(int count) {
    std::uint64_t value = 0;
    while (count > 0) {
      if (left_ == 0) refill();
      const int now = std::min(count, left_);
      value = value << now | (window_ >> (left_ - now) & ((std::uint64_t{1} << now) - 1));
      left_ -= now;
      count -= now;
    }
    return value;
  }
  std::uint64_t unary() {
    std::uint64_t zeros = 0;
    for (;;) {
      if (left_ == 0) refill();
      const std::uint64_t rest = window_ & ((std::uint64_t{1} << left_) - 1);
      if (rest == 0) {
        zeros += static_cast<std::uint64_t>(left_);
        left_ = 0;
        continue;
      }
      const int leading = left_ - (64 - __builtin_clzll(rest));
      left_ -= leading + 1;
      return zeros + static_cast<std::uint64_t>(leading);
    }
  }
  std::uint64_t gamma() {
    const std::uint64_t length = unary();
    if (length > 40) fail("a number of at most 40 bits");
    return ((std::uint64_t{1} << length) | bits(static_cast<int>(length))) - 1;
  }
  std::uint64_t read(Code code, int zeta_k) {
    switch (code) {
      case Code::kUnary:
        return unary();
      case Code::kGamma:
        return gamma();
      case Code::kDelta: {
        const std::uint64_t length = gamma();
        if (length > 40) fail("a number of at most 40 bits");
        return ((std::uint64_t{1} << length) | bits(static_cast<int>(length))) - 1;
      }
      case Code::kZeta:
        return zeta(zeta_k);
      case Code::kNibble:
        break;
    }
    std::uint64_t value = 0;
    for (int nibbles = 0;; ++nibbles) {
      if (nibbles > 13) fail("a number of at most 40 bits");
      const std::uint64_t nibble = bits(4);
      value = value << 3 | (nibble & 7);
      if (nibble & 8) return value;
    }
  }
  [[noreturn]] void fail(const std::string& expected) const {
    const std::uint64_t bit = 8 * taken_ - static_cast<std::uint64_t>(left_);
    throw DatasetError(
        "{}: byte {} (bit {}): expected {}; the graph is damaged, or its .properties belong to another",
        name_, bit / 8, bit, expected);
  }

 private:
  std::uint64_t zeta(int k) {
    const std::uint64_t h = unary();
    const std::uint64_t width = h * static_cast<std::uint64_t>(k) + static_cast<std::uint64_t>(k) - 1;
    if (width > 40) fail("a number of at most 40 bits");
    const std::uint64_t left = std::uint64_t{1} << (h * static_cast<std::uint64_t>(k));
    const std::uint64_t minimal = bits(static_cast<int>(width));
    return minimal < left ? minimal + left - 1 : (minimal << 1 | bits(1)) - 1;
  }
  void refill() {
    if (at_ == have_) {
      have_ = stream_->read(buffer_);
      at_ = 0;
      if (progress_) progress_(stream_->consumed(), file_bytes_);
      if (have_ == 0) {
        throw DatasetError("{}: byte {}: the graph ends too early; fetch it again", name_, taken_);
      }
    }
    while (left_ <= 48 && at_ < have_) {
      window_ = window_ << 8 | static_cast<std::uint64_t>(buffer_[at_++]);
      left_ += 8;
      ++taken_;
    }
  }

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  std::uint64_t file_bytes_;
  Progress progress_;
  std::array<std::byte, 1 << 16> buffer_;
  std::size_t at_ = 0, have_ = 0;
  std::uint64_t window_ = 0, taken_ = 0;
  int left_ = 0;
};

std::int64_t signed_of(std::uint64_t value) {  // 0, -1, 1, -2, 2, ...
  return value & 1 ? -static_cast<std::int64_t>(value >> 1) - 1 : static_cast<std::int64_t>(value >> 1);
}

class Decoder {
 public:
  Decoder(const Properties& properties, BitReader& bits, Csr& matrix)
      : properties_(properties), bits_(bits), matrix_(matrix) {}

  // Appends the successors of `node`, the next one.
  void decode(std::int64_t node) {
    const std::uint64_t degree = bits_.read(properties_.outdegrees, zeta());
    const std::size_t begin = matrix_.columns.size();
    if (degree > static_cast<std::uint64_t>(properties_.arcs) - begin)
      bits_.fail(fmt::format("at most {} arcs in all (node {} has {} more)", properties_.arcs, node, degree));
    matrix_.row_offsets.push_back(static_cast<int>(begin + degree));
    if (degree == 0) return;
    copied_.clear();
    intervals_.clear();
    residuals_.clear();
    std::uint64_t missing = degree;
    if (properties_.window > 0) copy_blocks(node, missing);
    if (missing > 0 && properties_.shortest_interval > 0) read_intervals(node, missing);
    if (missing > 0) read_residuals(node, missing);
    const auto size = [](const std::vector<int>& list) { return static_cast<std::ptrdiff_t>(list.size()); };
    std::vector<int>& columns = matrix_.columns;
    const auto first = static_cast<std::ptrdiff_t>(begin);
    for (const auto* list : {&copied_, &intervals_, &residuals_})
      columns.insert(columns.end(), list->begin(), list->end());
    const auto second = first + size(copied_), third = second + size(intervals_);
    std::inplace_merge(columns.begin() + first, columns.begin() + second, columns.begin() + third);
    std::inplace_merge(columns.begin() + first, columns.begin() + third, columns.end());
    for (std::size_t i = begin + 1; i < columns.size(); ++i) {
      if (columns[i - 1] >= columns[i]) bits_.fail(fmt::format("distinct successors of node {}", node));
    }
  }

 private:
  int zeta() const { return static_cast<int>(properties_.zeta_k); }

  int checked(std::int64_t successor) const {
    if (successor < 0 || successor >= properties_.nodes)
      bits_.fail(fmt::format("successors from 0 to {}", properties_.nodes - 1));
    return static_cast<int>(successor);
  }

  void copy_blocks(std::int64_t node, std::uint64_t& missing) {
    const std::uint64_t reference = bits_.read(properties_.references, zeta());
    if (reference == 0) return;
    if (reference > static_cast<std::uint64_t>(std::min(node, properties_.window)))
      bits_.fail(
          fmt::format("a reference of node {} to one of the {} nodes before it", node, properties_.window));
    const auto row = static_cast<std::size_t>(node) - reference;
    const auto begin = static_cast<std::size_t>(matrix_.row_offsets[row]);
    const std::uint64_t length = static_cast<std::uint64_t>(matrix_.row_offsets[row + 1]) - begin;
    const std::uint64_t blocks = bits_.read(properties_.block_count, zeta());
    if (blocks > length + 1) bits_.fail(fmt::format("at most {} blocks of a list that long", length + 1));
    std::uint64_t at = 0;
    // Blocks are copied and skipped in turn; what is left behind an even number of them is copied.
    for (std::uint64_t block = 0; block <= blocks; ++block) {
      if (block == blocks && blocks % 2 == 1) break;
      const std::uint64_t size =
          block == blocks ? length - at : bits_.read(properties_.blocks, zeta()) + (block == 0 ? 0 : 1);
      if (size > length - at) bits_.fail(fmt::format("blocks within a list of {} successors", length));
      if (block % 2 == 0) {
        const auto* from = matrix_.columns.data() + begin + at;
        copied_.insert(copied_.end(), from, from + size);
      }
      at += size;
    }
    if (copied_.size() > missing) bits_.fail(fmt::format("at most {} successors of node {}", missing, node));
    missing -= copied_.size();
  }

  void read_intervals(std::int64_t node, std::uint64_t& missing) {
    const std::uint64_t count = bits_.gamma();
    const auto shortest = static_cast<std::uint64_t>(properties_.shortest_interval);
    std::int64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t gap = bits_.gamma();
      const std::int64_t left = i == 0 ? node + signed_of(gap) : next + static_cast<std::int64_t>(gap) + 1;
      const std::uint64_t length = bits_.gamma() + shortest;
      if (length > missing) bits_.fail(fmt::format("at most {} more successors of node {}", missing, node));
      checked(left);
      checked(left + static_cast<std::int64_t>(length) - 1);
      for (std::uint64_t j = 0; j < length; ++j)
        intervals_.push_back(static_cast<int>(left + static_cast<std::int64_t>(j)));
      missing -= length;
      next = left + static_cast<std::int64_t>(length);
    }
  }

  void read_residuals(std::int64_t node, std::uint64_t count) {
    std::int64_t successor = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t gap = bits_.read(properties_.residuals, zeta());
      successor = i == 0 ? node + signed_of(gap) : successor + static_cast<std::int64_t>(gap) + 1;
      residuals_.push_back(checked(successor));
    }
  }

  const Properties& properties_;
  BitReader& bits_;
  Csr& matrix_;
  std::vector<int> copied_, intervals_, residuals_;
};

}  // namespace

Csr import_bv_graph(const ImportJob& job) {
  fs::path properties_file = job.source.path, graph_file = job.source.path;
  properties_file.replace_extension(".properties");
  graph_file.replace_extension(".graph");
  if (!job.source.member.empty() || !fs::exists(properties_file) || !fs::exists(graph_file))
    throw DatasetError("{}: expected {} and {} beside each other", job.source.name(),
                       graph_file.filename().string(), properties_file.filename().string());
  const Source graph{graph_file, ""};
  const Properties properties = read_properties(properties_file, graph);
  Csr matrix;
  matrix.rows = matrix.cols = static_cast<int>(properties.nodes);
  matrix.row_offsets.reserve(static_cast<std::size_t>(properties.nodes) + 1);
  matrix.row_offsets.push_back(0);
  matrix.columns.reserve(static_cast<std::size_t>(properties.arcs));
  BitReader bits(graph, job.progress);
  Decoder decoder(properties, bits, matrix);
  for (std::int64_t node = 0; node < properties.nodes; ++node) decoder.decode(node);
  if (matrix.nnz() != properties.arcs) {
    throw DatasetError("{}: expected {} arcs as {} says, got {}", graph.name(), properties.arcs,
                       properties_file.filename().string(), matrix.nnz());
  }
  matrix.values.assign(matrix.columns.size(), 1.0f);
  job.report->lines = matrix.nnz();
  return matrix;
}

}  // namespace warpgrade::datasets
