// Measures lab spmm's checks: how often they reject honest fp32 sums (never), and which formats of lower
// precision they find (all, in rows of any length). The buffers are the judge's own.
//
//   precision [--inputs N] [--seed S] [--catalogue FILE] [--out FOLDER] [--tail TERMS]
//
// Each input is a matrix with the row lengths of a case, K = 32 or 256, with fresh values as a case has them,
// multiplied in eight orders of summation, and with B in three parts: 9 N results. Ends with 1 when an honest
// result was rejected or a format was not found. --tail: single cells' errors as well, of so many terms for
// each of six lengths. Prints two tables in Markdown; with --out writes them to honest.md and found.md.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "precision/shapes.h"
#include "precision/sums.h"
#include "precision/tail.h"
#include "spmm/oracle.h"

namespace warpgrade::spmm {
namespace {

// A buffer that the judge shares with runners, mapped as a runner does: inputs for reading only.
class Mapping {
 public:
  Mapping(const SharedBuffer& buffer, int protection) : buffer_(buffer) {
    base_ = mmap(nullptr, buffer.mapped_bytes, protection, MAP_SHARED, buffer.fd, 0);
    if (base_ == MAP_FAILED) throw std::runtime_error("cannot map " + buffer.name);
  }
  ~Mapping() { munmap(base_, buffer_.mapped_bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  float* floats() const { return reinterpret_cast<float*>(static_cast<char*>(base_) + buffer_.offset); }
  std::size_t count() const { return buffer_.bytes / sizeof(float); }

 private:
  SharedBuffer buffer_;
  void* base_ = nullptr;
};

// Loaded buffers with fresh values, and the way into it.
class Trial {
 public:
  Trial(const Matrix& matrix, int k, std::uint64_t seed) : buffers_(make_host_spmm_buffers(1)), seed_(seed) {
    buffers_->load(matrix.structure(), k);
    buffers_->refresh_a(mix_bits(seed));
    buffers_->refresh_b(mix_bits(seed + 1));
    const auto buffers = buffers_->input_buffers();
    values_ = std::make_unique<Mapping>(buffers[2], PROT_READ);
    b_ = std::make_unique<Mapping>(buffers[3], PROT_READ);
    inputs = {matrix.structure(), k, {values_->floats(), values_->count()}, {b_->floats(), b_->count()}};
  }
  void give(const std::vector<float>& c) {
    const Mapping output(buffers_->output_buffer(), PROT_READ | PROT_WRITE);
    std::memcpy(output.floats(), c.data(), c.size() * sizeof(float));
    buffers_->snapshot();
  }
  Check cells() { return buffers_->check_every_cell(); }
  Check product() { return buffers_->check_product(mix_bits(seed_ + 2)); }

  Inputs inputs;

 private:
  std::unique_ptr<SpmmBuffers> buffers_;
  std::unique_ptr<Mapping> values_, b_;
  std::uint64_t seed_;
};

struct Honest {
  std::int64_t results = 0, cells = 0, exact = 0, outliers = 0, rejected = 0;
  double over_bound = 0, over_rms = 0, product_over_bound = 0, product_over_rms = 0;
};

void note(Honest& honest, const Check& cells, const Check& product) {
  ++honest.results;
  honest.cells += cells.cells_checked;
  honest.exact += cells.exact_cells;
  honest.outliers += cells.outliers;
  honest.rejected += cells.ok() && product.ok() ? 0 : 1;
  honest.over_bound = std::max(honest.over_bound, cells.max_error_over_bound);
  honest.over_rms = std::max(honest.over_rms, cells.max_rms_over_limit);
  honest.product_over_bound = std::max(honest.product_over_bound, product.max_error_over_bound);
  honest.product_over_rms = std::max(honest.product_over_rms, product.max_rms_over_limit);
}

// False when an honest result was rejected.
bool measure_honest(const std::vector<Shape>& shapes, int inputs, std::uint64_t seed, std::string& table) {
  std::map<std::string, Honest> by_order;
  Honest all;
  for (int input = 0; input < inputs; ++input) {
    const Shape& shape = shapes[static_cast<std::size_t>(input) % shapes.size()];
    const int k = static_cast<std::size_t>(input) / shapes.size() % 4 == 3 ? 256 : 32;
    const std::uint64_t own = mix_bits(seed + static_cast<std::uint64_t>(input));
    const Matrix matrix = draw_matrix(shape, own, k == 32 ? 3000 : 600, 32, 40000);
    Trial trial(matrix, k, own);
    for (const Order& order : orders()) {
      trial.give(multiply(trial.inputs, order, own));
      const Check cells = trial.cells(), product = trial.product();
      note(by_order[order.name], cells, product);
      note(all, cells, product);
      if (!cells.ok() || !product.ok())
        fmt::print(stderr, "rejected: {}, K = {}, {}, seed {}\n", shape.name, k, order.name, own);
    }
  }
  table =
      "| order | results | cells | bit for bit | rejected | beyond 8 u Σ\\|a\\|\\|b\\| | largest error / "
      "bound | "
      "largest rms / limit | Freivalds: error / bound | rms / limit "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  const auto line = [&](const std::string& name, const Honest& h) {
    table += fmt::format("| {} | {} | {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", name,
                         h.results, h.cells, h.exact, h.rejected, h.outliers, h.over_bound, h.over_rms,
                         h.product_over_bound, h.product_over_rms);
  };
  for (const Order& order : orders()) line(order.name, by_order[order.name]);
  line("all", all);
  return all.rejected == 0;
}

// The largest error of a cell over its bound.
double largest_ratio(const Inputs& inputs, const std::vector<float>& c) {
  const CsrView a{inputs.a.cols, inputs.a.row_offsets, inputs.a.columns, inputs.values};
  std::vector<double> want(c.size()), abs_sum(c.size());
  spmm_oracle(a, inputs.k, inputs.b.data(), want.data(), abs_sum.data(), 1);
  double largest = 0;
  for (std::size_t cell = 0; cell < c.size(); ++cell) {
    if (abs_sum[cell] > 0)
      largest = std::max(largest, std::abs(c[cell] - want[cell]) / cell_bound(abs_sum[cell]));
  }
  return largest;
}

// What each check says of one format in rows of one length.
std::string found_by(Trial& trial, const Format& format, bool& found) {
  const std::vector<float> c = multiply_in(trial.inputs, format);
  trial.give(c);
  const Check cells = trial.cells(), product = trial.product();
  std::string by;
  if (cells.bad_cells > cells.not_exact) by += "c";
  if (cells.not_exact > 0) by += "x";
  if (!cells.imprecise.empty()) by += "r";
  if (product.bad_cells > 0) by += "f";
  if (!product.imprecise.empty()) by += "g";
  found = !cells.ok();
  return fmt::format("{} {:.3g}", by.empty() ? "–" : by, largest_ratio(trial.inputs, c));
}

constexpr int kManyInputs = 500;  // from here on real graphs and the longest rows are measured, too
constexpr int kLengths[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536};
constexpr std::int64_t kEntries = 1 << 16;

// False when a format was not found.
bool measure_formats(std::uint64_t seed, bool quick, std::string& table) {
  table = "| format | mixed lengths |";
  for (const int length : kLengths) table += fmt::format(" {} |", length);
  table += "\n|---|---|";
  for (std::size_t i = 0; i < std::size(kLengths); ++i) table += "---|";
  table += "\n";
  std::vector<std::string> lines;
  for (const Format& format : formats()) lines.push_back("| " + format.name + " |");
  bool all_found = true;
  const auto column = [&](const Matrix& matrix, std::int64_t length) {
    Trial trial(matrix, 32, mix_bits(seed + static_cast<std::uint64_t>(length)));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Format& format = formats()[i];
      if (length > 0 && length <= format.longer_than) {
        lines[i] += " |";
        continue;
      }
      bool found = false;
      lines[i] += " " + found_by(trial, format, found) + " |";
      if (found) continue;
      all_found = false;
      fmt::print(stderr, "not found: {}, rows of {} entries\n", format.name, length);
    }
  };
  // Mixed: 2,000 short rows, 40 of 300, one of 3,000.
  Matrix matrix = draw_matrix({"mixed", {3000, 300, 20, 12, 8, 5, 3, 2, 1, 40}}, seed, 60000, 1, 3000);
  column(matrix, 0);
  for (const int length : kLengths) {
    if (quick && length > 8192) {
      for (std::string& line : lines) line += " |";
      continue;
    }
    column(even_matrix(static_cast<int>(std::max<std::int64_t>(2, kEntries / length)), length, seed), length);
  }
  for (const std::string& line : lines) table += line + "\n";
  return all_found;
}

void write(const std::string& folder, const std::string& name, const std::string& table) {
  fmt::print("{}\n", table);
  if (folder.empty()) return;
  std::ofstream(folder + "/" + name) << table;
}

int run(int argc, char** argv) {
  int inputs = 40;
  std::uint64_t seed = 1;
  double tail_terms = 0;
  std::string catalogue = WARPGRADE_CATALOGUE, out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--inputs")
      inputs = std::stoi(value);
    else if (option == "--seed")
      seed = std::stoull(value);
    else if (option == "--catalogue")
      catalogue = value;
    else if (option == "--tail")
      tail_terms = std::stod(value);
    else if (option == "--out")
      out = value;
    else
      throw std::runtime_error("unknown option " + option + "; see the top of precision.cpp");
  }
  if (argc % 2 == 0) throw std::runtime_error(std::string(argv[argc - 1]) + " needs a value");
  const std::vector<Shape> shapes = timed_shapes(catalogue, inputs >= kManyInputs);
  fmt::print("seed {}, {} inputs, {} shapes:", seed, inputs, shapes.size());
  for (const Shape& shape : shapes) fmt::print(" {}", shape.name);
  fmt::print("\n\n");
  std::string honest, found;
  const bool accepted = measure_honest(shapes, inputs, seed, honest);
  write(out, "honest.md", honest);
  const bool all_found = measure_formats(seed, inputs < kManyInputs, found);
  write(out, "found.md", found);
  if (tail_terms > 0) write(out, "tail.md", measure_tail(tail_terms, seed));
  return accepted && all_found ? 0 : 1;
}

}  // namespace
}  // namespace warpgrade::spmm

int main(int argc, char** argv) {
  try {
    return warpgrade::spmm::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "precision: %s\n", error.what());
    return 2;
  }
}
