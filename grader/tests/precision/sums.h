// Honest and dishonest SpMM on the CPU: C = A * B in fp32, in every order of summation that a GPU program may
// have, and with values rounded to formats that the contract does not allow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {

// The numbers of one run, as the judge's buffers hand them out.
struct Inputs {
  Structure a;
  int k = 0;
  std::span<const float> values, b;  // [nnz]; [cols, k]
};

// An order of summation: the sum of a[i] * b[i] in fp32.
struct Order {
  std::string name;
  float (*sum)(std::span<const float> a, std::span<const float> b, std::uint64_t seed);
};
std::span<const Order> orders();

// A way to hold less than fp32. `round` changes A's and B's values, row by row of A: which rows, it decides
// by their length and number.
struct Format {
  std::string name;
  bool rounds_a = false, rounds_b = true;
  float (*round)(float value) = nullptr;
  enum class Scale { kNone, kRow, kColumn, kBlock } scale = Scale::kNone;  // int16 with a scale of B's
  int longer_than = 0;                                                     // rows of more entries alone
  int every = 1;                                                           // one row of so many
};
std::span<const Format> formats();

// C [rows, k] by an order.
std::vector<float> multiply(const Inputs& inputs, const Order& order, std::uint64_t seed);
// C as a program would have it that holds values in the format and sums in fp32, one after the other.
std::vector<float> multiply_in(const Inputs& inputs, const Format& format);

}  // namespace warpgrade::spmm
