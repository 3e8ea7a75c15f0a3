#include "judge/labs/sampling/sampling_lab.h"

#include <limits>

#include "judge/judging/figures.h"
#include "judge/labs/written_lab.h"

namespace warpgrade::sampling {
namespace {

class SamplingLab : public WrittenLab {
 public:
  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return judge_sampling(context, input);
  }
  std::string case_on_dataset(const std::string& name, int rows, int cols, std::int64_t) const override {
    return rows == cols ? fmt::format("graph: {}, nodes: all, fanout: 10", name) : "";
  }
  // Of each draw a random number and its scaling to the row: at least a product and an addition each.
  std::optional<CaseWork> work_of(const Case& c) const override {
    constexpr double kLeast = 4;
    const double draws = figure(c.other, "count") * c.width;
    return CaseWork{.written_bytes = 4 * draws, .operations = kLeast * draws, .unit = units::kInteger};
  }

 private:
  // {graph: cora, nodes: all, fanout: 10}, or so many nodes at random.
  std::vector<Case> read_item(const YamlPlace& item) const override {
    std::set<std::string> keys = declaration::kCaseWords;
    keys.insert({"graph", "nodes", "fanout"});
    item.only(keys);
    constexpr int kMost = std::numeric_limits<int>::max();
    const YamlPlace place = item["nodes"];
    const bool every = place.text_or("all") == "all";
    const int nodes = every ? 0 : static_cast<int>(place.whole(1, kMost));
    const std::vector<int> fanouts = read_widths(item["fanout"], 1, kMost);
    const std::string graph = read_graph(item["graph"]);
    std::vector<Case> cases;
    for (const int fanout : fanouts) {
      Case spec =
          read_spec(item, fmt::format("{}-{}x{}", graph, every ? "all" : std::to_string(nodes), fanout),
                    fanouts.size());
      spec.dataset = graph;
      spec.width = fanout;
      spec.details = {{"nodes", nodes}};
      cases.push_back(std::move(spec));
    }
    return cases;
  }
};

const LabRegistration kRegistration("sampling", [] { return make_written_lab<SamplingLab>("sampling"); });

}  // namespace

int nodes_of_case(const Case& spec) {
  return spec.details.at("nodes");
}

}  // namespace warpgrade::sampling
