// Runs prepared several at once, by real oracle processes: Python with NumPy, a thread and a process a run.
#include "judge/labs/declared/prepared_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "judge/judging/program_box.h"
#include "judge/labs/declared/oracle_keeper.h"

namespace warpgrade::declared {
namespace {

using declaration::LabDeclaration;

// out[i] = factor * in[i] + table[i % 8], where the plan sees the table.
constexpr const char* kLab = R"y(schema: warpgrade.lab.v1
name: scaled
summary: numbers scaled and shifted
parameters: {n: int}
scalars:
  factor: {type: int32, draw: {uniform: [1, 1000]}}
arrays:
  table: {type: int32, shape: [8], draw: {uniform: [0, 1000]}, seen_by: plan}
  in: {type: int32, shape: [n], draw: {uniform: [0, 1000]}}
  out: {type: int32, shape: [n], role: output}
call: "cudaError_t scaled_run(const int* table, const int* in, int n, int factor, int* out, ScaledPlan* plan, cudaStream_t stream)"
truth: oracle.py
check: exact
work: {bytes: 8*n}
cases:
  - {id: some, n: 1000}
)y";
constexpr const char* kOracle = R"y(import numpy as np

def scaled(table, in_, n, factor):
    if BAD is not None and factor % 4 == BAD:
        raise ValueError("no truth for the factor")
    return factor * in_ + np.resize(table, n)
)y";

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What a run is: its inputs and its truth.
struct OneRun {
  std::string table, in, truth;
  std::int64_t factor = 0;
  bool operator==(const OneRun&) const = default;
};

class PreparedRunsTest : public ::testing::Test {
 protected:
  void SetUp() override { make_lab("None"); }

  void make_lab(const std::string& bad) {
    make_directories(folder_);
    write_text(folder_ / "lab.yaml", kLab);
    write_text(folder_ / "oracle.py", "BAD = " + bad + "\n" + kOracle);
    lab_ = declaration::parse_lab(kLab, folder_ / "lab.yaml");
    oracles_.clear();
  }

  std::unique_ptr<PreparedRuns> open(int threads, std::size_t memory = std::size_t{1} << 30) {
    PreparedRuns::Limits limits{threads, memory, -1};
    return std::make_unique<PreparedRuns>(
        lab_, lab_.cases.front(), "", [this](int number) -> OracleProcess& { return oracle(number); },
        limits);
  }

  OracleProcess& oracle(int number) {
    std::unique_ptr<OracleProcess>& process = oracles_[number];
    if (process == nullptr || !process->alive())
      process = std::make_unique<OracleProcess>(oracle_spec(
          lab_, lab_.truth, probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed, 1));
    return *process;
  }

  // Of run `first` and those that may come, `count` in all.
  PreparedRuns::Seeds seeds(int first, int count) const {
    PreparedRuns::Seeds list;
    for (int i = 0; i < count; ++i) list.push_back(base_ + static_cast<std::uint64_t>(first + i));
    return list;
  }

  OneRun look(PreparedRuns& runs) const {
    CaseArrays& arrays = runs.current();
    return {text_of(arrays.contents(lab_.arrays[0])), text_of(arrays.contents(lab_.arrays[1])),
            text_of(arrays.truth(lab_.arrays[2])), arrays.scalars().front()};
  }

