// How far a cell of an output is from what it should be, by the lab's check: on the host and on a GPU alike.
#pragma once

#include <cmath>
#include <cstdint>

#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/number_bits.h"
#include "judge/labs/declared/cell_formulas.h"

namespace warpgrade::declared {

// A check's numbers, as a kernel can be given them.
struct CellCheck {
  declaration::CheckKind kind = declaration::CheckKind::kExact;
  double absolute = 0, relative = 0;
  std::int64_t ulps = 0;
  double unit = 0;  // of a bound: times the magnitude
};

// |error| over what is allowed; above 1, or NaN: wrong. `magnitude`: of a bound.
WARPGRADE_HOST_DEVICE inline double error_over_bound(const CellCheck& check, declaration::Scalar type,
                                                     const std::byte* got, double wanted, double magnitude) {
  using declaration::CheckKind;
  const double value = read_real(type, got);
  if (check.kind == CheckKind::kExact || check.kind == CheckKind::kUlps) {
    alignas(8) std::byte rounded[8];
    write_real(type, wanted, rounded);
    const double nearest = read_real(type, rounded);
    if (std::isnan(nearest) || std::isnan(value)) return std::isnan(nearest) && std::isnan(value) ? 0 : NAN;
    if (check.kind == CheckKind::kExact || std::isinf(nearest)) return value == nearest ? 0 : INFINITY;
    const double distance = std::fabs(static_cast<double>(float_rank(type, got)) -
                                      static_cast<double>(float_rank(type, rounded)));
    return check.ulps > 0 ? distance / static_cast<double>(check.ulps) : distance == 0 ? 0 : INFINITY;
  }
  if (std::isnan(wanted)) return std::isnan(value) ? 0 : NAN;
  if (value == wanted) return 0;  // infinities too
  const double allowed = check.kind == CheckKind::kBound
                             ? check.unit * magnitude
                             : plus(check.absolute, times(check.relative, std::fabs(wanted)));
  const double error = std::fabs(value - wanted);
  if (!std::isfinite(error) || !std::isfinite(allowed)) return INFINITY;
  return allowed > 0 ? error / allowed : INFINITY;
}

}  // namespace warpgrade::declared
