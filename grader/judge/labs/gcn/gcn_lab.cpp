#include "judge/labs/gcn/gcn_lab.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "judge/judging/figures.h"
#include "judge/labs/written_lab.h"
#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/raw_layer.h"

namespace warpgrade::gcn {
namespace fs = std::filesystem;
namespace {

using enum Operator;

const std::map<std::string, Operator> kOperatorNames = {
    {"xw", kTransform}, {"aggregate", kAggregate}, {"softmax", kLogSoftmax}, {"pipeline", kWhole}};
const std::map<std::string, GraphPattern> kPatternNames = {{"even", GraphPattern::kEven},
                                                           {"power-law", GraphPattern::kPowerLaw},
                                                           {"isolated", GraphPattern::kIsolated},
                                                           {"repeated", GraphPattern::kRepeated},
                                                           {"heavy-hubs", GraphPattern::kHeavyHubs},
                                                           {"loops-only", GraphPattern::kLoopsOnly},
                                                           {"no-entries", GraphPattern::kNoEntries},
                                                           {"web", GraphPattern::kWeb}};
const std::map<std::string, Numbers> kNumbersNames = {
    {"uniform", Numbers::kUniform}, {"small", Numbers::kSmall},     {"large", Numbers::kLarge},
    {"tiny", Numbers::kTiny},       {"huge", Numbers::kHuge},       {"row-scales", Numbers::kRowScales},
    {"modest", Numbers::kModest},   {"shifted", Numbers::kShifted}, {"extreme", Numbers::kExtreme},
    {"ties", Numbers::kTies}};

constexpr int kMostVertices = 1 << 27;  // whose 16 columns an int counts
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
      "{}: sums of X * W over neighbours may reach {:.3g}, and {:.0e} is the most that fp64 can hold here; "
      "multiply x.bin or w.bin by a smaller factor",
      folder.string(), bound, kLargest);
}

std::string name_of(Operator op) {
  for (const auto& [name, value] : kOperatorNames)
    if (value == op) return name;
  return "";
}

class GcnLab : public WrittenLab {
 public:
  std::vector<Case> cases_of_input(const std::filesystem::path& folder) const override {
    return cases_of_raw_layer(folder);
  }
  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return judge_gcn(context, input);
  }
  void make_ahead(const JudgeContext& context, const Case& input) const override {
    make_case_ahead(context, input);
  }
  std::string case_on_dataset(const std::string& name, int rows, int cols, std::int64_t) const override {
    return rows == cols ? fmt::format("operator: pipeline, graph: {}, vertices: {}", name, rows) : "";
  }
  void check_dataset(const Case& spec, const std::filesystem::path& file) const override {
    if (spec.drawn) return;
    require_square(spec, file);
    const int vertices = datasets::CsrFile::open(file).rows();
    if (vertices != spec.width)
      throw UsageError("{}.vertices: expected {}, which {} has, got {}", spec.place, vertices, spec.dataset,
                       spec.width);
  }
  // Multiply-adds of X W on the tensor cores, which round as fp64 does; each entry of the graph loads a row.
  std::optional<CaseWork> work_of(const Case& c) const override {
    const double vertices = double(c.rows.value_or(0)), columns = double(c.cols.value_or(0));
    const std::string op = word(c.other, "operator");
    const bool is_whole = op == function_of(kWhole), multiplies = is_whole || op == function_of(kTransform);
    const double entries = is_whole || op == function_of(kAggregate) ? double(c.nnz.value_or(0)) : 0;
    return CaseWork{.written_bytes = 8 * kClasses * vertices,
                    .gathered_bytes = 8 * kClasses * entries,
                    .operations = multiplies ? 2 * vertices * columns * kClasses : 0,
                    .unit = units::kFp64Tensor};
  }

 private:
  // How many entries a graph has is known once it is drawn: code for 1 entry, for a multiple of 16 and for other
  // counts is made beforehand.
  std::vector<nlohmann::json> call_numbers(const Case& input) const override {
    const std::int64_t vertices = input.width;
    std::vector<std::int64_t> entries{16 * vertices, 16 * vertices + 1};
    if (vertices == 1) entries.push_back(1);
    std::vector<nlohmann::json> numbers;
    for (const std::int64_t nnz : entries)
      numbers.push_back(
          {{"function", static_cast<int>(shape_of_case(input).op)}, {"vertices", vertices}, {"nnz", nnz}});
    return numbers;
  }

  // {id: xw-small, operator: xw, pattern: loops-only, vertices: 131, numbers: small}, or of a dataset
  // {operator: pipeline, graph: cora, vertices: 2708}.
  std::vector<Case> read_item(const YamlPlace& item) const override {
    std::set<std::string> keys = declaration::kCaseWords;
    keys.insert({"operator", "graph", "pattern", "vertices", "numbers"});
    item.only(keys);
    const std::string op = item["operator"].word(words_of(kOperatorNames));
    const Source source = read_source(item, words_of(kPatternNames));
    Case spec = read_spec(item, source.drawn ? "" : op + "-" + source.name, 1);
    spec.width = static_cast<int>(item["vertices"].whole(1, kMostVertices));
    spec.drawn = source.drawn;
    spec.dataset = source.drawn ? op : source.name;
    spec.details = {{"operator", op}};
    if (source.drawn) {
      spec.details["pattern"] = source.name;
      spec.details["numbers"] = item["numbers"].word_or("uniform", words_of(kNumbersNames));
    } else if (item["numbers"].defined()) {
      item["numbers"].refuse("a dataset's numbers are uniform: only a drawn graph has others");
    }
    return {std::move(spec)};
  }
};

const LabRegistration kRegistration("gcn", [] { return make_written_lab<GcnLab>("gcn"); });

}  // namespace

const char* function_of(Operator op) {
  constexpr const char* kNames[] = {"gcn_transform", "gcn_aggregate", "gcn_log_softmax", "gcn_run"};
  return kNames[static_cast<int>(op)];
}

std::vector<Case> cases_of_raw_layer(const std::filesystem::path& folder) {
  const datasets::RawLayer layer = datasets::read_raw_layer(folder, kFeatures, kClasses);
  require_finite_layer(layer, folder);
  const fs::path place = fs::absolute(folder).lexically_normal();
  std::vector<Case> cases;
  for (const Operator op : {kTransform, kAggregate, kLogSoftmax, kWhole}) {
    Case spec;
    spec.id = name_of(op) + kRawSuffix;
    spec.dataset = name_of(op);
    spec.width = layer.vertices();
    spec.kind = "speed";
    spec.set = "input";
    spec.why = "your own graph and numbers";
    spec.drawn = true;
    spec.details = {{"operator", name_of(op)}, {"raw", true}};
    spec.file = place;
    spec.input_hash = layer.hash;
    cases.push_back(std::move(spec));
  }
  return cases;
}

Shape shape_of_case(const Case& spec) {
  Shape shape;
  shape.op = kOperatorNames.at(spec.details.at("operator"));
  shape.raw = spec.details.value("raw", false);
  if (shape.raw) return shape;
  shape.vertices = spec.width;
  if (!spec.drawn) return shape;
  shape.pattern = kPatternNames.at(spec.details.at("pattern"));
  shape.numbers = kNumbersNames.at(spec.details.at("numbers"));
  return shape;
}

}  // namespace warpgrade::gcn
