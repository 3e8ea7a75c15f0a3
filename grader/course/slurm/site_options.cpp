// What a site's keys become on sbatch's command line, and which free options they must not be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "base/error.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "course/slurm/site.h"

namespace warpgrade {
namespace {

struct OwnedOption {
  const char* name;
  char letter;  // 0: none
  const char* instead;
};

constexpr const char* kOurs = "Warpgrade sets it, and finds its jobs by it";
constexpr std::array kOwned{
    OwnedOption{"job-name", 'J', "the key `name:` sets how the names of jobs begin"},
    OwnedOption{"array", 'a', "the keys `at_once:` and `task_minutes:` decide about arrays"},
    OwnedOption{"dependency", 'd', kOurs},
    OwnedOption{"output", 'o', "logs lie in the run's folder, below rounds/"},
    OwnedOption{"error", 'e', "logs lie in the run's folder, below rounds/"},
    OwnedOption{"input", 'i', kOurs},
    OwnedOption{"open-mode", 0, kOurs},
    OwnedOption{"chdir", 'D', kOurs},
    OwnedOption{"clusters", 'M', "set SLURM_CLUSTERS, or call Warpgrade where that cluster is the own one"},
    OwnedOption{"parsable", 0, kOurs},
    OwnedOption{"quiet", 'Q', kOurs},
    OwnedOption{"wrap", 0, "the key `setup:` has lines that run before a task"},
    OwnedOption{"requeue", 0, kOurs},
    OwnedOption{"no-requeue", 0, kOurs},
    OwnedOption{"wait", 'W', kOurs},
    OwnedOption{"test-only", 0, "`warpgrade batch RUN --dry-run` asks Slurm so"},
    OwnedOption{"help", 'h', kOurs},
    OwnedOption{"usage", 0, kOurs},
    OwnedOption{"version", 'V', kOurs},
    OwnedOption{"exclude", 'x', "use the key `exclude:`: nodes that failed are added to it"},
    OwnedOption{"time", 't', "use the key `time:`"},
    OwnedOption{"mem", 0, "use the key `memory:`"},
    OwnedOption{"mem-per-cpu", 0, "use the key `memory:`"},
    OwnedOption{"mem-per-gpu", 0, "use the key `memory:`"},
    OwnedOption{"cpus-per-task", 'c', "use the key `cpus:`"},
    OwnedOption{"export", 0, "use the key `environment:`"},
};
// Letters behind which other letters may stand: options without a value (sbatch(1)).
constexpr std::string_view kFlags = "hHIkKOQsvVW";

std::string refusal(const OwnedOption& owned) {
  return fmt::format("--{}: {}", owned.name, owned.instead);
}

std::string refused_letters(const std::string& option) {
  for (size_t i = 1; i < option.size(); ++i) {
    for (const OwnedOption& owned : kOwned)
      if (owned.letter == option[i]) return refusal(owned);
    if (kFlags.find(option[i]) == std::string_view::npos) break;  // the rest is its value
  }
  return {};
}

}  // namespace

std::string refused_option(const std::string& option) {
  if (!option.starts_with("--")) return option.starts_with("-") ? refused_letters(option) : "";
  const std::string name = option.substr(2, option.find('=') - 2);
  if (name.empty()) return "--: expected an option's name";
  // sbatch takes the beginning of a name for the name.
  for (const OwnedOption& owned : kOwned)
    if (std::string_view(owned.name).starts_with(name)) return refusal(owned);
  return {};
}

const std::vector<std::pair<const char*, std::string SiteTask::*>>& plain_task_keys() {
  static const std::vector<std::pair<const char*, std::string SiteTask::*>> keys{
      {"partition", &SiteTask::partition},
      {"account", &SiteTask::account},
      {"qos", &SiteTask::qos},
      {"gres", &SiteTask::gres},
      {"constraint", &SiteTask::constraint},
      {"reservation", &SiteTask::reservation},
      {"nodelist", &SiteTask::nodelist},
      {"exclude", &SiteTask::exclude},
      {"time", &SiteTask::time},
      {"memory", &SiteTask::memory},
      {"mail", &SiteTask::mail},
      {"mail_when", &SiteTask::mail_when},
      {"comment", &SiteTask::comment}};
  return keys;
}

std::vector<std::string> SiteTask::sbatch_options() const {
  std::vector<std::string> given{fmt::format("--cpus-per-task={}", cpus)};
  for (const auto& [key, value] : plain_task_keys()) {
    if ((this->*value).empty()) continue;
    const std::string name = key;
    const std::string option = name == "memory"      ? "mem"
                               : name == "mail"      ? "mail-user"
                               : name == "mail_when" ? "mail-type"
                                                     : name;
    given.push_back(fmt::format("--{}={}", option, this->*value));
  }
  if (!mail.empty() && mail_when.empty()) given.emplace_back("--mail-type=END,FAIL");
  if (environment.size() == 1 && (environment[0] == "all" || environment[0] == "none"))
    given.emplace_back(environment[0] == "all" ? "--export=ALL" : "--export=NONE");
  else if (!environment.empty())
    given.push_back(fmt::format("--export={}", fmt::join(environment, ",")));
  given.insert(given.end(), options.begin(), options.end());
  return given;
}

// A login shell, since clusters define `module` for those.
std::string SiteTask::script_beginning() const {
  if (setup.empty()) return "#!/bin/sh\n";
  std::string text = "#!/bin/bash -l\n";
  for (const std::string& line : setup)
    text += fmt::format(
        "{}\nif [ $? -ne 0 ]; then echo {} >&2; exit 75; fi\n", line,
        shell_quoted("a line of `setup:` in site.yaml failed on " + std::string("this node: ") + line));
  return text;
}

// apptainer exec [exec options...] <container> <command> (apptainer_exec(1)). --bind takes src[:dest[:opts]],
// and a comma begins another one.
std::vector<std::string> Container::words(const std::vector<std::string>& seen) const {
  if (image.empty()) return {};
  std::vector<std::string> words{command, "exec"};
  if (nvidia) words.emplace_back("--nv");
  for (const std::string& folder : seen) {
    if (folder.find_first_of(":,") != std::string::npos)
      throw UsageError(
          "container: {} cannot be shown to a container, because `--bind` reads ':' and ',' as marks; give "
          "that folder another name",
          folder);
    words.insert(words.end(), {"--bind", folder});
  }
  for (const std::string& one : bind) words.insert(words.end(), {"--bind", one});
  words.push_back(image);
  return words;
}

std::vector<std::string> Site::shown_to_container(const std::filesystem::path& work) const {
  // Apptainer mounts no control groups, and without them a submission's limits bind less.
  std::vector<std::string> folders{project_root(), program_directory(), cache_directory(), work,
                                   "/sys/fs/cgroup"};
  if (!node_cache.empty()) folders.push_back(node_cache);
  std::set<std::string> once;
  std::erase_if(folders, [&](const std::string& folder) { return !once.insert(folder).second; });
  return folders;
}

std::string SiteTask::script(const std::string& arguments, const std::vector<std::string>& seen) const {
  std::string text = script_beginning() + "exec ";
  for (const std::string& word : container.words(seen)) text += shell_quoted(word) + " ";
  return text + shell_quoted((program_directory() / "warpgrade").string()) + " " + arguments + "\n";
}

}  // namespace warpgrade