  // What the oracle has to say of a run, by this program's own reckoning.
  void expect_right(const OneRun& run) const {
    const auto cell = [](const std::string& bytes, std::size_t i) {
      int value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(cell(run.truth, i), run.factor * cell(run.in, i) + cell(run.table, i % 8)) << "cell " << i;
  }

  // `count` runs, with another plan before those of `replans`.
  std::vector<OneRun> take(PreparedRuns& runs, int count, const std::set<int>& replans) {
    std::vector<OneRun> taken;
    for (int i = 0; i < count; ++i) {
      if (i == 0 || replans.contains(i)) runs.draw_for_plan(base_ ^ static_cast<std::uint64_t>(7000 + i));
      runs.take(seeds(i, count - i));
      taken.push_back(look(runs));
      expect_right(taken.back());
    }
    return taken;
  }

  TemporaryDirectory scratch_{"warpgrade-prepared"};
  std::filesystem::path folder_ = scratch_.path() / "scaled";
  LabDeclaration lab_;
  std::map<int, std::unique_ptr<OracleProcess>> oracles_;
  std::uint64_t base_ = std::random_device()();
};

TEST_F(PreparedRunsTest, AreTheSameOneAtATimeAndSeveralAtOnceWhateverIsPlannedBetween) {
  SCOPED_TRACE(::testing::Message() << "seed " << base_);
  const std::set<int> replans{2, 6};
  const auto alone = open(1);
  const auto one_by_one = take(*alone, 9, replans);
  EXPECT_EQ(oracles_.size(), 1u);

  const auto runs = open(4);
  EXPECT_EQ(take(*runs, 9, replans), one_by_one);
  EXPECT_EQ(oracles_.size(), 5u);  // 1 at first, then 4 and 4

  for (std::size_t i = 1; i < one_by_one.size(); ++i) EXPECT_NE(one_by_one[i].in, one_by_one[i - 1].in);
  EXPECT_EQ(one_by_one[2].table, one_by_one[5].table);
  EXPECT_NE(one_by_one[5].table, one_by_one[6].table);
}

TEST_F(PreparedRunsTest, TheFirstIsPreparedAloneAndNeverMoreThanMayCome) {
  const auto runs = open(4);
  runs->draw_for_plan(1);
  runs->take(seeds(0, 4));
  EXPECT_EQ(runs->at_once(), 1);
  runs->take(seeds(1, 3));
  EXPECT_EQ(runs->at_once(), 3);
  EXPECT_EQ(oracles_.size(), 4u);
  runs->take(seeds(2, 2));
  runs->take(seeds(3, 1));
  EXPECT_EQ(runs->at_once(), 3);  // no other preparation
  runs->take(seeds(4, 1));        // one more than was foreseen
  EXPECT_EQ(runs->at_once(), 1);
}

TEST_F(PreparedRunsTest, FollowFromTheirSeedsInWhateverOrderTheyAreTaken) {
  SCOPED_TRACE(::testing::Message() << "seed " << base_);
  const auto alone = open(1);
  const auto in_order = take(*alone, 6, {});
  const auto runs = open(4);
  runs->draw_for_plan(base_ ^ 7000u);
  std::mt19937_64 random(base_);
  std::vector<int> order{0, 1, 2, 3, 4, 5};
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t at = 0; at < order.size(); ++at) {
    PreparedRuns::Seeds to_come;
    for (std::size_t later = at; later < order.size(); ++later)
      to_come.push_back(base_ + static_cast<std::uint64_t>(order[later]));
    std::reverse(to_come.begin() + 1, to_come.end());  // prepared in another order than taken
    runs->take(to_come);
    EXPECT_EQ(look(*runs), in_order[static_cast<std::size_t>(order[at])]) << "run " << order[at];
    runs->take(to_come);  // the same once more
    EXPECT_EQ(look(*runs), in_order[static_cast<std::size_t>(order[at])]) << "run " << order[at];
  }
}

TEST_F(PreparedRunsTest, AreTheSameWithAnAnswerThatWasKeptAndNoOracleIsAsked) {
  SCOPED_TRACE(::testing::Message() << "seed " << base_);
  std::vector<Answer> answers;
  std::vector<OneRun> answered;
  {
    const auto runs = open(1);
    runs->draw_for_plan(7);
    for (int i = 0; i < 3; ++i) {
      answers.push_back(runs->take(seeds(i, 1)).copy_answer());
      answered.push_back(look(*runs));
    }
  }
  oracles_.clear();
  write_text(folder_ / "oracle.py", "def scaled(table, in_, n, factor): raise ValueError('asked')\n");
  const auto runs = open(1);
  runs->draw_for_plan(7);
  for (const int i : {2, 0, 1, 1, 2}) {
    const auto place = static_cast<std::size_t>(i);
    runs->restore(base_ + static_cast<std::uint64_t>(i), answers[place]);
    EXPECT_EQ(look(*runs), answered[place]) << "run " << i;
  }
  EXPECT_THROW(runs->take(seeds(3, 1)), JudgeFault);
}

