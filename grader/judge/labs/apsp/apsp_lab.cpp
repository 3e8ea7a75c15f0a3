#include "judge/labs/apsp/apsp_lab.h"

#include <algorithm>

#include "judge/labs/written_lab.h"

namespace warpgrade::apsp {
namespace {

// kOlder is drawn in place of "complete".
const std::map<std::string, Pattern> kPatternNames = {{"complete", Pattern::kComplete},
                                                      {"sparse", Pattern::kSparse},
                                                      {"islands", Pattern::kIslands},
                                                      {"zero-weights", Pattern::kZeroWeights},
                                                      {"one-way", Pattern::kOneWay},
                                                      {"ring", Pattern::kRing},
                                                      {"heavy", Pattern::kHeavy},
                                                      {"light", Pattern::kLight},
                                                      {"far", Pattern::kFar}};
constexpr int kMostNodes = kInfinity / kMaxWeight;  // whose longest path is no infinity
constexpr int kUsualNodes = 5000;                   // of a real graph in a policy's case

// The older interface was promised complete graphs with weights up to 10,000. Complete graphs are drawn with
// such weights for it; the others are cases of the contract alone.
std::string beyond_older(std::optional<Pattern> pattern) {
  if (pattern == Pattern::kComplete) return "";
  if (pattern == Pattern::kLight) return "weights above 10,000";
  return "a graph that is not complete";
}

class ApspLab : public WrittenLab {
 public:
  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return judge_apsp(context, input);
  }
  std::string case_on_dataset(const std::string& name, int rows, int cols, std::int64_t) const override {
    return rows == cols ? fmt::format("graph: {}, n: {}", name, std::min(rows, kUsualNodes)) : "";
  }
  void check_dataset(const Case& spec, const std::filesystem::path& file) const override {
    if (!spec.drawn) require_square(spec, file);
  }
  // A relaxation for each three nodes, as Floyd and Warshall have it. On graphs without long paths lengths
  // may be cut at 16 bits (reference/apsp/README.md).
  std::optional<CaseWork> work_of(const Case& c) const override {
    const double n = c.width;
    const bool is_wide = c.dataset == "heavy" || c.dataset == "far";
    return CaseWork{.written_bytes = 4 * n * n,
                    .operations = n * n * n,
                    .unit = is_wide ? units::kMinPlus : units::kMinPlus16};
  }

 private:
  std::vector<nlohmann::json> call_numbers(const Case& input) const override {
    return {{{"n", input.width}}};
  }

  // {pattern: ring, n: 129}, or {graph: USA-road-d.NY, n: 150}: the first nodes of a breadth-first search,
  // all edges between them, weights drawn anew in each repetition. The width is n.
  std::vector<Case> read_item(const YamlPlace& item) const override {
    std::set<std::string> keys = declaration::kCaseWords;
    keys.insert({"graph", "pattern", "n"});
    item.only(keys);
    const Source source = read_source(item, words_of(kPatternNames));
    const std::vector<int> sizes = read_widths(item["n"], 1, kMostNodes);
    const bool timed = item["kind"].text_or("") == "speed";
    std::vector<Case> cases;
    for (const int n : sizes) {
      Case spec =
          read_spec(item, fmt::format("{}{}{}", source.name, timed ? "-timed-" : "-", n), sizes.size());
      spec.dataset = source.name;
      spec.width = n;
      spec.drawn = source.drawn;
      spec.beyond_older = beyond_older(shape_of_case(spec).pattern);
      cases.push_back(std::move(spec));
    }
    return cases;
  }
};

const LabRegistration kRegistration("apsp", [] { return make_written_lab<ApspLab>("apsp"); });

}  // namespace

Shape shape_of_case(const Case& spec) {
  if (spec.drawn) return {spec.width, kPatternNames.at(spec.dataset)};
  return {spec.width, std::nullopt};
}

}  // namespace warpgrade::apsp
