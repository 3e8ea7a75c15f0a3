#include "course/batch/options.h"

namespace warpgrade {
namespace fs = std::filesystem;

nlohmann::json GradeOptions::to_json() const {
  nlohmann::json json{{"lab", lab},
                      {"backend", backend},
                      {"cases", cases},
                      {"jobs", jobs},
                      {"gpus", gpus},
                      {"allow_unsandboxed", allow_unsandboxed},
                      {"require_isolation", require_isolation},
                      {"direct", direct},
                      {"measure_speed", measure_speed},
                      {"baselines", baselines},
                      {"self_baseline", self_baseline},
                      {"speed_budget_s", speed_budget_s},
                      {"process_pairs", process_pairs},
                      {"least_pairs", least_pairs},
                      {"checks", checks},
                      {"class_in_run", class_in_run},
                      {"references", nlohmann::json::array()}};
  for (const fs::path& reference : references) json["references"].push_back(fs::absolute(reference).string());
  if (planned_architecture) json["architecture"] = *planned_architecture;
  if (baseline_budget_s) json["baseline_budget_s"] = *baseline_budget_s;
  if (input) json["input"] = fs::absolute(*input).string();
  return json;
}

GradeOptions GradeOptions::from_json(const nlohmann::json& json) {
  GradeOptions options;
  options.lab = json.at("lab");
  options.backend = json.at("backend");
  options.cases = json.at("cases").get<std::vector<std::string>>();
  options.jobs = json.at("jobs");
  options.gpus = json.value("gpus", std::vector<std::string>());
  options.allow_unsandboxed = json.at("allow_unsandboxed");
  options.require_isolation = json.value("require_isolation", false);
  options.direct = json.value("direct", false);
  options.measure_speed = json.at("measure_speed");
  options.baselines = json.at("baselines").get<std::vector<std::string>>();
  options.self_baseline = json.at("self_baseline");
  options.speed_budget_s = json.at("speed_budget_s");
  options.process_pairs = json.at("process_pairs");
  options.least_pairs = json.at("least_pairs");
  if (json.contains("baseline_budget_s")) options.baseline_budget_s = json["baseline_budget_s"];
  if (json.contains("input")) options.input = json["input"].get<std::string>();
  options.checks = json.at("checks");
  options.class_in_run = json.at("class_in_run");
  for (const auto& reference : json.at("references"))
    options.references.emplace_back(reference.get<std::string>());
  if (json.contains("architecture")) options.planned_architecture = json["architecture"];
  options.continue_only = true;
  options.log_progress = true;
  return options;
}

}  // namespace warpgrade
