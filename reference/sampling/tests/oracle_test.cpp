// The checker against samplers on the CPU: an honest one passes every test, each known mistake fails the test
// that is there for it.
#include "sampling/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "sampling/statistics.h"

namespace warpgrade::sampling {
namespace {

constexpr int kPoison = static_cast<int>(0xFFFEDEAD);

struct Graph {
  std::vector<int> row_offsets{0}, columns;
  GraphView view() const { return {row_offsets, columns}; }
  void add_row(int degree, int repeats = 1) {
    for (int i = 0; i < degree; ++i) columns.push_back(3 * (i / repeats) + 1);
    row_offsets.push_back(static_cast<int>(columns.size()));
  }
};

// Degrees 0, 1, then 2 .. 40, and every 50th row a hub of 3000.
Graph mixed_graph(int nodes) {
  Graph graph;
  for (int v = 0; v < nodes; ++v) graph.add_row(v % 50 == 49 ? 3000 : v % 41);
  return graph;
}

using Sampler =
    std::function<int(std::int64_t row, int node, unsigned draw, unsigned degree, std::uint64_t seed)>;

struct Scenario {
  Graph graph;
  std::vector<int> nodes;
  unsigned fanout;

  std::vector<int> sample(const Sampler& sampler, std::uint64_t seed) const {
    std::vector<int> samples;
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      const int node = nodes[row];
      const unsigned degree = graph.view().degree(node);
      for (unsigned j = 0; j < fanout; ++j) {
        samples.push_back(
            degree == 0 ? kNoSample
                        : graph.columns[graph.row_offsets[node] +
                                        sampler(static_cast<std::int64_t>(row), node, j, degree, seed)]);
      }
    }
    return samples;
  }
  Located locate_run(const std::vector<int>& samples, std::uint64_t seed) const {
    return locate(graph.view(), nodes, fanout, samples, kPoison, seed);
  }

  // The words of all rejections over two runs.
  std::vector<std::string> rejections(const Sampler& sampler) const {
    const Located first = locate_run(sample(sampler, 1), 77), second = locate_run(sample(sampler, 2), 78);
    EXPECT_EQ(first.bad_cells + second.bad_cells, 0);
    std::vector<std::string> words;
    const auto keep = [&](const std::optional<Rejection>& rejection) {
      if (rejection) words.push_back(rejection->test);
    };
    LevelCounts levels;
    count_levels(first, levels);
    count_levels(second, levels);
    keep(judge_levels(levels));
    const auto pairs = [&](const Pairing& pairing) {
      PairCounts counts;
      count_pairs(second, pairing.earlier_run ? first : second, pairing, counts);
      keep(judge_pairs(pairing, counts));
    };
    for (const Pairing& pairing : pairings_of_a_run(second.rows, fanout)) pairs(pairing);
    for (const Pairing& pairing : pairings_of_two_runs()) pairs(pairing);
    return words;
  }

