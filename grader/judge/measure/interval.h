// A middle and its confidence interval: from order statistics, with no assumption on the distribution of the
// samples; and Student's, for the few values that processes give.
#pragma once

#include <vector>

namespace warpgrade {

struct Interval {
  double middle = 0, low = 0, high = 0;
  double confidence = 0;
};

// The median of the samples (at least one).
double median(std::vector<double> samples);

// Samples between whose ranks the true median lies with at least `confidence` (binomial with p = 1/2, exact;
// see for instance Conover, Practical Nonparametric Statistics, section 3.2). With too few samples for that
// the whole range, and the confidence that it has.
Interval median_interval(std::vector<double> samples, double confidence);

// Median absolute deviation from the median, scaled to a normal distribution's standard deviation.
double robust_deviation(const std::vector<double>& samples);

// The largest probability of an event that happened in `happened` of `tried` independent trials, with this
// confidence (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934, one-sided); 1 of no trials.
double largest_share(int happened, int tried, double confidence);

// Mean and standard deviation (n - 1) of the values; 0 of less than two.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(const std::vector<double>& values);

// The value that Student's t with so many degrees of freedom (at least 1) exceeds in absolute value with a
// probability of 5 %.
double student_t_95(int degrees_of_freedom);

// Of independent positive values, at least one: their geometric mean and the t interval of 95 % of their
// logarithms' mean. One value alone has no interval: confidence 0.
Interval geometric_interval(const std::vector<double>& values);

}  // namespace warpgrade
