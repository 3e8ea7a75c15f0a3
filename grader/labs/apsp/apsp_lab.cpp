#include "labs/apsp/apsp_lab.h"

#include "base/error.h"

namespace warpgrade::apsp {
namespace {

const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kComplete:
      return "complete";
    case Pattern::kSparse:
      return "sparse";
    case Pattern::kIslands:
      return "islands";
    case Pattern::kZeroWeights:
      return "zero-weights";
    case Pattern::kOneWay:
      return "one-way";
    case Pattern::kRing:
      return "ring";
    case Pattern::kHeavy:
      return "heavy";
    case Pattern::kLight:
      return "light";
    case Pattern::kFar:
      return "far";
    case Pattern::kOlder:
      break;  // drawn in place of "complete"
  }
  return "";
}

struct Case {
  Pattern pattern;
  int n;
  const char* set;
  const char* why;
};

constexpr Case kCases[] = {
    {Pattern::kComplete, 1, "public", "one node"},
    {Pattern::kComplete, 31, "public", "fewer nodes than a warp has lanes"},
    {Pattern::kComplete, 100, "public", "every edge; a size that no tile divides"},
    {Pattern::kComplete, 161, "public", "every edge; more than two tiles of 64, the last one partial"},
    {Pattern::kSparse, 97, "public", "eight edges a node"},
    {Pattern::kIslands, 70, "public", "three parts without a path between them"},
    {Pattern::kZeroWeights, 64, "public", "edges that weigh nothing"},
    {Pattern::kOneWay, 90, "public", "edges in one direction: the matrix is not symmetric"},
    {Pattern::kRing, 129, "public", "every path is long: all n rounds are needed"},
    {Pattern::kFar, 176, "public", "paths beyond 2^24: fp32 does not hold them"},
    {Pattern::kHeavy, 65, "public", "the greatest weights"},
    {Pattern::kLight, 95, "public", "every edge, of weights up to 32,766"},
    {Pattern::kSparse, 257, "public", "more than two of the larger tiles, and one node more"},
    {Pattern::kComplete, 128, "hidden", "a size that tiles divide"},
    {Pattern::kRing, 193, "hidden", "long paths across several tiles"},
    {Pattern::kHeavy, 9999, "stand-in", "paths of nearly 10^9, on a size that no tile divides"},
    {Pattern::kComplete, 100, "stand-in", "n = 100"},
    {Pattern::kComplete, 1000, "stand-in", "n = 1000"},
    {Pattern::kComplete, 2500, "stand-in", "n = 2500"},
    {Pattern::kComplete, 5000, "stand-in", "n = 5000"},
    {Pattern::kComplete, 7500, "stand-in", "n = 7500"},
    {Pattern::kComplete, 10000, "stand-in", "n = 10000"},
    {Pattern::kLight, 5000, "stand-in", "n = 5000, weights up to 32,766: 16 bits hold every distance"},
    {Pattern::kLight, 10000, "stand-in", "n = 10000, weights up to 32,766: 16 bits hold every distance"},
    {Pattern::kSparse, 2500, "stand-in", "n = 2500, eight edges a node"},
    {Pattern::kSparse, 10000, "stand-in", "n = 10000, eight edges a node"},
};

// The first nodes of a breadth-first search, all edges between them, weights drawn anew in each repetition.
struct RealCase {
  const char* dataset;
  int most_nodes;
  const char* set;
  const char* kind;
  const char* why;
};
constexpr RealCase kRealCases[] = {
    {"ego-Facebook", 150, "real", "correctness", "150 people of a social network"},
    {"USA-road-d.NY", 150, "real-large", "correctness", "150 crossings of a road network"},
    {"ego-Facebook", 4039, "real-large", "speed", "a social network"},
    {"USA-road-d.NY", 5000, "real-large", "speed", "5000 crossings of a road network"},
};

// The older interface was promised complete graphs with weights up to 10,000. Complete graphs are drawn with
// such weights for it; the others are cases of the contract alone.
std::string beyond_older(Pattern pattern) {
  if (pattern == Pattern::kComplete) return "";
  if (pattern == Pattern::kLight) return "weights above 10,000";
  return "a graph that is not complete";
}

// k, a case's width in records and policies, is n.
std::string case_id(const std::string& dataset, int n, bool timed) {
  return dataset + (timed ? "-timed-" : "-") + std::to_string(n);
}

bool is_timed(const Case& c) {
  return std::string(c.set) == "stand-in";
}

class ApspLab : public Lab {
 public:
  std::string name() const override { return "apsp"; }
  std::string summary() const override {
    return "shortest paths between all pairs of nodes, int32, in place";
  }
  Terms terms() const override { return {"n", "relaxations", "graph"}; }
  std::vector<CaseSpec> cases() const override { return apsp_cases(); }
  std::vector<Baseline> baselines() const override { return {{"naive", "reference/apsp/naive", {}, true}}; }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return judge_apsp(context, input);
  }
};

const LabRegistration kRegistration(std::make_unique<ApspLab>());

}  // namespace

std::vector<CaseSpec> apsp_cases() {
  std::vector<CaseSpec> cases;
  for (const Case& c : kCases) {
    const std::string dataset = name_of(c.pattern);
    CaseSpec spec{case_id(dataset, c.n, is_timed(c)),    dataset, c.n,
                  is_timed(c) ? "speed" : "correctness", c.set,   c.why};
    spec.drawn = true;
    spec.beyond_older = beyond_older(c.pattern);
    cases.push_back(std::move(spec));
  }
  for (const RealCase& c : kRealCases) {
    const bool timed = std::string(c.kind) == "speed";
    CaseSpec spec{case_id(c.dataset, c.most_nodes, timed), c.dataset, c.most_nodes, c.kind, c.set, c.why};
    spec.beyond_older = "a graph that is not complete";
    cases.push_back(std::move(spec));
  }
  return cases;
}

Shape shape_of_case(const std::string& id) {
  for (const Case& c : kCases) {
    if (id == case_id(name_of(c.pattern), c.n, is_timed(c))) return {c.n, c.pattern};
  }
  for (const RealCase& c : kRealCases) {
    if (id == case_id(c.dataset, c.most_nodes, std::string(c.kind) == "speed"))
      return {c.most_nodes, std::nullopt};
  }
  throw JudgeFault("lab apsp has no case {}", id);
}

}  // namespace warpgrade::apsp
