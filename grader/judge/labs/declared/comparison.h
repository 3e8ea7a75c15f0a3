// An output of a declared lab beside the oracle's: which cells are wrong, and what they have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "judge/labs/declared/cell_error.h"

namespace warpgrade::declared {

// One output in a run. Spans hold `cells` elements.
struct OutputView {
  const declaration::ArrayDeclaration* array = nullptr;
  const declaration::Check* check = nullptr;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> got;
  std::span<const std::byte> want;       // laid out as truth_type()
  std::span<const std::byte> magnitude;  // fp64, of a bound; else empty
  std::span<const std::byte> initial;    // of what is worked on in place; else empty
};

// How the oracle's answer lies in memory: whole numbers in their own type, all others as fp64.
declaration::ElementType truth_type(const declaration::ElementType& type);

// As records call it.
const char* method_name(declaration::CheckKind kind);
// The check's numbers for cells of this type.
CellCheck cell_check(const declaration::Check& check, declaration::Scalar type);

struct Comparison {
  std::int64_t cells = 0, wrong = 0;
  std::int64_t unwritten = 0, unchanged = 0;  // of the wrong ones
  std::int64_t first = -1, last = -1;         // wrong cells
  std::vector<std::int64_t> shown;            // the first few of them
  double max_error_over_bound = 0;            // of the right ones, where the check has a bound
  double squares = 0;                         // of the right ones' errors over their bounds, added up
};

Comparison compare(const OutputView& output, int threads);

// The errors' root mean square over what the check allows it to be; above 1: too large, though every cell is
// right. 0 where the check does not ask.
double rms_over_limit(const declaration::Check& check, const Comparison& comparison);

// "out[3,17] want 5 got nothing; 12 of 4096 cells are wrong".
std::string message_of(const OutputView& output, const Comparison& comparison);
// What the wrong cells have in common, in words; empty: nothing that is known here.
std::string pattern_of(const OutputView& output, const Comparison& comparison);
// For the record: {"output", "index", "row", "col", "want", "got"} a cell.
nlohmann::json mismatches_of(const OutputView& output, const Comparison& comparison);

}  // namespace warpgrade::declared