  // What a run of the judge tells of one rejected run.
  std::string explained(const Sampler& sampler, std::uint64_t seed) const {
    const Located run = locate_run(sample(sampler, seed), ~seed);
    LevelCounts levels;
    count_levels(run, levels);
    std::vector<Rejection> pairs;
    for (const Pairing& pairing : pairings_of_a_run(run.rows, fanout)) {
      PairCounts counts;
      count_pairs(run, run, pairing, counts);
      if (auto rejection = judge_pairs(pairing, counts)) pairs.push_back(*rejection);
    }
    const auto explanation = explain(judge_levels(levels), pairs);
    return explanation ? explanation->test : "";
  }
};

Scenario every_node(unsigned fanout) {
  Scenario run{mixed_graph(2000), std::vector<int>(2000), fanout};
  std::iota(run.nodes.begin(), run.nodes.end(), 0);
  return run;
}

std::uint32_t random_word(std::uint64_t counter, std::uint64_t seed) {
  return philox(counter, seed).x;
}

int honest(std::int64_t row, int, unsigned draw, unsigned degree, std::uint64_t seed) {
  return static_cast<int>(
      draw_below(random_word(static_cast<std::uint64_t>(row) << 20 | draw, seed), degree));
}

void expect_rejected(const Scenario& run, const Sampler& sampler, const std::string& test) {
  const std::vector<std::string> words = run.rejections(sampler);
  EXPECT_TRUE(std::find(words.begin(), words.end(), test) != words.end())
      << "not rejected by " << test << ", but by " << words.size() << " tests";
}

TEST(SamplingOracle, accepts_an_honest_sampler_for_any_shape) {
  EXPECT_TRUE(every_node(40).rejections(honest).empty());
  EXPECT_TRUE(every_node(1).rejections(honest).empty());
  Scenario one{mixed_graph(100), {99}, 5000};
  EXPECT_TRUE(one.rejections(honest).empty());
}

TEST(SamplingOracle, accepts_neighbours_that_repeat_as_often_as_they_occur) {
  Scenario run{{}, {}, 200};
  for (int v = 0; v < 300; ++v) run.graph.add_row(21, 1 + v % 7);
  run.nodes.resize(300);
  std::iota(run.nodes.begin(), run.nodes.end(), 0);
  EXPECT_TRUE(run.rejections(honest).empty());
}

TEST(SamplingOracle, finds_a_sample_that_is_no_neighbour_and_where) {
  const Scenario run = every_node(8);
  std::vector<int> samples = run.sample(honest, 1);
  samples[8 * 30 + 5] = 2;  // columns are 1, 4, 7, ...
  samples[8 * 41 + 0] = 4;  // node 41 has no neighbours
  samples[8 * 70 + 1] = kPoison;
  const Located located = run.locate_run(samples, 77);
  EXPECT_EQ(located.bad_cells, 3);
  EXPECT_EQ(located.never_written, 1);
  ASSERT_EQ(located.first.size(), 3u);
  EXPECT_EQ(located.first[0].row, 30);
  EXPECT_EQ(located.first[0].draw, 5);
  EXPECT_EQ(located.first[1].degree, 0u);
}

TEST(SamplingOracle, rejects_the_first_neighbour_always) {
  expect_rejected(
      every_node(20), [](auto, auto, auto, auto, auto) { return 0; }, "uniformity");
}

TEST(SamplingOracle, rejects_leaving_out_the_last_neighbour) {
  expect_rejected(
      every_node(40),
      [](auto row, auto node, auto draw, unsigned degree, auto seed) {
        return degree < 2 ? 0 : honest(row, node, draw, degree - 1, seed);
      },
      "uniformity");
}

TEST(SamplingOracle, rejects_sixteen_bits_modulo_a_large_degree) {
  Scenario run{{}, {0}, 4000};
  run.graph.add_row(40000);
  expect_rejected(
      run,
      [](auto row, auto, unsigned draw, unsigned degree, auto seed) {
        return static_cast<int>((random_word(row * 4000 + draw, seed) & 0xFFFF) % degree);
      },
      "uniformity");
}

// Uneven draws make every table of pairs uneven too; the reason given must not depend on chance.
TEST(SamplingOracle, uneven_draws_are_not_called_dependent_whatever_the_seed) {
  Scenario run{{}, {0}, 8000};
  run.graph.add_row(40000);
  const Sampler sixteen_bits = [](auto, auto, unsigned draw, unsigned degree, auto seed) {
    return static_cast<int>((random_word(draw, seed) & 0xFFFF) % degree);
  };
  const Sampler same_in_both_halves = [](auto, auto, unsigned draw, unsigned degree, auto seed) {
    return static_cast<int>((random_word(draw % 4096, seed) & 0xFFFF) % degree);
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    EXPECT_EQ(run.explained(sixteen_bits, seed), "uniformity") << "seed " << seed;
    EXPECT_EQ(run.explained(same_in_both_halves, seed), "same_row") << "seed " << seed;
  }
}

TEST(SamplingOracle, rejects_the_same_draws_in_every_row) {
  expect_rejected(
      every_node(40),
      [](auto, auto, unsigned draw, unsigned degree, auto seed) {
        return static_cast<int>(draw_below(random_word(draw, seed), degree));
      },
      "rows");
}

TEST(SamplingOracle, rejects_draws_without_replacement) {
  expect_rejected(
      every_node(40),
      [](auto row, auto node, unsigned draw, unsigned degree, auto seed) {
        return static_cast<int>((honest(row, node, 0, degree, seed) + draw) % degree);
      },
      "same_row");
  // A shuffled row, drawn from in its order: every neighbour once.
  Scenario run{{}, std::vector<int>(400), 32};
  for (int v = 0; v < 400; ++v) run.graph.add_row(32);
  std::iota(run.nodes.begin(), run.nodes.end(), 0);
  expect_rejected(
      run,
      [](auto row, auto, unsigned draw, unsigned degree, auto seed) {
        std::vector<int> order(degree);
        std::iota(order.begin(), order.end(), 0);
        std::mt19937_64 random(static_cast<std::uint64_t>(row) * 1000003 + seed);
        std::shuffle(order.begin(), order.end(), random);
        return order[draw % degree];
      },
      "same_row");
}

TEST(SamplingOracle, rejects_a_sequence_that_ignores_the_seed) {
  expect_rejected(
      every_node(40),
      [](auto row, auto node, auto draw, auto degree, auto) { return honest(row, node, draw, degree, 5); },
      "seeds");
}

TEST(SamplingOracle, rejects_counters_that_overlap_from_row_to_row) {
  expect_rejected(
      every_node(40),
      [](auto row, auto, unsigned draw, unsigned degree, auto seed) {
        return static_cast<int>(draw_below(random_word(row + draw, seed), degree));
      },
      "rows");
}

TEST(SamplingOracle, rejects_a_counter_of_sixteen_bits) {
  expect_rejected(
      every_node(40),
      [](auto row, auto, unsigned draw, unsigned degree, auto seed) {
        return static_cast<int>(draw_below(random_word((row * 40 + draw) & 0xFFFF, seed), degree));
      },
      "period");
}

TEST(SamplingOracle, rejects_one_generator_a_node_where_nodes_repeat) {
  Scenario run = every_node(40);
  for (std::size_t i = 0; i < run.nodes.size(); i += 8) run.nodes[i] = run.nodes[i + 1];
  expect_rejected(
      run,
      [](auto, int node, auto draw, auto degree, auto seed) {
        return honest(node, node, draw, degree, seed);
      },
      "rows");
}

// The stated rate of false alarms, as far as simulation reaches: thousands of tests, none rejects; and the
// bounds that they give are spread as bounds must be.
TEST(SamplingOracle, honest_samplers_raise_no_alarm_over_many_seeds) {
  const Scenario run = every_node(12);
  int tests = 0, below_one_percent = 0;
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    const Located located = run.locate_run(run.sample(honest, seed), ~seed);
    for (const Pairing& pairing : pairings_of_a_run(located.rows, run.fanout)) {
      PairCounts counts;
      count_pairs(located, located, pairing, counts);
      EXPECT_FALSE(judge_pairs(pairing, counts).has_value());
      ++tests;
      const double log_tail = log_tail_of_hits(static_cast<double>(counts.equal),
                                               static_cast<double>(counts.comparable), counts.expected_equal);
      below_one_percent += log_tail < std::log(0.01) ? 1 : 0;
    }
  }
  EXPECT_GT(tests, 800);
  EXPECT_LE(below_one_percent, tests / 100);
}

}  // namespace
}  // namespace warpgrade::sampling
