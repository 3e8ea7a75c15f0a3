#include "course/slurm/site.h"

#include <yaml-cpp/yaml.h>

#include <regex>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "course/slurm/units.h"

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

std::set<std::string> task_keys() {
  std::set<std::string> keys{"cpus", "at_once", "options", "setup", "environment", "container"};
  for (const auto& [key, value] : plain_task_keys()) keys.insert(key);
  return keys;
}

void read_options(const Reader& reader, std::vector<std::string>& options) {
  std::vector<std::string> given;
  reader.words("options", given);
  bool may_be_value = false;  // of the option before: ["-p", "gpu"]
  for (const std::string& word : given) {
    const bool is_option = word.starts_with("-");
    if (!is_option && !may_be_value)
      throw UsageError("{}: options: expected an sbatch option like --exclusive, got '{}'", reader.where(),
                       word);
    if (const std::string why = refused_option(word); is_option && !why.empty())
      throw UsageError("{}: options: {} cannot stand here. {}", reader.where(), word, why);
    may_be_value = is_option && word.find('=') == std::string::npos;
  }
  if (reader.map().contains("options")) options = given;
}

void read_environment(const Reader& reader, std::vector<std::string>& environment) {
  if (!reader.map().contains("environment")) return;
  if (reader.map()["environment"].is_string()) {
    std::string word;
    reader.text("environment", word);
    environment = {word};
  } else {
    reader.words("environment", environment);
  }
  if (environment.size() == 1 && (environment[0] == "all" || environment[0] == "none")) return;
  static const std::regex form("[A-Za-z_][A-Za-z0-9_]*(=[^,]*)?");
  for (const std::string& word : environment) {
    if (word == "all" || word == "none" || !std::regex_match(word, form))
      throw UsageError(
          "{}: environment: expected all, none, or a list of names and NAME=value without commas, got '{}'; "
          "a line of `setup:` can set any variable",
          reader.where(), word);
  }
}

void read_setup(const Reader& reader, std::vector<std::string>& setup) {
  reader.words("setup", setup);
  for (const std::string& line : setup)
    if (line.find_first_of("\n\r") != std::string::npos)
      throw UsageError("{}: setup: expected a list of lines, one command each", reader.where());
}

void read_container_map(const Reader& reader, Container& container) {
  reader.only({"image", "bind", "command", "nv"});
  reader.text("image", container.image);
  reader.text("command", container.command);
  reader.words("bind", container.bind);
  std::string nv = container.nvidia ? "yes" : "no";
  reader.text("nv", nv);
  if (nv != "yes" && nv != "no" && nv != "true" && nv != "false")
    throw UsageError("{}: nv: expected yes or no, got '{}'", reader.where(), nv);
  container.nvidia = nv == "yes" || nv == "true";
}

// A map, or the image alone. What a kind says replaces what `all:` says as a whole.
void read_container(const Reader& task, Container& container) {
  if (!task.map().contains("container")) return;
  container = Container();
  const std::string where = task.where() + ": container";
  if (task.map()["container"].is_string())
    task.text("container", container.image);
  else
    read_container_map(Reader(task.map()["container"], where), container);
  if (container.image.empty() || container.image.starts_with("-"))
    throw UsageError("{}: image: expected the image's file, for instance /shared/warpgrade.sif, got '{}'",
                     where, container.image);
  if (container.command.empty() || container.command.starts_with("-"))
    throw UsageError("{}: command: expected apptainer, singularity or a path to one, got '{}'", where,
                     container.command);
  for (const std::string& one : container.bind)
    if (!one.starts_with("/") || one.find_first_of(",\n\r") != std::string::npos)
      throw UsageError(
          "{}: bind: expected a list of SOURCE or SOURCE:PLACE or SOURCE:PLACE:ro, one each, got '{}'", where,
          one);
}

void require_units(const Reader& reader, const SiteTask& task) {
  if (!task.memory.empty() && !memory_mb(task.memory))
    throw UsageError("{}: memory: expected a size as sbatch takes it, like 4G or 4096M, got '{}'",
                     reader.where(), task.memory);
  if (!task.time.empty() && !time_s(task.time))
    throw UsageError("{}: time: expected a time as sbatch takes it, like 90 (minutes) or 1:30:00, got '{}'",
                     reader.where(), task.time);
}

