#include "catalog_facts.h"

#include <algorithm>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

void refuse_unknown_fact(const DatasetInfo& info, const char* key, const std::string& fact) {
  const auto& known = DatasetInfo::kFacts;
  if (std::find(std::begin(known), std::end(known), fact) != std::end(known)) return;
  std::string names;
  for (const char* name : known) names += (names.empty() ? "" : ", ") + std::string(name);
  throw DatasetError("{}: {}: expected one of {}, got '{}'", info.name, key, names, fact);
}

std::string source_text(const DatasetInfo& info, const std::string& key, const YAML::Node& sources) {
  const YAML::Node text = sources ? sources[key] : YAML::Node(YAML::NodeType::Undefined);
  if (!text) throw DatasetError("{}: checked: no source '{}' under `sources`", info.name, key);
  return text.as<std::string>();
}

}  // namespace

void read_facts(const YAML::Node& entry, const YAML::Node& sources, DatasetInfo& info) {
  for (const auto& item : entry["checked"]) {
    const auto fact = item.first.as<std::string>();
    refuse_unknown_fact(info, "checked", fact);
    const auto keys = item.second.IsSequence() ? item.second.as<std::vector<std::string>>()
                                               : std::vector{item.second.as<std::string>()};
    for (const std::string& key : keys) info.checked[fact].push_back(source_text(info, key, sources));
  }
  for (const auto& item : entry["unconfirmed"]) {
    const auto fact = item.as<std::string>();
    refuse_unknown_fact(info, "unconfirmed", fact);
    if (info.checked.contains(fact))
      throw DatasetError("{}: {} is both checked and unconfirmed", info.name, fact);
    info.unconfirmed.push_back(fact);
  }
}

}  // namespace warpgrade::datasets