TEST_F(PreparedRunsTest, AreAllMadeAtOnceWhereNoProgramCanFail) {
  PreparedRuns runs(lab_, lab_.cases.front(), "",
                    [this](int number) -> OracleProcess& { return oracle(number); },
                    {4, std::size_t{1} << 30, -1, false});
  runs.draw_for_plan(1);
  runs.take(seeds(0, 3));
  EXPECT_EQ(runs.at_once(), 3);
}

TEST_F(PreparedRunsTest, WhatWillNotComeIsGivenUp) {
  const auto runs = open(4);
  runs->draw_for_plan(1);
  runs->take(seeds(0, 9));
  runs->take(seeds(1, 8));
  EXPECT_EQ(runs->at_once(), 4);
  runs->take(seeds(20, 4));  // 2, 3 and 4 were prepared, and are in the way
  EXPECT_EQ(runs->at_once(), 4);
  EXPECT_EQ(oracles_.size(), 5u);
  expect_right(look(*runs));
}

TEST_F(PreparedRunsTest, MemoryForOneRunMeansOneAtATime) {
  for (const auto& [memory, at_once] : {std::pair<std::size_t, int>{0, 1}, {60'000, 2}, {1 << 20, 4}}) {
    const auto runs = open(4, memory);
    runs->draw_for_plan(1);
    runs->take(seeds(0, 9));
    runs->take(seeds(1, 8));
    EXPECT_EQ(runs->at_once(), at_once) << memory << " bytes";
  }
}

TEST_F(PreparedRunsTest, LittleWorkIsNotWorthMoreOracles) {
  PreparedRuns runs(lab_, lab_.cases.front(), "",
                    [this](int number) -> OracleProcess& { return oracle(number); },
                    {4, std::size_t{1} << 30, 1000.0});
  runs.draw_for_plan(1);
  runs.take(seeds(0, 9));
  runs.take(seeds(1, 8));
  EXPECT_EQ(oracles_.size(), 1u);
}

TEST_F(PreparedRunsTest, AnOracleThatFailsInOneOfThemIsToldAndTheOthersServeOn) {
  make_lab("1");
  auto runs = open(4);
  runs->draw_for_plan(1);
  // Until some run has the factor: its place among those prepared at once is any.
  std::string message;
  for (int i = 0; i < 200 && message.empty(); ++i) {
    try {
      runs->take(seeds(i, 5));
      expect_right(look(*runs));
    } catch (const JudgeFault& fault) {
      message = fault.what();
    }
  }
  EXPECT_NE(message.find("oracle.py: ValueError: no truth for the factor"), std::string::npos) << message;
  EXPECT_NE(message.find("oracle.py:6"), std::string::npos) << message;
  runs.reset();
  for (const auto& [number, process] : oracles_) {
    EXPECT_TRUE(process->alive()) << "oracle " << number;
    EXPECT_TRUE(process->memory().empty());
  }
}

TEST_F(PreparedRunsTest, AnOracleThatDiesIsToldAndAnotherTakesItsPlaceInTheNextCase) {
  write_text(folder_ / "oracle.py", std::string("import os\nBAD = None\n") + kOracle +
                                        "\ninner = scaled\n"
                                        "def scaled(table, in_, n, factor):\n"
                                        "    if os.path.exists('/tmp/second'):\n"
                                        "        os._exit(3)\n"
                                        "    open('/tmp/second', 'w').close()\n"
                                        "    return inner(table, in_, n, factor)\n");
  if (!probe_sandbox().works) GTEST_SKIP() << "no sandbox here, whose /tmp is each oracle's own";
  auto runs = open(3);
  runs->draw_for_plan(1);
  runs->take(seeds(0, 9));
  EXPECT_THROW(
      {
        for (int i = 1; i < 10; ++i) runs->take(seeds(i, 9));
      },
      JudgeFault);
  runs.reset();
  std::vector<int> dead;
  for (const auto& [number, process] : oracles_)
    if (!process->alive()) dead.push_back(number);
  ASSERT_FALSE(dead.empty());
  for (const int number : dead) EXPECT_TRUE(oracle(number).alive());
}

TEST_F(PreparedRunsTest, TakeAPartOfTheMachinesMemoryAndHaveABound) {
  EXPECT_GT(memory_for_prepared_runs(), std::size_t{1} << 20);
  EXPECT_LE(memory_for_prepared_runs(), kMostPreparedBytes);
}

}  // namespace
}  // namespace warpgrade::declared
