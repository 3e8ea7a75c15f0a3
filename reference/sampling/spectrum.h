// The spectral test on counts of pairs and triples of levels: is there a linear form with small whole
// coefficients whose value is not uniform? Points of a generator that lie on few parallel lines or planes
// make such a form constant.
//
//   S(a, b) = sum over pairs of exp(2 pi i (a x + b y) / 64)      one transform of the joint counts gives
//   all of them
//
// Bound. A phase z is uniform on m >= 4 equally spaced points of the circle, so E exp(s Re z) <= I_0(s) + 2
// sum I_mk(s) <= exp(s^2 / 4), whatever the rotation; with independent phases P(Re S >= t) <= exp(-t^2 / n)
// (Chernoff). Both signs of both parts, and all forms, are added up. No normal approximation is involved.
#pragma once

#include "sampling/lags.h"

namespace warpgrade::sampling {

struct Form {
  int coefficients[3] = {};
  double strength = 0;  // |S| / n
  double log_tail = 0;  // the natural logarithm of the bound, for all forms together
};

// Forms of both levels: neither coefficient is 0 (one level alone is the test of uniformity's), that of the
// second is not 32.
Form strongest_form(const LagCounts& counts);
// Forms of at least two of the three; the coefficient of the last is not 16.
Form strongest_form(const TripleCounts& counts);

// |S| / n that is found for sure among n pairs or triples.
double detectable_strength(double n, bool triples);

}  // namespace warpgrade::sampling
