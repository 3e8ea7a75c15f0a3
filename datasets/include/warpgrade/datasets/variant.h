// A matrix under other names: rows and columns in another order and fresh values, with the same work in it.
// What a program remembers of a public file - contents, first entries, a plan - is worth nothing on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpgrade/datasets/csr.h"

namespace warpgrade::datasets {

// Part of a variant's identity: changes whenever its bytes would.
inline constexpr const char* kVariantVersion = "variant-1";

enum class Relabelling {
  // Nested: ids are the leaves of a binary tree, and at every node of it the two halves change places or not,
  // by the seed (Owen: Randomly permuted (t,m,s)-nets, 1995). Ids that share a block of 2^i before share one
  // after, at every i: distance to the diagonal, rows beside each other and reuse are kept in scale.
  kNested,
  // Any order: for matrices whose ids say nothing.
  kUniform,
};

// new_id[old_id], a permutation of [0, count): a function of count, seed and kind alone.
std::vector<int> relabel(int count, std::uint64_t seed, Relabelling kind);

// Row i becomes row p[i], column j becomes q[j], rows sorted, values drawn anew by the seed; p = q for
// square matrices, so that a symmetric pattern stays one and the diagonal stays the diagonal.
// Duplicate entries stay.
Csr make_variant(int cols, std::span<const int> row_offsets, std::span<const int> columns, std::uint64_t seed,
                 Relabelling kind = Relabelling::kNested);

}  // namespace warpgrade::datasets
