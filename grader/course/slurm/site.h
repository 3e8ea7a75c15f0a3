// What a cluster wants to be told: a YAML file of the site. grader/course/batch/README.md has its reference.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

// sbatch's options of one kind of task.
struct SiteTask {
  std::string partition, account, qos, gres, constraint, time;  // empty: not given
  int cpus = 1;
  std::string memory;                // "4G"
  int at_once = 0;                   // of an array; 0: as many as Slurm lets
  std::vector<std::string> options;  // any others, one word each: "--exclusive"
};

struct Site {
  SiteTask compile, judge, aggregate;
  std::string gpu_model;            // part of the GPU's name that a run asks for; empty: whichever is first
  std::string architecture;         // "90": needed where the submit host has no GPU
  double task_minutes = 20;         // of judging that one task is given
  double submission_minutes = 2;    // a first guess; later rounds go by what was measured
  int compile_per_task = 8;         // submissions
  int rounds = 4;                   // attempts at what is missing, before a person is asked
  std::vector<std::string> probe;   // run after each submission; another exit code than 0: the GPU is wedged
  std::string node_cache;           // a node's own folder for datasets; empty: the shared cache
  int controller_patience_s = 600;  // how long a silent controller is asked again

  nlohmann::json to_json() const;
  static Site from_json(const nlohmann::json& json);
  // Throws UsageError with file, line, key, what was expected.
  static Site read(const std::filesystem::path& file);
};

}  // namespace warpgrade
