#include "labs/histogram/histogram_lab.h"

#include "base/error.h"

namespace warpgrade::histogram {
namespace {

struct Case {
  const char* id;
  Shape shape;
  const char* set;
  const char* why;
};

constexpr int kRedditNodes = 232965, kRedditSamples = 232965000;

constexpr Case kCases[] = {
    {"uniform-small",
     {Pattern::kUniform, 10007, 1013},
     "public",
     "a count and a last bin that nothing divides"},
    {"power-law-small", {Pattern::kPowerLaw, 40003, 20000}, "public", "a few bins get most ids"},
    {"first-bin-small", {Pattern::kFirstBin, 5000, 1000}, "public", "all ids in one bin"},
    {"last-bin-small", {Pattern::kLastBin, 5001, 1003}, "public", "all ids in the last, partial bin"},
    {"half-last-small", {Pattern::kHalfLast, 6002, 2047}, "public", "every second id is the last node"},
    {"one-bin-long", {Pattern::kOneBin, 280003, 5000}, "public", "more ids in a bin than 16 bits count"},
    {"one-node", {Pattern::kUniform, 100, 1}, "public", "one node, one bin"},
    {"one-id", {Pattern::kUniform, 1, 5000}, "public", "fewer ids than a thread block"},
    {"no-id", {Pattern::kUniform, 0, 5000}, "public", "nothing to count: all cells are 0"},
    {"many-bins", {Pattern::kUniform, 60000, 600000}, "public", "15,000 bins: more than 48 KB of counters"},
    {"more-bins",
     {Pattern::kPowerLaw, 50000, 3000000},
     "public",
     "75,000 bins: more than an SM's shared memory"},
    {"uniform-233M",
     {Pattern::kUniform, kRedditSamples, kRedditNodes},
     "stand-in",
     "233 M ids, evenly spread"},
    {"power-law-233M", {Pattern::kPowerLaw, kRedditSamples, kRedditNodes}, "stand-in", "233 M ids, skewed"},
    {"one-bin-233M", {Pattern::kOneBin, kRedditSamples, kRedditNodes}, "stand-in", "233 M ids in one bin"},
    {"last-bin-233M",
     {Pattern::kLastBin, kRedditSamples, kRedditNodes},
     "stand-in",
     "233 M ids in the last bin"},
};

const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kUniform:
      return "uniform";
    case Pattern::kPowerLaw:
      return "power-law";
    case Pattern::kFirstBin:
      return "first-bin";
    case Pattern::kLastBin:
      return "last-bin";
    case Pattern::kOneBin:
      return "one-bin";
    case Pattern::kHalfLast:
      return "half-last";
  }
  return "";
}

class HistogramLab : public Lab {
 public:
  std::string name() const override { return "histogram"; }
  std::string summary() const override { return "ids counted in bins of 40 nodes"; }
  Terms terms() const override { return {"", "ids", "counts"}; }
  std::vector<CaseSpec> cases() const override { return histogram_cases(); }
  std::vector<Baseline> baselines() const override {
    return {{"cub", "reference/histogram/vendor/cub", {}, true},
            {"shared_memory", "reference/histogram/vendor/shared_memory", {}, true},
            {"naive", "reference/histogram/naive", {}, false}};
  }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return judge_histogram(context, input);
  }
};

const LabRegistration kRegistration(std::make_unique<HistogramLab>());

}  // namespace

// k is 1: what a case has for a width.
std::vector<CaseSpec> histogram_cases() {
  std::vector<CaseSpec> cases;
  for (const Case& c : kCases) {
    const std::string set = c.set;
    CaseSpec spec{c.id, name_of(c.shape.pattern), 1, set == "public" ? "correctness" : "speed", set, c.why};
    spec.drawn = true;
    cases.push_back(std::move(spec));
  }
  return cases;
}

Shape shape_of_case(const std::string& id) {
  for (const Case& c : kCases) {
    if (id == c.id) return c.shape;
  }
  throw JudgeFault("lab histogram has no case {}", id);
}

}  // namespace warpgrade::histogram
