// What a cluster wants to be told: a YAML file of the site. grader/course/batch/README.md has its reference,
// site.example.yaml beside it examples.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warpgrade {

// The image that a task's program runs in.
struct Container {
  std::string image;                  // "/shared/warpgrade.sif"; empty: none
  std::vector<std::string> bind;      // what it sees of the node: "/scratch", "/data/sets:/data:ro"
  std::string command = "apptainer";  // or singularity, its older name; a path
  bool nvidia = true;                 // --nv: the node's NVIDIA driver and devices

  // The words before the program's: "apptainer exec --nv --bind ... image". `seen`: folders that are bound as
  // well. Throws UsageError for a folder that cannot be named to --bind.
  std::vector<std::string> words(const std::vector<std::string>& seen) const;
};

// sbatch's options of one kind of task.
struct SiteTask {
  // Empty: not given.
  std::string partition, account, qos, gres, constraint, reservation, nodelist, exclude, time, memory;
  std::string mail, mail_when, comment;
  int cpus = 1;
  int at_once = 0;                       // of an array; 0: as many as Slurm lets
  std::vector<std::string> options;      // any others, as sbatch takes them: "--exclusive"
  std::vector<std::string> setup;        // lines of bash that run before the task: "module load cuda"
  std::vector<std::string> environment;  // what a task inherits: "all", "none", or names and NAME=value
  Container container;

  // sbatch's options that the keys above say, and `options` behind them.
  std::vector<std::string> sbatch_options() const;
  // The start of a task's script: the lines of `setup`, each of which must succeed.
  std::string script_beginning() const;
  // The whole script: the beginning, and behind it `arguments` of this program, as they stand, in the
  // container where there is one. `seen`: see Container.
  std::string script(const std::string& arguments, const std::vector<std::string>& seen) const;
};

// The keys of a kind whose value becomes one option of sbatch as it is.
const std::vector<std::pair<const char*, std::string SiteTask::*>>& plain_task_keys();

struct Site {
  SiteTask compile, judge, aggregate;
  std::string name = "wg-";        // jobs' names begin with it
  std::string gpu_model;           // part of the GPU's name that a run asks for; empty: whichever is first
  std::string architecture;        // "90": needed where the submit host has no GPU
  double task_minutes = 20;        // of judging that one task is given
  double submission_minutes = 2;   // a first guess; later rounds go by what was measured
  int compile_per_task = 8;        // submissions
  int rounds = 4;                  // attempts at what is missing, before a person is asked
  std::vector<std::string> probe;  // run after each submission; another exit code than 0: the GPU is wedged
  // Whether each node is tested before it judges: "timed" (where something is timed), "always", "never".
  std::string node_test = "timed";
  std::string node_cache;           // a node's own folder for datasets; empty: the shared cache
  int controller_patience_s = 600;  // how long a silent controller is asked again
  std::string file = "site.yaml";   // for messages

  const SiteTask& task(const std::string& kind) const;  // compile, judge, aggregate, guard
  // What a container must see: the program with all that belongs to it, the cache, and `work`.
  std::vector<std::string> shown_to_container(const std::filesystem::path& work) const;

  nlohmann::json to_json() const;
  static Site from_json(const nlohmann::json& json);
  // Throws UsageError with file, line, key, what was expected.
  static Site read(const std::filesystem::path& file);
};

// Why an option must not stand among a site's free ones: "--job-name: ...". Empty: it may.
std::string refused_option(const std::string& option);

}  // namespace warpgrade
