#include "labs/sampling/sampling_lab.h"

#include <fmt/format.h>

#include "base/error.h"

namespace warpgrade::sampling {
namespace {

struct Case {
  const char* dataset;
  int count;  // 0: every node
  int fanout;
  const char* set;
  const char* why;
};

constexpr Case kCases[] = {
    {"synth-uniform", 0, 10, "public", "every node, rows of even length"},
    {"synth-ragged", 0, 25, "public", "a fan-out that 4 does not divide"},
    {"synth-empty-rows", 0, 16, "public", "most nodes without neighbours"},
    {"synth-hub", 100, 4, "public", "a handful of nodes, some of them twice"},
    {"synth-hub", 3000, 32, "public", "nodes that repeat, one row of thousands"},
    {"synth-single-row", 0, 4000, "public", "one node, many draws"},
    {"synth-long-row", 0, 8000, "public", "a row of 40,000: 16 random bits do not do"},
    {"synth-duplicates", 0, 40, "public", "neighbours that occur twice are twice as likely"},
    {"synth-single-column", 0, 4, "public", "one neighbour each"},
    {"synth-all-empty", 0, 7, "public", "no neighbour anywhere"},
    {"synth-uniform", 100, 1000, "public", "fan-outs far beyond the degrees"},
    {"cora", 0, 10, "real", "a real graph"},
    {"pubmed", 0, 10, "real", "a real graph"},
    {"reddit.dgl", 100, 4, "stand-in", "the smallest batch: latency"},
    {"reddit.dgl", 0, 10, "stand-in", "2.3 M samples"},
    {"reddit.dgl", 0, 1000, "stand-in", "233 M samples"},
};

std::string case_id(const Case& c) {
  return fmt::format("{}-{}x{}", c.dataset, c.count == 0 ? "all" : std::to_string(c.count), c.fanout);
}

class SamplingLab : public Lab {
 public:
  std::string name() const override { return "sampling"; }
  std::string summary() const override { return "neighbours of nodes, drawn with replacement"; }
  Terms terms() const override { return {"fan-out", "samples", "samples"}; }
  std::vector<CaseSpec> cases() const override { return sampling_cases(); }
  std::vector<Baseline> baselines() const override {
    return {{"curand", "reference/sampling/vendor/curand", {"curand"}, true},
            {"naive", "reference/sampling/naive", {}, false}};
  }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return judge_sampling(context, input);
  }
};

const LabRegistration kRegistration(std::make_unique<SamplingLab>());

}  // namespace

std::vector<CaseSpec> sampling_cases() {
  std::vector<CaseSpec> cases;
  for (const Case& c : kCases) {
    const std::string set = c.set;
    cases.push_back({case_id(c), c.dataset, c.fanout, set == "public" ? "correctness" : "speed", set, c.why});
  }
  return cases;
}

int nodes_of_case(const std::string& id) {
  for (const Case& c : kCases) {
    if (case_id(c) == id) return c.count;
  }
  throw JudgeFault("lab sampling has no case {}", id);
}

}  // namespace warpgrade::sampling
