#include "judge/judging/performance_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// Less than this is the noise of any kernel.
constexpr double kEnoughLanes = 26;
constexpr double kSectorsOverIdeal = 1.3, kReadOver = 4, kPassesOverIdeal = 1.15, kTurnsOver = 1.5;
constexpr double kBlockImbalance = 1.5, kWarpImbalance = 1.3;
constexpr double kSmallestSeverity = 0.01;
constexpr std::size_t kMostPlaces = 3;
constexpr double kSmallestShare = 0.05;

constexpr double kLanes = 32;
constexpr double kExcessOfAWarp = 0.25;  // instructions of a busy warp beyond a mean warp's, as part of these

double lost_lanes(const json& c) {
  return kLanes * figure(c, "warp_instructions") - figure(c, "thread_instructions");
}
double excess_sectors(const json& c) {
  return figure(c, "global_sectors") - figure(c, "global_sectors_ideal");
}
double excess_passes(const json& c) {
  return figure(c, "shared_passes") - figure(c, "shared_passes_ideal");
}
double excess_turns(const json& c) {
  return figure(c, "atomic_turns") - figure(c, "atomic_requests");
}
double read_sectors(const json& c) {
  return figure(c, "global_load_sectors");
}
double instructions(const json& c) {
  return figure(c, "warp_instructions");
}

// The lines with the largest loss, with their share of it and a sentence on each.
template <class Loss, class Say>
json worst_lines(const json& kernel, Loss loss, Say say) {
  std::vector<json> lines;
  double sum = 0;
  for (const json& line : list(kernel, "lines")) {
    if (loss(line) <= 0) continue;
    sum += loss(line);
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end(), [&](const json& a, const json& b) { return loss(a) > loss(b); });
  json places = json::array();
  for (const json& line : lines) {
    const double share = loss(line) / sum;
    if (places.size() == kMostPlaces || share < kSmallestShare) break;
    if (figure(line, "line") > 0)
      places.push_back({{"file", word(line, "file")},
                        {"line", figure(line, "line")},
                        {"share", share},
                        {"text", say(line)}});
  }
  return places;
}

// What helps, in the words of CUDA and of Triton, which lays out threads and shared memory by itself.
struct Advice {
  const char *cuda, *triton;
};

struct Finding {
  const char* problem;
  double lost;  // part of the kernel's work
  std::string message;
  Advice advice;
  json places;
};
using Findings = std::vector<Finding>;

bool is_in_python(const json& kernel) {
  const json lines = list(kernel, "lines");
  return std::any_of(lines.begin(), lines.end(),
                     [](const json& line) { return word(line, "file").ends_with(".py"); });
}

std::string lanes_of(const json& c) {
  return fmt::format("{:.1f} of 32 lanes active", quotient(c, "thread_instructions", "warp_instructions"));
}

void find_divergence(const json& kernel, Findings& findings) {
  const double lanes = quotient(kernel, "thread_instructions", "warp_instructions");
  if (lanes == 0 || lanes >= kEnoughLanes) return;
  findings.push_back({"divergence",
                      1 - lanes / kLanes,
                      fmt::format("{:.1f} of 32 lanes are active on average: a warp steps through every "
                                  "branch and loop turn that any of its lanes needs",
                                  lanes),
                      {"Give all lanes of a warp equal work. Where rows have unequal lengths, use a warp for "
                       "each row, not a thread. Make conditions the same for 32 neighbouring threads. Choose "
                       "a block's shape that leaves no lanes without work.",
                       "A program computes its whole block, whatever the mask leaves out. Choose BLOCK near "
                       "the length of what a program has to do (triton.next_power_of_2), give a program "
                       "several short rows, and divide long ones."},
                      worst_lines(kernel, lost_lanes, lanes_of)});
}

