#include "judge/labs/histogram/histogram_lab.h"

#include <limits>

#include "judge/judging/figures.h"
#include "judge/labs/written_lab.h"

namespace warpgrade::histogram {
namespace {

const std::map<std::string, Pattern> kPatternNames = {
    {"uniform", Pattern::kUniform},  {"power-law", Pattern::kPowerLaw}, {"first-bin", Pattern::kFirstBin},
    {"last-bin", Pattern::kLastBin}, {"one-bin", Pattern::kOneBin},     {"half-last", Pattern::kHalfLast}};

class HistogramLab : public WrittenLab {
 public:
  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return judge_histogram(context, input);
  }
  // Of each id its bin: one operation.
  std::optional<CaseWork> work_of(const Case& c) const override {
    return CaseWork{.written_bytes = 4 * figure(c.other, "bins"),
                    .operations = double(c.nnz.value_or(0)),
                    .unit = units::kInteger};
  }

 private:
  std::vector<nlohmann::json> call_numbers(const Case& input) const override {
    const Shape shape = shape_of_case(input);
    return {{{"count", shape.count}, {"nodes", shape.nodes}}};
  }

  // {id: many-bins, pattern: uniform, ids: 60000, nodes: 600000}. Its width is 1.
  std::vector<Case> read_item(const YamlPlace& item) const override {
    std::set<std::string> keys = declaration::kCaseWords;
    keys.insert({"pattern", "ids", "nodes"});
    item.only(keys);
    Case spec = read_spec(item, "", 1);
    spec.dataset = item["pattern"].word(words_of(kPatternNames));
    spec.width = 1;
    spec.drawn = true;
    constexpr int kMost = std::numeric_limits<int>::max();
    spec.details = {{"ids", item["ids"].whole(0, kMost)}, {"nodes", item["nodes"].whole(1, kMost - 40)}};
    return {std::move(spec)};
  }
};

const LabRegistration kRegistration("histogram", [] { return make_written_lab<HistogramLab>("histogram"); });

}  // namespace

Shape shape_of_case(const Case& spec) {
  return {kPatternNames.at(spec.dataset), spec.details.at("ids"), spec.details.at("nodes")};
}

}  // namespace warpgrade::histogram
