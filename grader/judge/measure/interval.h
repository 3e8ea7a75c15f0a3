// A median and its confidence interval from order statistics: no assumption on the distribution of
// the samples.
#pragma once

#include <vector>

namespace warpgrade {

struct Interval {
  double median = 0, low = 0, high = 0;
  double confidence = 0;
  // (high - low) / median
  double relative_width() const { return median > 0 ? (high - low) / median : 0; }
};

// The median of the samples (at least one).
double median(std::vector<double> samples);

// Samples between whose ranks the true median lies with at least `confidence` (binomial with p = 1/2, exact;
// see for instance Conover, Practical Nonparametric Statistics, section 3.2). With too few samples for that
// the whole range, and the confidence that it has.
Interval median_interval(std::vector<double> samples, double confidence);

}  // namespace warpgrade
