#include "course/slurm/site.h"

#include <yaml-cpp/yaml.h>

#include <regex>
#include <set>

#include "base/error.h"
#include "base/files.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// YAML as JSON: the rest of this file then reads both, the site's file and what batch.json kept of it.
json as_json(const YAML::Node& node) {
  if (node.IsMap()) {
    json map = json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>()] = as_json(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const YAML::Node& entry : node) list.push_back(as_json(entry));
    return list;
  }
  return node.IsNull() ? json() : json(node.Scalar());
}

class Reader {
 public:
  Reader(const json& map, std::string where) : map_(map), where_(std::move(where)) {
    if (!map_.is_object()) throw UsageError("{}: expected a map", where_);
  }

  void only(const std::set<std::string>& keys) const {
    for (const auto& [key, value] : map_.items()) {
      if (!keys.contains(key))
        throw UsageError("{}: there is no key '{}'; the keys are: {}", where_, key, fmt::join(keys, ", "));
    }
  }
  void text(const char* key, std::string& to) const {
    if (!map_.contains(key)) return;
    if (!map_[key].is_string()) throw UsageError("{}: {}: expected a word", where_, key);
    to = map_[key];
    if (to.find_first_of("\n\r") != std::string::npos)
      throw UsageError("{}: {}: expected one line", where_, key);
  }
  template <typename Number>
  void number(const char* key, Number& to, double low, double high) const {
    if (!map_.contains(key)) return;
    const std::string given = map_[key].is_string() ? map_[key].get<std::string>() : map_[key].dump();
    char* end = nullptr;
    const double value = std::strtod(given.c_str(), &end);
    if (end == given.c_str() || *end != '\0' || !(value >= low && value <= high))
      throw UsageError("{}: {}: expected a number from {} to {}, got '{}'", where_, key, low, high, given);
    to = static_cast<Number>(value);
  }
  void words(const char* key, std::vector<std::string>& to) const {
    if (!map_.contains(key)) return;
    if (!map_[key].is_array()) throw UsageError("{}: {}: expected a list of words", where_, key);
    to.clear();
    for (const json& word : map_[key]) {
      if (!word.is_string()) throw UsageError("{}: {}: expected a list of words", where_, key);
      to.push_back(word);
    }
  }
  const json& map() const { return map_; }
  const std::string& where() const { return where_; }

 private:
  const json& map_;
  std::string where_;
};

void read_task(const Reader& site, const char* name, SiteTask& task) {
  if (!site.map().contains(name)) return;
  const Reader reader(site.map()[name], site.where() + ": " + name);
  reader.only(
      {"partition", "account", "qos", "gres", "constraint", "time", "cpus", "memory", "at_once", "options"});
  reader.text("partition", task.partition);
  reader.text("account", task.account);
  reader.text("qos", task.qos);
  reader.text("gres", task.gres);
  reader.text("constraint", task.constraint);
  reader.text("time", task.time);
  reader.text("memory", task.memory);
  reader.number("cpus", task.cpus, 1, 4096);
  reader.number("at_once", task.at_once, 0, 1e6);
  reader.words("options", task.options);
  for (const std::string& option : task.options) {
    if (!option.starts_with("-"))
      throw UsageError("{}: options: expected an sbatch option like --exclusive, got '{}'", reader.where(),
                       option);
  }
}

Site read_site(const json& map, const std::string& where) {
  const Reader reader(map, where);
  reader.only({"account", "compile", "judge", "aggregate", "gpu_model", "architecture", "task_minutes",
               "submission_minutes", "compile_per_task", "rounds", "probe", "node_cache",
               "controller_patience_s"});
  Site site;
  site.judge.gres = "gpu:1";
  std::string account;
  reader.text("account", account);
  for (SiteTask* task : {&site.compile, &site.judge, &site.aggregate}) task->account = account;
  read_task(reader, "compile", site.compile);
  site.aggregate.partition = site.compile.partition;
  read_task(reader, "judge", site.judge);
  read_task(reader, "aggregate", site.aggregate);
  reader.text("gpu_model", site.gpu_model);
  reader.text("architecture", site.architecture);
  if (!site.architecture.empty() && !std::regex_match(site.architecture, std::regex("[0-9]{2,3}a?")))
    throw UsageError(
        "{}: architecture: expected a compute capability without its dot, for instance 90, got '{}'", where,
        site.architecture);
  reader.number("task_minutes", site.task_minutes, 0.01, 1e5);
  reader.number("submission_minutes", site.submission_minutes, 0.001, 1e4);
  reader.number("compile_per_task", site.compile_per_task, 1, 1000);
  reader.number("rounds", site.rounds, 1, 100);
  reader.number("controller_patience_s", site.controller_patience_s, 0, 1e6);
  reader.words("probe", site.probe);
  reader.text("node_cache", site.node_cache);
  return site;
}

json task_json(const SiteTask& task) {
  return {{"partition", task.partition}, {"account", task.account},       {"qos", task.qos},
          {"gres", task.gres},           {"constraint", task.constraint}, {"time", task.time},
          {"cpus", task.cpus},           {"memory", task.memory},         {"at_once", task.at_once},
          {"options", task.options}};
}

}  // namespace

json Site::to_json() const {
  return {{"compile", task_json(compile)},
          {"judge", task_json(judge)},
          {"aggregate", task_json(aggregate)},
          {"gpu_model", gpu_model},
          {"architecture", architecture},
          {"task_minutes", task_minutes},
          {"submission_minutes", submission_minutes},
          {"compile_per_task", compile_per_task},
          {"rounds", rounds},
          {"probe", probe},
          {"node_cache", node_cache},
          {"controller_patience_s", controller_patience_s}};
}

Site Site::from_json(const json& kept) {
  json map = kept;
  if (map.value("architecture", "").empty()) map.erase("architecture");
  return read_site(map, "batch.json: site");
}

Site Site::read(const std::filesystem::path& file) {
  YAML::Node node;
  try {
    node = YAML::Load(read_text(file));
  } catch (const YAML::Exception& error) {
    throw UsageError("{}:{}: not YAML: {}", file.string(), error.mark.line + 1, error.msg);
  }
  return read_site(node.IsNull() ? json::object() : as_json(node), file.string());
}

}  // namespace warpgrade
