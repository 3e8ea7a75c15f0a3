#include "course/slurm/refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace warpgrade {
namespace {

// Slurm's words, and the keys that can have brought them about.
struct Sign {
  const char* words;
  std::vector<const char*> keys;
};

const std::vector<Sign>& signs() {
  static const std::vector<Sign> all{
      {"invalid partition", {"partition"}},
      {"partition name", {"partition"}},
      {"account/partition combination", {"account", "partition"}},
      {"invalid account", {"account"}},
      {"user's group not permitted to use this partition", {"partition"}},
      {"invalid qos", {"qos"}},
      {"qos policy", {"account", "qos", "time", "at_once"}},
      {"gres", {"gres"}},
      {"generic resource", {"gres"}},
      {"invalid feature", {"constraint"}},
      {"reservation", {"reservation"}},
      {"node name", {"nodelist", "exclude"}},
      {"time limit", {"time", "partition"}},
      {"memory", {"memory"}},
      {"node configuration is not available", {"memory", "gres", "constraint", "nodelist", "cpus"}},
      {"more processors requested", {"cpus"}},
      {"cpu count", {"cpus"}},
      {"mail", {"mail", "mail_when"}},
      {"unrecognized option", {"options"}},
      {"invalid option", {"options"}},
  };
  return all;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "sbatch: error: Batch job submission failed: Invalid qos specification" -> "Invalid qos specification".
std::string core_of(const std::string& words) {
  std::string text = words.substr(0, words.find_last_not_of(" \n") + 1);
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    for (const char* prefix : {"sbatch: error: ", "sbatch: ", "Batch job submission failed: ",
                               "allocation failure: ", "Try \"sbatch --help\" for more information"})
      if (line.starts_with(prefix)) line.erase(0, std::string(prefix).size());
    if (!line.empty() && joined.find(line) == std::string::npos)
      joined += (joined.empty() ? "" : "; ") + line;
  }
  return joined;
}

std::string value_of(const SiteTask& task, const std::string& key) {
  if (key == "cpus") return std::to_string(task.cpus);
  if (key == "at_once") return task.at_once > 0 ? std::to_string(task.at_once) : "";
  if (key == "options") return fmt::format("{}", fmt::join(task.options, " "));
  for (const auto& [name, value] : plain_task_keys())
    if (key == name) return task.*value;
  return "";
}

}  // namespace

std::string refusal_text(const std::string& words, const SiteTask& task, const std::string& kind,
                         const std::string& file) {
  const std::string core = core_of(words), plain = lower(core);
  std::vector<std::string> named;
  for (const Sign& sign : signs()) {
    if (!named.empty() || plain.find(sign.words) == std::string::npos) continue;
    for (const char* key : sign.keys)
      if (const std::string value = value_of(task, key); !value.empty())
        named.push_back(fmt::format("{}: {}", key, value));
    if (named.empty()) named.push_back(fmt::format("{}: (not given)", sign.keys.front()));
  }
  if (named.empty()) {
    for (const auto& [key, value] : plain_task_keys())
      if (!(task.*value).empty()) named.push_back(fmt::format("{}: {}", key, task.*value));
    if (!task.options.empty()) named.push_back(fmt::format("options: {}", fmt::join(task.options, " ")));
  }
  return fmt::format("{}: {}: {}: Slurm refuses it: {}", file, kind, fmt::join(named, ", "), core);
}

}  // namespace warpgrade
