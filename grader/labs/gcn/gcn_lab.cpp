#include "labs/gcn/gcn_lab.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "warpgrade/datasets/raw_layer.h"

namespace warpgrade::gcn {
namespace fs = std::filesystem;
namespace {

using enum Operator;
using G = GraphPattern;
using N = Numbers;

struct Case {
  const char* id;
  Operator op;
  G pattern;
  int vertices;
  N numbers;
  const char* set;
  const char* why;
};

constexpr int kWebVertices = 281903;

// No two cases of an operator have as many vertices.
constexpr Case kCases[] = {
    {"xw-517", kTransform, G::kLoopsOnly, 517, N::kUniform, "public", "a row count that no tile divides"},
    {"xw-one-vertex", kTransform, G::kLoopsOnly, 1, N::kUniform, "public", "one row"},
    {"xw-256", kTransform, G::kNoEntries, 256, N::kUniform, "public", "a row count that tiles divide"},
    {"xw-small", kTransform, G::kLoopsOnly, 131, N::kSmall, "public",
     "numbers near 1e-145: sums near 1e-288"},
    {"xw-large", kTransform, G::kLoopsOnly, 133, N::kLarge, "public", "numbers near 1e145: sums near 1e290"},
    {"xw-mixed", kTransform, G::kLoopsOnly, 257, N::kRowScales, "public", "each row at a scale of its own"},
    {"xw-1283", kTransform, G::kEven, 1283, N::kUniform, "hidden", "more rows, and a prime number of them"},
    {"aggregate-even", kAggregate, G::kEven, 1021, N::kUniform, "public", "short rows, one direction each"},
    {"aggregate-hub", kAggregate, G::kPowerLaw, 1500, N::kUniform, "public",
     "one row of thousands among short ones"},
    {"aggregate-isolated", kAggregate, G::kIsolated, 601, N::kUniform, "public",
     "vertices without entries that are others' neighbours"},
    {"aggregate-repeated", kAggregate, G::kRepeated, 333, N::kUniform, "public",
     "entries that occur several times"},
    {"aggregate-heavy-hubs", kAggregate, G::kHeavyHubs, 307, N::kUniform, "public",
     "two rows of 66,000: the product of their degrees is beyond 32 bits"},
    {"aggregate-loops", kAggregate, G::kLoopsOnly, 200, N::kUniform, "public", "self-loops alone: Z = Y"},
    {"aggregate-no-entries", kAggregate, G::kNoEntries, 77, N::kUniform, "public",
     "no entry anywhere: Z = 0"},
    {"aggregate-one-vertex", kAggregate, G::kLoopsOnly, 1, N::kUniform, "public",
     "one vertex, its own neighbour"},
    {"aggregate-tiny", kAggregate, G::kEven, 203, N::kTiny, "public", "numbers near 1e-289"},
    {"aggregate-huge", kAggregate, G::kEven, 205, N::kHuge, "public", "numbers near 1e289"},
    {"aggregate-mixed", kAggregate, G::kPowerLaw, 411, N::kRowScales, "public",
     "each row at a scale of its own"},
    {"aggregate-2311", kAggregate, G::kPowerLaw, 2311, N::kUniform, "hidden", "a longer hub"},
    {"softmax-modest", kLogSoftmax, G::kNoEntries, 1021, N::kModest, "public", "numbers within [-4, 4)"},
    {"softmax-shifted", kLogSoftmax, G::kNoEntries, 515, N::kShifted, "public",
     "far from 0: exp overflows or vanishes"},
    {"softmax-extreme", kLogSoftmax, G::kNoEntries, 259, N::kExtreme, "public", "|z| up to 8e307"},
    {"softmax-tiny", kLogSoftmax, G::kNoEntries, 101, N::kTiny, "public", "numbers near 1e-289"},
    {"softmax-ties", kLogSoftmax, G::kNoEntries, 67, N::kTies, "public", "rows of equal numbers: -log 16"},
    {"softmax-one-vertex", kLogSoftmax, G::kLoopsOnly, 1, N::kModest, "public", "one row"},
    {"softmax-2049", kLogSoftmax, G::kNoEntries, 2049, N::kShifted, "hidden", "more rows"},
    {"pipeline-even", kWhole, G::kEven, 517, N::kUniform, "public", "short rows, one direction each"},
    {"pipeline-hub", kWhole, G::kPowerLaw, 701, N::kUniform, "public", "one long row among short ones"},
    {"pipeline-isolated", kWhole, G::kIsolated, 301, N::kUniform, "public",
     "vertices without entries: their row of O is -log 16"},
    {"pipeline-no-entries", kWhole, G::kNoEntries, 45, N::kUniform, "public", "no entry anywhere"},
    {"pipeline-one-vertex", kWhole, G::kLoopsOnly, 1, N::kUniform, "public", "one vertex, its own neighbour"},
    {"pipeline-large", kWhole, G::kEven, 203, N::kLarge, "public", "numbers near 1e290 in front of exp"},
    {"pipeline-mixed", kWhole, G::kRepeated, 227, N::kRowScales, "public",
     "each row at a scale of its own, entries that repeat"},
    {"pipeline-937", kWhole, G::kPowerLaw, 937, N::kUniform, "hidden", "a longer hub"},
    {"xw-web", kTransform, G::kWeb, kWebVertices, N::kUniform, "stand-in", "X * W for 281,903 vertices"},
    {"aggregate-web", kAggregate, G::kWeb, kWebVertices, N::kUniform, "stand-in",
     "2.6 M entries, power-law rows"},
    {"softmax-web", kLogSoftmax, G::kNoEntries, kWebVertices, N::kShifted, "stand-in", "281,903 rows"},
    {"pipeline-web", kWhole, G::kWeb, kWebVertices, N::kUniform, "stand-in", "the whole layer"},
};

struct RealCase {
  const char* id;
  Operator op;
  const char* dataset;
  int vertices;
  const char* set;
  const char* why;
};
constexpr RealCase kRealCases[] = {
    {"pipeline-cora", kWhole, "cora", 2708, "real", "citations, with self-loops"},
    {"aggregate-pubmed", kAggregate, "pubmed", 19717, "real", "citations, with self-loops"},
    {"pipeline-cnr-2000", kWhole, "cnr-2000", 325557, "real-large", "a graph of the web"},
};

constexpr const char* kRawSuffix = "-input";
constexpr double kLargest = 8e307;  // of Z: twice that is still a number

// No sum of the layer may leave the range of fp64, in whatever order an honest program takes it.
void require_finite_layer(const datasets::RawLayer& layer, const fs::path& folder) {
  const auto largest = [](const std::vector<double>& numbers) {
    double most = 0;
    for (const double number : numbers) most = std::max(most, std::fabs(number));
    return most;
  };
  double longest = 1;
  for (int v = 0; v < layer.vertices(); ++v)
    longest = std::max(longest, double(layer.row_offsets[v + 1] - layer.row_offsets[v]));
  const double bound = kFeatures * longest * largest(layer.x) * largest(layer.w);
  if (bound < kLargest) return;
  throw datasets::DatasetError(
      "{}: sums of X * W over neighbours may reach {:.3g}, and {:.0e} is the most that fp64 takes; scale "
      "x.bin "
      "or w.bin down",
      folder.string(), bound, kLargest);
}

const char* name_of(Operator op) {
  switch (op) {
    case kTransform:
      return "xw";
    case kAggregate:
      return "aggregate";
    case kLogSoftmax:
      return "softmax";
    case kWhole:
      return "pipeline";
  }
  return "";
}

class GcnLab : public Lab {
 public:
  std::string name() const override { return "gcn"; }
  std::string summary() const override {
    return "a graph convolution's layer in fp64, by operator and whole";
  }
  Terms terms() const override { return {"V", "vertices", "out", "xw"}; }
  std::vector<CaseSpec> cases() const override { return gcn_cases(); }
  std::vector<Baseline> baselines() const override {
    return {{"cublas_cusparse", "reference/gcn/vendor/cublas_cusparse", {"cublas", "cusparse"}, true},
            {"naive", "reference/gcn/naive", {}, false}};
  }
  std::vector<CaseInput> cases_of_input(const std::filesystem::path& folder) const override {
    return cases_of_raw_layer(folder);
  }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return judge_gcn(context, input);
  }
};

const LabRegistration kRegistration(std::make_unique<GcnLab>());

}  // namespace

