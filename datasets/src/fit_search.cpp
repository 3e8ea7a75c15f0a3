#include "fit_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

constexpr int kMostShare = kWholeShare - kWholeShare / 1024;  // something is always drawn from everywhere
constexpr double kWorthAStep = 0.002, kWorthAPass = 0.05;

int near_share(const StandInSpec& spec) {
  int sum = 0;
  for (const int share : spec.near) sum += share;
  return sum;
}

bool scale_near(StandInSpec& spec, int wanted) {
  const int has = near_share(spec);
  if (has == 0) return false;
  for (int& share : spec.near) share = static_cast<int>(std::int64_t{share} * wanted / has);
  return true;
}

// A greater share of the communities takes from the distances where both would be more than everything.
bool add_share(StandInSpec& spec, int by) {
  int& share = spec.communities[0].share;
  const int before = share;
  share = std::clamp(share + by, 0, kMostShare);
  if (near_share(spec) + share > kMostShare && !scale_near(spec, kMostShare - share)) return false;
  return share != before;
}

bool add_nodes(StandInSpec& spec, int by) {
  int& log2_nodes = spec.communities[0].log2_nodes;
  log2_nodes += by;
  return log2_nodes >= 2 && log2_nodes <= 16;
}

bool add_copied(StandInSpec& spec, int by) {
  const int before = spec.copied;
  spec.copied = std::clamp(before + by, 0, kWholeShare * 95 / 100);
  return spec.copied != before;
}

bool add_pool(StandInSpec& spec, int group, int pool) {
  spec.log2_group += group;
  spec.log2_pool += pool;
  return spec.copied > 0 && spec.log2_group >= 1 && spec.log2_group <= 12 && spec.log2_pool >= 1 &&
         spec.log2_pool <= 24;
}

bool times_near(StandInSpec& spec, int by, int of) {
  const int wanted = static_cast<int>(std::int64_t{near_share(spec)} * by / of);
  return scale_near(spec, wanted) && near_share(spec) + spec.communities[0].share <= kMostShare;
}

// A step along one parameter; false where it leads nowhere.
struct Move {
  const char* name;
  bool (*make)(StandInSpec&);
};
constexpr int kEighth = kWholeShare / 8, kFine = kWholeShare / 32;
constexpr Move kMoves[] = {
    {"more within communities", [](StandInSpec& s) { return add_share(s, kEighth); }},
    {"less within communities", [](StandInSpec& s) { return add_share(s, -kEighth); }},
    {"larger communities", [](StandInSpec& s) { return add_nodes(s, 1); }},
    {"smaller communities", [](StandInSpec& s) { return add_nodes(s, -1); }},
    {"more copies", [](StandInSpec& s) { return add_copied(s, kEighth); }},
    {"fewer copies", [](StandInSpec& s) { return add_copied(s, -kEighth); }},
    {"larger pools", [](StandInSpec& s) { return add_pool(s, 0, 1); }},
    {"smaller pools", [](StandInSpec& s) { return add_pool(s, 0, -1); }},
    {"larger groups", [](StandInSpec& s) { return add_pool(s, 1, 1); }},
    {"smaller groups", [](StandInSpec& s) { return add_pool(s, -1, -1); }},
    {"more near the diagonal", [](StandInSpec& s) { return times_near(s, 5, 4); }},
    {"less near the diagonal", [](StandInSpec& s) { return times_near(s, 4, 5); }},
    {"a little more within communities", [](StandInSpec& s) { return add_share(s, kFine); }},
    {"a little less within communities", [](StandInSpec& s) { return add_share(s, -kFine); }},
};

double octaves(std::int64_t a, std::int64_t b) {
  return a > 0 && b > 0 ? std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b))) : 0;
}

}  // namespace

double difference(const Statistics& made, const Statistics& real) {
  return 2 * reuse_distance(made.reuse, real.reuse) + 4 * std::abs(made.community - real.community) +
         8 * std::abs(made.diagonal_band - real.diagonal_band) +
         2 * std::abs(made.column_degrees.gini - real.column_degrees.gini) +
         0.5 * octaves(made.column_degrees.max, real.column_degrees.max);
}

Candidate evaluate(const StandInSpec& spec, const Statistics& real) {
  const Csr matrix = generate_standin(spec);
  Candidate candidate{spec, statistics_of(matrix.cols, matrix.row_offsets, matrix.columns), 0};
  candidate.away = difference(candidate.made, real);
  return candidate;
}

Candidate search(const Candidate& start, const Statistics& real, int passes, SearchEffort& effort,
                 const std::function<void(const std::string&)>& say) {
  Candidate best = start;
  for (int pass = 0; pass < passes; ++pass) {
    const double before = best.away;
    for (const Move& move : kMoves) {
      for (int again = 0; again < 3; ++again) {
        StandInSpec spec = best.spec;
        if (!move.make(spec)) break;
        if (effort.entries_left < start.made.nnz) return best;
        effort.entries_left -= start.made.nnz;
        const Candidate candidate = evaluate(spec, real);
        if (candidate.away > best.away - kWorthAStep) break;
        best = candidate;
        if (say) say(fmt::format("{}: {:.2f} away", move.name, best.away));
      }
    }
    if (before - best.away < kWorthAPass) break;
  }
  return best;
}

}  // namespace warpgrade::datasets
