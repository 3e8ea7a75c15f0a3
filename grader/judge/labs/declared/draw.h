// Numbers drawn for a declared lab's arrays and scalars: cell i depends on (seed, i) alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/labs/declared/cell_formulas.h"

namespace warpgrade::declared {

// The fields of `count` elements of `type`, each as its cells are drawn. `row`: the last dimension's extent,
// for one_hot and thin rows.
std::vector<FieldDraw> field_draws(const declaration::Draws& draws, const declaration::ElementType& type,
                                   std::int64_t row, std::uint64_t seed, std::int64_t count);

// Fills `cells` (as many elements of `type` as it holds).
void draw_cells(const declaration::Draws& draws, const declaration::ElementType& type, std::int64_t row,
                std::uint64_t seed, int threads, std::span<std::byte> cells);

// A scalar, as what a command carries: whole numbers as they are, others as the bits of a double.
std::int64_t draw_scalar(const declaration::NumberDeclaration& scalar, std::uint64_t seed);

// A parameter's value in the same form.
std::int64_t argument_of(const declaration::NumberDeclaration& number, const declaration::Value& value);

}  // namespace warpgrade::declared
