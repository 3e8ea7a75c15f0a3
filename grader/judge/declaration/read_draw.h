// How an array's numbers are drawn, read from a lab.yaml.
#pragma once

#include "base/yaml_place.h"
#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

// `draw: {uniform: [0, 1000]}`, `draw: permutation`; of a structure one such value a field. Without a value
// floating point is uniform in [-1, 1); integers must say it. `folder`: the lab's, where .npy files lie.
Draws read_draws(const YamlPlace& place, const ElementType& type, const std::filesystem::path& folder);
// `{in: {constant: 5}}`: of arrays of the lab by name.
std::map<std::string, Draws> read_draws_by_array(const YamlPlace& place, const LabDeclaration& lab);
// Of a scalar.
Draw read_number_draw(const YamlPlace& place, Scalar type);

// The least and the greatest number of an integer type, within 64 signed bits.
std::int64_t least_of(Scalar type);
std::int64_t greatest_of(Scalar type);

}  // namespace warpgrade::declaration