void find_uncoalesced(const json& kernel, Findings& findings) {
  const double over = quotient(kernel, "global_sectors", "global_sectors_ideal");
  if (over <= kSectorsOverIdeal) return;
  const auto say = [](const json& c) {
    return fmt::format("{:.1f} sectors per request where {:.1f} would be enough",
                       quotient(c, "global_sectors", "global_requests"),
                       quotient(c, "global_sectors_ideal", "global_requests"));
  };
  findings.push_back(
      {"uncoalesced",
       (1 - 1 / over),
       fmt::format(
           "global memory moves {:.1f} times as many sectors of 32 bytes as the requested bytes would fill",
           over),
       {"Let neighbouring lanes touch neighbouring addresses: the index that runs fastest in memory "
        "should follow threadIdx.x; load a tile into shared memory where it cannot.",
        "Let the last dimension of a block go along the index that runs fastest in memory: "
        "rows[:, None] * stride + columns[None, :]. Load a tile in the order of memory, and turn it by "
        "tl.trans where you need the other order."},
       worst_lines(kernel, excess_sectors, say)});
}

void find_redundant(const json& kernel, Findings& findings) {
  const double read = figure(kernel, "global_load_sectors"),
               distinct = figure(kernel, "distinct_sectors_read");
  if (distinct == 0 || read / distinct <= kReadOver) return;
  std::string worst = "a buffer";
  double most = 0, times = 0;
  for (const json& buffer : list(kernel, "buffers")) {
    const double excess = figure(buffer, "sectors_read") - figure(buffer, "distinct_sectors_read");
    if (excess <= most) continue;
    most = excess;
    worst = word(buffer, "buffer");
    times = quotient(buffer, "sectors_read", "distinct_sectors_read");
  }
  const auto say = [](const json& c) { return fmt::format("reads {:.0f} sectors", read_sectors(c)); };
  findings.push_back(
      {"redundant",
       1 - distinct / read,
       fmt::format(
           "each sector of memory is read {:.1f} times on average; the sectors of {} are read {:.1f} times",
           read / distinct, worst, times),
       {"Keep data that is read again in registers or shared memory: load it once for a block, let each "
        "thread make several results from it, or order the work so that neighbours in time share data.",
        "Load a tile once in a program and make several results from it: larger blocks, tl.dot. Order the "
        "programs so that neighbours in time share data, as Triton's tutorial on matrix products does by "
        "groups of rows."},
       worst_lines(kernel, read_sectors, say)});
}

double warps_a_block(const json& kernel) {
  double threads = 1;
  for (const json& side : list(kernel, "block")) threads *= side.is_number() ? side.get<double>() : 1;
  return std::max(1.0, std::ceil(threads / kLanes));
}

struct Uneven {
  json lines;
  Advice advice;
};

// The lines where one warp of a block does more than the others, which wait for it; where the work is uneven between
// blocks alone, the lines with most instructions.
Uneven uneven_lines(const json& kernel) {
  const double warps = warps_a_block(kernel), mean = instructions(kernel) / warps;
  const auto excess = [&](const json& c) {
    return figure(c, "busy_warp_instructions") - instructions(c) / warps;
  };
  double sum = 0;
  for (const json& line : list(kernel, "lines")) sum += std::max(0.0, excess(line));
  if (sum < kExcessOfAWarp * mean) {
    const auto say = [](const json& c) {
      return fmt::format("executes {:.0f} warp instructions", instructions(c));
    };
    return {worst_lines(kernel, instructions, say),
            {"Divide long pieces of work (rows into groups of equal size, with atomics to join the results), "
             "or let blocks fetch work from a list, so that all blocks finish together.",
             "Divide long pieces of work (rows into groups of equal size, with tl.atomic_add to join the "
             "results), or let programs fetch work from a list, so that all programs finish together."}};
  }
  const auto say = [](const json& c) {
    return fmt::format("executes {:.0f} warp instructions, {:.0f} % of them in one warp of a block",
                       instructions(c), 100 * quotient(c, "busy_warp_instructions", "warp_instructions"));
  };
  return {worst_lines(kernel, excess, say),
          {"The other warps of the block wait for this one. Let all of them take part: join sums in a tree "
           "(__shfl_down_sync, then shared memory), divide long pieces of work into groups of equal size.",
           "The other warps of the program wait for this one. Work on whole blocks (tl.sum over a block, not "
           "an element a turn), or start the kernel with fewer warps (num_warps=1)."}};
}