std::vector<CaseSpec> gcn_cases() {
  std::vector<CaseSpec> cases;
  for (const Case& c : kCases) {
    const std::string set = c.set;
    CaseSpec spec{c.id, name_of(c.op), c.vertices, set == "stand-in" ? "speed" : "correctness", set, c.why};
    spec.drawn = true;
    cases.push_back(std::move(spec));
  }
  for (const RealCase& c : kRealCases) cases.push_back({c.id, c.dataset, c.vertices, "speed", c.set, c.why});
  return cases;
}

std::vector<CaseInput> cases_of_raw_layer(const std::filesystem::path& folder) {
  const datasets::RawLayer layer = datasets::read_raw_layer(folder, kFeatures, kClasses);
  require_finite_layer(layer, folder);
  const fs::path place = fs::absolute(folder).lexically_normal();
  std::vector<CaseInput> cases;
  for (const Operator op : {kTransform, kAggregate, kLogSoftmax, kWhole}) {
    CaseSpec spec{std::string(name_of(op)) + kRawSuffix, name_of(op), layer.vertices(), "speed", "input",
                  "your own graph and numbers"};
    spec.drawn = true;
    cases.push_back({std::move(spec), place, layer.hash});
  }
  return cases;
}

Shape shape_of_case(const std::string& id) {
  for (const Case& c : kCases) {
    if (id == c.id) return {c.op, c.pattern, c.vertices, c.numbers};
  }
  for (const RealCase& c : kRealCases) {
    if (id == c.id) return {c.op, std::nullopt, c.vertices, Numbers::kUniform};
  }
  for (const Operator op : {kTransform, kAggregate, kLogSoftmax, kWhole}) {
    if (id == std::string(name_of(op)) + kRawSuffix) {
      Shape shape;
      shape.op = op;
      shape.raw = true;
      return shape;
    }
  }
  throw JudgeFault("lab gcn has no case {}", id);
}

}  // namespace warpgrade::gcn
