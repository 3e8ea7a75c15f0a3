// Bounds on how far independent uniform draws stray by chance. They hold for every sample size: no normal or
// chi-square approximation, which would be wrong by orders of magnitude this far out in the tail.
//
// A set of draws is rejected when a test's tail is below kTestAlarm = 1e-12. With at most kMostTests = 1e6
// tests in a run of all cases (Bonferroni), an honest sampler fails a run with a probability below 1e-6.
#pragma once

#include <cstdint>
#include <span>

namespace warpgrade::sampling {

constexpr double kRunAlarm = 1e-6;
constexpr double kMostTests = 1e6;
constexpr double kTestAlarm = kRunAlarm / kMostTests;

// n * KL(counts / n || uniform): half of the likelihood ratio statistic G. Categories are equally likely.
double divergence_from_uniform(std::span<const std::uint64_t> counts);

// The natural logarithm of a bound on P(n * KL >= divergence) for a multinomial of any n with `freedom` + 1
// categories, or for the sum of independent ones (freedoms add up, as each is bounded by the same moment
// generating function): (e t / f)^f e^-t for t > f, else 1 (Agrawal, Finite-Sample Concentration of the
// Multinomial in Relative Entropy, IEEE Trans. Information Theory 66, 2020).
double log_tail_of_divergence(double divergence, int freedom);

// The natural logarithm of a two-sided bound on P(a count as far from its mean as `hits`), for the sum of
// `trials` independent trials whose probabilities add up to `expected`: 2 exp(-n KL(hits/n || expected/n))
// (Chernoff; probabilities may differ: Hoeffding 1963, theorem 1).
double log_tail_of_hits(double hits, double trials, double expected);

// The natural logarithm of a bound on P(no count is further from its mean than the furthest of these is):
// draws that fill the categories more evenly than chance does. The number of such tables of counts, at
// most (2 off + 1)^f, times the largest probability that a table has, n! / Gamma(n / (f + 1) + 1)^(f + 1)
// / (f + 1)^n.
double log_tail_of_evenness(std::span<const std::uint64_t> counts);

bool rejects(double log_tail);

// What a test of `freedom` + 1 equally likely categories finds for sure (9 times in 10 or more): the
// divergence a draw times the draws must be at least this.
double detectable_divergence(int freedom);

}  // namespace warpgrade::sampling
