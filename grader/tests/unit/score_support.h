// A policy, a run and its records, as tests of scores have them.
#pragma once
#include <string>

#include "course/score/gpu_model.h"
#include "course/score/score.h"

namespace warpgrade {

using nlohmann::json;

constexpr const char* kPolicy = R"(
schema: warpgrade.policy.v1
name: test
lab: spmm
baseline: cusparse_default
points: {correctness: 40, speed: 60, gate: correct}
within_noise: pass
partial: {from: 0.5}
thresholds:
  default: {32: 2.0}
)";

inline Policy policy(const std::string& text = kPolicy) {
  return parse_policy(text, "test.yaml",
                      {.datasets = {"cora", "arxiv"},
                       .cases = {"cora-k32", "arxiv-k32"},
                       .sets = {"public", "hidden"},
                       .baselines = {"cusparse_default", "naive"},
                       .gpus = known_gpus(),
                       .width = "K"});
}

inline json run_of(const std::string& backend) {
  return {{"run", "r"},
          {"backend", backend},
          {"cases",
           {{{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}, {"kind", "correctness"}},
            {{"id", "arxiv-k32"}, {"dataset", "arxiv"}, {"k", 32}, {"kind", "speed"}}}},
          {"submissions", {{{"id", "ada"}, {"title", "Ada"}, {"role", "student"}}}}};
}

inline json record(const std::string& id, const std::string& verdict) {
  return {{"submission", {{"id", "ada"}}}, {"case", {{"id", id}}}, {"outcome", {{"verdict", verdict}}}};
}

inline json timed(double low, double median, double high) {
  json r = record("arxiv-k32", "accepted");
  r["ratios"]["cusparse_default"] = {{"median", median}, {"low", low}, {"high", high}};
  return r;
}

inline json only(const json& scores) {
  return scores.at("submissions").at(0);
}

}  // namespace warpgrade
