#include "course/desk/config.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"
#include "course/batch/class_run.h"
#include "course/record/events.h"
#include "judge/labs/registry.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

Config Config::read(const fs::path& desk) {
  const fs::path file = desk / "desk.yaml";
  if (!fs::exists(file))
    throw UsageError("{} is not a desk; `warpgrade desk init {}` makes one", desk.string(), desk.string());
  const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
  root.only({"schema", "course", "labs", "backend", "gpus", "workers", "speed_budget_s", "allow_unsandboxed",
             "feedback_days", "student_mib", "desk_mib", "metrics", "pages", "executor", "site", "tasks",
             "idle_s", "counters"});
  if (!root["schema"].defined() || root["schema"].text() != "warpgrade.desk.v1")
    root["schema"].fail("warpgrade.desk.v1");
  Config config;
  config.course = root["course"].text_or("");
  if (const YamlPlace labs = root["labs"]; labs.defined()) {
    for (const auto& [lab, place] : labs.entries()) {
      place.only({"policy"});
      const std::string policy = place["policy"].text_or("");
      config.labs[lab] = policy.empty() ? fs::path() : desk / policy;  // desk / "/x" is "/x"
    }
  }
  config.backend = root["backend"].word_or("auto", {"auto", "cuda", "emulator"});
  if (const YamlPlace gpus = root["gpus"]; gpus.defined())
    for (const YamlPlace& gpu : gpus.items("a list of GPUs, for instance [0, 1]"))
      config.gpus.push_back(gpu.text());
  if (root["workers"].defined()) config.workers = static_cast<int>(root["workers"].whole(1, 64));
  config.speed_budget_s = root["speed_budget_s"].number_or(config.speed_budget_s, 0, 3600);
  config.allow_unsandboxed = root["allow_unsandboxed"].truth_or(false);
  config.feedback_days = root["feedback_days"].number_or(config.feedback_days, 0, 3650);
  if (root["student_mib"].defined()) config.student_bytes = root["student_mib"].whole(8, 1 << 20) << 20;
  if (root["desk_mib"].defined()) config.desk_bytes = root["desk_mib"].whole(8, 1 << 30) << 20;
  config.metrics = desk / root["metrics"].text_or("metrics.prom");
  config.pages = desk / root["pages"].text_or("leaderboard");
  config.executor = root["executor"].word_or("local", {"local", "slurm"});
  if (root["site"].defined()) config.site = desk / root["site"].text();
  if (root["tasks"].defined()) config.tasks = static_cast<int>(root["tasks"].whole(1, 1000));
  config.idle_s = root["idle_s"].number_or(config.idle_s, 1, 86400);
  if (const YamlPlace counters = root["counters"]; counters.defined()) {
    counters.only({"runs_per_day", "seconds"});
    Config::Counters& own = config.counters.emplace();
    if (counters["runs_per_day"].defined())
      own.runs_per_day = static_cast<int>(counters["runs_per_day"].whole(1, 1000));
    if (counters["seconds"].defined()) own.seconds = static_cast<int>(counters["seconds"].whole(10, 3600));
    if (config.executor != "local")
      throw UsageError(
          "{}: counters: the desk counts on its own machine alone; leave it out with executor: slurm",
          file.string());
  }
  return config;
}

fs::path Config::policy_file(const std::string& lab) const {
  const std::vector<const Lab*>& known = warpgrade::labs();
  const bool is_lab =
      std::any_of(known.begin(), known.end(), [&](const Lab* each) { return each->name() == lab; });
  const auto found = labs.find(lab);
  if (!is_lab || (!labs.empty() && found == labs.end())) {
    std::string list;
    for (const auto& [name, file] : labs) list += (list.empty() ? "" : ", ") + name;
    throw UsageError("this desk does not judge lab '{}'{}", lab.substr(0, 40),
                     list.empty() ? "" : "; it judges: " + list);
  }
  if (found != labs.end() && !found->second.empty()) return found->second;
  return project_root() / "grader/policies" / (lab + ".yaml");
}

Policy Config::policy(const std::string& lab) const {
  return load_policy(policy_file(lab), vocabulary_of(find_lab(lab)));
}

fs::path default_desk() {
  if (const char* named = std::getenv("WARPGRADE_DESK"); named != nullptr && *named != '\0') return named;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : ".") / "desk";
}

bool is_plain_id(const std::string& id) {
  const auto plain = [](unsigned char c) {
    return (c < 128 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '@' || c == '+' || c == '-';
  };
  return !id.empty() && id.size() <= 64 && id[0] != '-' && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), plain);
}

void Log::turn_over() const noexcept {
  constexpr std::uintmax_t kLongest = 64 << 20;
  std::error_code none;
  if (fs::file_size(file_, none) > kLongest && !none) fs::rename(file_, file_.string() + ".1", none);
}

void Log::add(const std::string& what, json facts) const noexcept {
  try {
    json line{{"at", utc_now_ms()}, {"what", what}, {"process", getpid()}};
    line.update(facts);
    make_plain(line);
    const std::string text = json_text(line) + "\n";
    const FileDescriptor file(open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (file && write(file.get(), text.data(), text.size()) < 0) return;
  } catch (const std::exception&) {
    return;  // a full disk: what is told matters less than what is done
  }
}

}  // namespace warpgrade::desk