void read_task(const Reader& site, const char* name, SiteTask& task) {
  if (!site.map().contains(name)) return;
  const Reader reader(site.map()[name], site.where() + ": " + name);
  reader.only(task_keys());
  for (const auto& [key, value] : plain_task_keys()) reader.text(key, task.*value);
  require_units(reader, task);
  reader.number("cpus", task.cpus, 1, 4096);
  reader.number("at_once", task.at_once, 0, 1e6);
  read_options(reader, task.options);
  read_setup(reader, task.setup);
  read_environment(reader, task.environment);
  read_container(reader, task.container);
}

// What `all:` says, and the older key `account:` beside it.
SiteTask read_common(const Reader& reader) {
  SiteTask common;
  reader.text("account", common.account);
  read_task(reader, "all", common);
  return common;
}

void read_name(const Reader& reader, std::string& name) {
  reader.text("name", name);
  if (!std::regex_match(name, std::regex("[A-Za-z0-9_.-]{0,40}")))
    throw UsageError(
        "{}: name: expected up to 40 letters, digits and _.- that jobs' names begin with, got '{}'",
        reader.where(), name);
}

Site read_site(const json& map, const std::string& where) {
  const Reader reader(map, where);
  reader.only({"account", "all", "name", "compile", "judge", "aggregate", "gpu_model", "architecture",
               "task_minutes", "submission_minutes", "compile_per_task", "rounds", "probe", "node_cache",
               "node_test", "controller_patience_s"});
  Site site;
  site.file = where;
  site.compile = site.judge = site.aggregate = read_common(reader);
  if (site.judge.gres.empty()) site.judge.gres = "gpu:1";
  read_task(reader, "compile", site.compile);
  if (site.aggregate.partition.empty()) site.aggregate.partition = site.compile.partition;
  read_task(reader, "judge", site.judge);
  // It asks Slurm by Slurm's commands, which an image does not have.
  site.aggregate.container = Container();
  read_task(reader, "aggregate", site.aggregate);
  if (!site.aggregate.container.image.empty())
    throw UsageError(
        "{}: aggregate: container: the aggregator calls sbatch and sacct, which no image has; leave it out",
        where);
  read_name(reader, site.name);
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
  reader.text("node_test", site.node_test);
  if (site.node_test != "timed" && site.node_test != "always" && site.node_test != "never")
    throw UsageError("{}: node_test: expected timed, always or never, got '{}'", reader.where(),
                     site.node_test);
  return site;
}

json task_json(const SiteTask& task) {
  json kept{{"cpus", task.cpus},
            {"at_once", task.at_once},
            {"options", task.options},
            {"setup", task.setup},
            {"environment", task.environment}};
  const Container& box = task.container;
  if (!box.image.empty())
    kept["container"] = {{"image", box.image},
                         {"bind", box.bind},
                         {"command", box.command},
                         {"nv", box.nvidia ? "yes" : "no"}};
  for (const auto& [key, value] : plain_task_keys())
    if (!(task.*value).empty() || std::string(key) == "gres") kept[key] = task.*value;
  return kept;
}

}  // namespace

json Site::to_json() const {
  return {{"compile", task_json(compile)},
          {"judge", task_json(judge)},
          {"aggregate", task_json(aggregate)},
          {"name", name},
          {"file", file},
          {"gpu_model", gpu_model},
          {"architecture", architecture},
          {"task_minutes", task_minutes},
          {"submission_minutes", submission_minutes},
          {"compile_per_task", compile_per_task},
          {"rounds", rounds},
          {"probe", probe},
          {"node_cache", node_cache},
          {"node_test", node_test},
          {"controller_patience_s", controller_patience_s}};
}

const SiteTask& Site::task(const std::string& kind) const {
  return kind == "compile" ? compile : kind == "judge" ? judge : aggregate;
}

// Of an older version empty words and no file.
Site Site::from_json(const json& kept) {
  json map = kept;
  const std::string file = map.value("file", "site.yaml");
  map.erase("file");
  if (map.value("architecture", "").empty()) map.erase("architecture");
  Site site = read_site(map, "batch.json: site");
  site.file = file;
  return site;
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
