#include "judge/judging/job.h"

namespace warpgrade {
namespace {

using nlohmann::json;

json limits_to_json(const RunnerLimits& limits) {
  return {{"start_ms", limits.start.count()},
          {"plan_ms", limits.plan.count()},
          {"run_ms", limits.run.count()},
          {"all_calls_ms", limits.all_calls.count()},
          {"host_memory_bytes", limits.host_memory_bytes},
          {"device_memory_bytes", limits.device_memory_bytes},
          {"output_bytes", limits.output_bytes}};
}

RunnerLimits limits_from_json(const json& j) {
  RunnerLimits limits;
  limits.start = std::chrono::milliseconds(j.at("start_ms"));
  limits.plan = std::chrono::milliseconds(j.at("plan_ms"));
  limits.run = std::chrono::milliseconds(j.at("run_ms"));
  limits.all_calls = std::chrono::milliseconds(j.at("all_calls_ms"));
  limits.host_memory_bytes = j.at("host_memory_bytes");
  limits.device_memory_bytes = j.at("device_memory_bytes");
  limits.output_bytes = j.at("output_bytes");
  return limits;
}

json runner_to_json(const RunnerSpec& spec) {
  return {{"label", spec.label},
          {"executable", spec.executable.string()},
          {"sandbox", to_string(spec.sandbox)},
          {"gpu", spec.gpu},
          {"executor", spec.executor.string()},
          {"cuda_libraries", spec.cuda_libraries.string()},
          {"vendor_libraries", spec.vendor_libraries},
          {"environment", spec.environment},
          {"limits", limits_to_json(spec.limits)}};
}

RunnerSpec runner_from_json(const json& j) {
  RunnerSpec spec;
  spec.label = j.at("label");
  spec.executable = j.at("executable").get<std::string>();
  spec.sandbox = j.at("sandbox") == "bubblewrap" ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  spec.gpu = j.at("gpu");
  spec.executor = j.at("executor").get<std::string>();
  spec.cuda_libraries = j.at("cuda_libraries").get<std::string>();
  spec.vendor_libraries = j.at("vendor_libraries");
  spec.environment = j.at("environment").get<std::map<std::string, std::string>>();
  spec.limits = limits_from_json(j.at("limits"));
  return spec;
}

}  // namespace

json JudgeJob::to_json() const {
  json baselines = json::array();
  for (const auto& baseline : context.baselines) {
    baselines.push_back({{"name", baseline.name},
                         {"runner", runner_to_json(baseline.spec)},
                         {"every_pair", baseline.every_pair},
                         {"for_truth", baseline.for_truth}});
  }
  return {{"lab", lab},
          {"backend", context.backend},
          {"submission", runner_to_json(context.submission)},
          {"baselines", baselines},
          {"older_interface", context.older_interface},
          {"seed", context.seed},
          {"run_seed", context.run_seed},
          {"threads", context.threads},
          {"speed_budget_s", context.speed_budget_s},
          {"max_pairs", context.max_pairs},
          {"process_pairs", context.process_pairs},
          {"least_runs", context.least_runs},
          {"least_pairs", context.least_pairs},
          {"baseline_budget_s", context.baseline_budget_s ? json(*context.baseline_budget_s) : json()},
          {"measure_speed", context.measure_speed},
          {"another_follows", context.another_follows},
          {"first_refusal_ends", context.first_refusal_ends},
          {"keep_answers", context.keep_answers},
          {"order_required", context.order_required},
          {"note_outputs", context.note_outputs},
          {"keep_calls", context.keep_calls},
          {"gpu_lease", context.gpu_lease},
          {"alone", context.alone},
          {"cases", cases}};
}

JudgeJob JudgeJob::from_json(const json& j) {
  JudgeJob job;
  job.lab = j.at("lab");
  job.context.backend = j.at("backend");
  job.context.submission = runner_from_json(j.at("submission"));
  for (const json& baseline : j.at("baselines")) {
    job.context.baselines.push_back({baseline.at("name"), runner_from_json(baseline.at("runner")),
                                     baseline.at("every_pair"), baseline.at("for_truth")});
  }
  job.context.older_interface = j.at("older_interface");
  job.context.seed = j.at("seed");
  job.context.run_seed = j.at("run_seed");
  job.context.threads = j.at("threads");
  job.context.speed_budget_s = j.at("speed_budget_s");
  job.context.max_pairs = j.at("max_pairs");
  job.context.process_pairs = j.at("process_pairs");
  job.context.least_runs = j.at("least_runs");
  job.context.least_pairs = j.at("least_pairs");
  if (const json& budget = j.at("baseline_budget_s"); !budget.is_null())
    job.context.baseline_budget_s = budget.get<double>();
  job.context.measure_speed = j.at("measure_speed");
  job.context.another_follows = j.at("another_follows");
  job.context.first_refusal_ends = j.at("first_refusal_ends");
  job.context.keep_answers = j.at("keep_answers");
  job.context.order_required = j.at("order_required");
  job.context.note_outputs = j.at("note_outputs");
  job.context.keep_calls = j.at("keep_calls");
  job.context.gpu_lease = j.at("gpu_lease");
  job.context.alone = j.at("alone");
  job.cases = j.at("cases").get<std::vector<Case>>();
  return job;
}

}  // namespace warpgrade