void find_imbalance(const json& kernel, Findings& findings) {
  const double blocks = figure(kernel, "block_imbalance"), warps = figure(kernel, "warp_imbalance");
  const bool between = blocks > kBlockImbalance, within = warps > kWarpImbalance;
  if (!between && !within) return;
  std::string message;
  if (between)
    message = fmt::format("the busiest block executes {:.1f} times as many instructions as the average block",
                          blocks);
  if (within)
    message += fmt::format(
        "{}if every warp were as busy as the busiest warp of its block, blocks would execute {:.1f} times as "
        "many instructions",
        between ? "; " : "", warps);
  Uneven uneven = uneven_lines(kernel);
  findings.push_back(
      {"imbalance", 1 - 1 / std::max(blocks, warps), message, uneven.advice, std::move(uneven.lines)});
}

void find_bank_conflicts(const json& kernel, Findings& findings) {
  const double over = quotient(kernel, "shared_passes", "shared_passes_ideal");
  if (over <= kPassesOverIdeal) return;
  const auto say = [](const json& c) {
    return fmt::format("{:.1f} passes per request where {:.1f} would be enough",
                       quotient(c, "shared_passes", "shared_requests"),
                       quotient(c, "shared_passes_ideal", "shared_requests"));
  };
  const double weight = quotient(kernel, "shared_requests", "warp_instructions");
  const double passes = weight * quotient(kernel, "shared_passes", "shared_requests");
  findings.push_back(
      {"bank_conflicts",
       (1 - 1 / over) * std::min(1.0, passes),
       fmt::format("shared memory takes {:.1f} times as many passes as it would take without bank conflicts",
                   over),
       {"Lanes whose addresses differ by a multiple of 32 words use the same bank. Pad each row by one word "
        "(tile[32][33]), or let neighbouring lanes read along the row.",
        "Triton lays out shared memory by itself, where a block changes its order: for tl.trans, tl.reshape, "
        "tl.sum along the first dimension, tl.gather. Try another shape of the block or another num_warps, "
        "and change the order of a block outside of loops."},
       worst_lines(kernel, excess_passes, say)});
}

void find_contention(const json& kernel, Findings& findings) {
  const double turns = quotient(kernel, "atomic_turns", "atomic_requests");
  if (turns <= kTurnsOver) return;
  const auto say = [](const json& c) {
    return fmt::format("{:.1f} lanes of a warp update one address",
                       quotient(c, "atomic_turns", "atomic_requests"));
  };
  const double weight = quotient(kernel, "atomic_turns", "warp_instructions");
  findings.push_back(
      {"contention",
       (1 - 1 / turns) * std::min(1.0, weight),
       fmt::format("up to {:.1f} lanes of a warp's atomic wait for one address", turns),
       {"Add up within a warp first (__shfl_down_sync, __reduce_add_sync), or in a copy of the "
        "counters for each block or warp, and update global memory once.",
        "Add up within the program first (tl.sum, tl.histogram), and call tl.atomic_add once."},
       worst_lines(kernel, excess_turns, say)});
}

}  // namespace

json find_performance_problems(const json& kernels) {
  double all = 0;
  for (const json& kernel : kernels) all += instructions(kernel);
  json found = json::array();
  for (const json& kernel : kernels) {
    Findings findings;
    const bool in_python = is_in_python(kernel);
    for (const auto look : {find_divergence, find_uncoalesced, find_redundant, find_imbalance,
                            find_bank_conflicts, find_contention})
      look(kernel, findings);
    for (Finding& f : findings) {
      const double severity = f.lost * instructions(kernel) / std::max(1.0, all);
      if (severity < kSmallestSeverity) continue;
      found.push_back({{"problem", f.problem},
                       {"kernel", word(kernel, "kernel")},
                       {"severity", severity},
                       {"message", f.message},
                       {"advice", in_python ? f.advice.triton : f.advice.cuda},
                       {"places", std::move(f.places)}});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const json& a, const json& b) {
    return figure(a, "severity") > figure(b, "severity");
  });
  return found;
}

}  // namespace warpgrade
