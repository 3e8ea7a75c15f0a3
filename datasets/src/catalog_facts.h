// The part of a catalogue's entry that says where its facts are from.
#pragma once

#include <yaml-cpp/yaml.h>

#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {

// Reads `checked` and `unconfirmed` of an entry into `info`; `sources` is the catalogue's map of that name.
// Throws DatasetError naming entry and key where a fact or a source is not known, or a fact stands in both.
void read_facts(const YAML::Node& entry, const YAML::Node& sources, DatasetInfo& info);

}  // namespace warpgrade::datasets
