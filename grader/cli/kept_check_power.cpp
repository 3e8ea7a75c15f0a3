#include "cli/kept_check_power.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace warpgrade {
namespace fs = std::filesystem;
using declared::CasePower;
using nlohmann::json;

namespace {

constexpr const char* kPowerSchema = "warpgrade.check_power.v1";

// The declaration without its correctness cases and the models of its work: they are not what was measured.
std::string measured_text(const fs::path& file) {
  YAML::Node lab = YAML::Load(read_text(file));
  YAML::Node speed(YAML::NodeType::Sequence);
  for (const YAML::Node& one : lab["cases"])
    if (one["kind"] && one["kind"].Scalar() == "speed") speed.push_back(one);
  lab["cases"] = speed;
  lab.remove("work");
  return YAML::Dump(lab);
}

}  // namespace

KeptCheckPower::KeptCheckPower(const declaration::LabDeclaration& lab)
    : file_(lab.folder / "check_power.json"),
      of_(Sha256()
              .part(measured_text(lab.folder / "lab.yaml"))
              .part(read_text(lab.folder / lab.truth))
              .hex()) {
  if (!fs::exists(file_)) return;
  try {
    const json kept = json::parse(read_text(file_));
    if (kept.at("schema") != kPowerSchema || kept.at("of") != of_) return;
    for (const json& one : kept.at("cases")) cases_.push_back(declared::power_from_json(one));
  } catch (const json::exception& damaged) {
    throw UsageError("{} is damaged ({}): remove it; `warpgrade labs verify {}` makes it anew",
                     file_.string(), damaged.what(), lab.name);
  }
}

std::optional<CasePower> KeptCheckPower::find(const std::string& case_id) const {
  const auto found = std::find_if(cases_.begin(), cases_.end(),
                                  [&](const CasePower& one) { return one.case_id == case_id; });
  if (found == cases_.end()) return std::nullopt;
  return *found;
}

bool KeptCheckPower::add(CasePower power) {
  std::erase_if(cases_, [&](const CasePower& one) { return one.case_id == power.case_id; });
  cases_.push_back(std::move(power));
  json kept{{"schema", kPowerSchema}, {"of", of_}, {"cases", json::array()}};
  for (const CasePower& one : cases_) kept["cases"].push_back(declared::json_of(one));
  try {
    write_text(file_, json_text(kept, 1) + "\n");
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace warpgrade
