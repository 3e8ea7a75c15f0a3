// Points by case: dropped, weighted, shared, bonus, and what must hold of any policy and any records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/error.h"
#include "score_support.h"

namespace warpgrade {
namespace {

// ---- words: one vocabulary ----

std::string refusal_of(const std::string& more) {
  try {
    policy(std::string(kPolicy) + more + "\n");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

struct Typo {
  const char *text, *place, *meant;
};

class PolicyTypo : public testing::TestWithParam<Typo> {};

TEST_P(PolicyTypo, IsRefusedWithItsPlaceAndTheNearestWord) {
  const std::string message = refusal_of(GetParam().text);
  EXPECT_NE(message.find(GetParam().place), std::string::npos) << message;
  EXPECT_NE(message.find(std::string("did you mean ") + GetParam().meant + "?"), std::string::npos)
      << message;
}

// Every key that takes words of the lab's. The first three were sound before.
INSTANTIATE_TEST_SUITE_P(
    EveryKey, PolicyTypo,
    testing::Values(
        Typo{"visibility: {open: [publik]}", "test.yaml:11: visibility.open[0]", "public"},
        Typo{"remote: {cases: [publik]}", "remote.cases[0]", "public"},
        Typo{"measured_on: H10O", "measured_on", "H100"},
        Typo{"thresholds_by_gpu: {H10O: {cora: {32: 1}}}", "thresholds_by_gpu.H10O", "H100"},
        Typo{"secret_baselines: [naiv]", "secret_baselines[0]", "naive"},
        Typo{"drop: [cora-k23]", "drop[0]", "cora-k32"}, Typo{"drop: [hiden]", "drop[0]", "hidden"},
        Typo{"weights: {arxif: 2}", "weights.arxif", "arxiv"},
        Typo{"shares: {cora-k3: 2}", "shares.cora-k3", "cora-k32"},
        Typo{"bonus: {hiddn: 2}", "bonus.hiddn", "hidden"}, Typo{"kernel: requird", "kernel", "required"},
        Typo{"late: {slip_days_per: studen}", "late.slip_days_per", "student"},
        Typo{"thresholds_by_gpu: {H100: {corra: {32: 1}}}", "thresholds_by_gpu.H100.corra", "cora"},
        Typo{"visibility: {leaderboard: {attempt: bets}}", "visibility.leaderboard.attempt", "best"},
        Typo{"visibility: {leaderboard: {renew_second: 9}}", "visibility.leaderboard", "renew_seconds"},
        Typo{"visibility: {leaderboard: shwon}", "visibility.leaderboard", "shown"},
        Typo{"wieghts: {cora: 2}", "test.yaml:11", "weights"}),
    [](const auto& typo) { return "Key" + std::to_string(typo.index); });

TEST(PolicyWords, TheGatesAndTheBaselineAreChecked) {
  std::string text = kPolicy;
  text.replace(text.find("gate: correct"), 13, "gate: {faster_than: {naiv: 2}}");
  EXPECT_THROW(policy(text), UsageError);
  text = kPolicy;
  text.replace(text.find("cusparse_default"), 16, "cusparse_defalt");
  EXPECT_THROW(policy(text), UsageError);
}

TEST(PolicyWords, AWordThatIsNotNearAnyOtherIsToldWhichThereAre) {
  EXPECT_NE(refusal_of("visibility: {open: [secret]}").find("lab spmm has no set 'secret': hidden, public"),
            std::string::npos);
}

TEST(PolicyWords, ALeaderboardIsAWordOrAMapOfWhatItShows) {
  const auto visibility = [](const std::string& board) {
    return policy(std::string(kPolicy) + "timezone: Europe/Berlin\nvisibility: {leaderboard: " + board +
                  "}\n")
        .visibility;
  };
  EXPECT_FALSE(visibility("hidden").leaderboard);
  EXPECT_EQ(visibility("shown").board.attempt, "counts");
  const Policy::Board board =
      visibility("{attempt: best, frozen: {from: 2026-02-20T01:00, until: 2026-02-20T02:00}}").board;
  EXPECT_EQ(board.attempt, "best");
  EXPECT_EQ(board.frozen_from, 1'771'545'600);
  EXPECT_EQ(board.frozen_from_text, "Fri 20 Feb 2026 01:00 CET");
  EXPECT_FALSE(board.is_frozen(board.frozen_until));
  const std::string turned = "visibility: {leaderboard: {frozen: {from: 2026-02-20, until: 2026-02-19}}}";
  EXPECT_NE(refusal_of(turned).find("frozen.until: it is not after frozen.from"), std::string::npos);
  EXPECT_NE(refusal_of("visibility: {leaderboard: {frozen: {from: soon, until: 2026-02-19}}}").find("a time"),
            std::string::npos);
}

TEST(PolicyWords, AFreezeMayBeGivenByTheDeadline) {
  const auto board = [](const std::string& frozen) {
    return policy(std::string(kPolicy) + "visibility: {leaderboard: {frozen: " + frozen + "}}\n")
        .visibility.board;
  };
  EXPECT_EQ(board("{before_deadline: 24h}").freeze_before_s, 86400);
  EXPECT_EQ(board("{before_deadline: 2d, after_deadline: 90m}").freeze_after_s, 5400);
  const auto refused = [](const std::string& frozen) {
    return refusal_of("visibility: {leaderboard: {frozen: " + frozen + "}}");
  };
  for (const char* span : {"24", "h", "-1h", "24 hours", "1e3h", "99999d", "[1h]"})
    EXPECT_NE(refused(std::string("{before_deadline: ") + span + "}").find("for instance 90m, 24h or 2d"),
              std::string::npos)
        << span;
  EXPECT_NE(refused("{before_deadline: 0h}").find("longer than 0"), std::string::npos);
  EXPECT_NE(refused("{after_deadline: 1h}").find("goes with before_deadline"), std::string::npos);
  EXPECT_NE(refused("{before_deadline: 1h, until: 2026-02-19}").find("leave one out"), std::string::npos);
  EXPECT_NE(refused("{before_dedline: 1h}").find("did you mean before_deadline?"), std::string::npos);
}

TEST(PolicyWords, ARunsOwnPolicyIsReadWhateverItNames) {
  EXPECT_NO_THROW(parse_policy(std::string(kPolicy) + "visibility: {open: [publik]}\n", "run.json",
                               {.datasets = {"cora"}, .cases = {}, .is_kept = true}));
}

TEST(PolicyWords, AGpuThatIsNewerThanTheListIsNoTypo) {
  EXPECT_EQ(refusal_of("measured_on: X9900"), "accepted");
  EXPECT_EQ(refusal_of("measured_on: H100 PCIe"), "accepted");
}

TEST(PolicyShares, AreNotMoreThanThePart) {
  EXPECT_NE(
      refusal_of("shares: {cora-k32: 30, arxiv-k32: 11}").find("add up to 41, but points.correctness is 40"),
      std::string::npos);
  EXPECT_NE(refusal_of("shares: {arxiv-k32: {speed: 61}}").find("points.speed is 60"), std::string::npos);
  EXPECT_NE(refusal_of("bonus: {cora-k32: 3}\nshares: {cora-k32: 30}").find("bonus"), std::string::npos);
}

// ---- points ----

json points_of(const std::string& more, const std::vector<Record>& records,
               const std::string& backend = "cuda") {
  return only(score(policy(std::string(kPolicy) + more + "\n"), run_of(backend), records));
}

const std::vector<Record>& one_wrong() {
  static const std::vector<Record> records{record("cora-k32", "wrong_answer"), timed(2.1, 2.2, 2.3)};
  return records;
}

TEST(PolicyDrop, ADroppedCaseHasNeitherPointsNorGate) {
  const json s = points_of("drop: [cora-k32]", one_wrong());
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("verdict"), "accepted");
  EXPECT_EQ(s.at("total_cases"), 1);
  EXPECT_EQ(s.at("dropped_cases"), 1);
  EXPECT_EQ(s.at("cases")[0].at("dropped"), true);
  EXPECT_NE(s.at("cases")[0].at("note").get<std::string>().find("dropped by the staff"), std::string::npos);
}

TEST(PolicyDrop, ASetOrDatasetGoesAsAWhole) {
  json run = run_of("cuda");
  run["cases"][0]["set"] = "hidden";
  for (const char* word : {"hidden", "cora"}) {
    const json s = only(score(policy(std::string(kPolicy) + "drop: [" + word + "]\n"), run, one_wrong()));
    EXPECT_DOUBLE_EQ(s.at("points"), 100) << word;
  }
}

TEST(PolicyWeights, DivideThePoints) {
  const std::vector<Record> records{record("cora-k32", "accepted"), record("arxiv-k32", "wrong_answer")};
  EXPECT_DOUBLE_EQ(points_of("weights: {cora: 3}", records, "emulator").at("points"), 30);
  EXPECT_DOUBLE_EQ(points_of("weights: {cora: 3, cora-k32: 1}", records, "emulator").at("points"), 20)
      << "a case's id comes before its dataset";
  EXPECT_DOUBLE_EQ(points_of("weights: {cora: 0}", records, "emulator").at("points"), 0);
}

TEST(PolicyShares, FixACasesPointsAndTheRestIsDividedAmongTheOthers) {
  const std::vector<Record> records{record("cora-k32", "accepted"), record("arxiv-k32", "wrong_answer")};
  EXPECT_DOUBLE_EQ(points_of("shares: {cora-k32: 10}", records, "emulator").at("points"), 10);
  EXPECT_DOUBLE_EQ(points_of("shares: {arxiv-k32: 10}", records, "emulator").at("points"), 30);
  EXPECT_DOUBLE_EQ(points_of("shares: {cora-k32: 10}\ndrop: [arxiv-k32]", records, "emulator").at("points"),
                   40)
      << "no other case is left: the share is the whole";
}

TEST(PolicyBonus, IsBeyondTheMaximumAndGatesNothing) {
  const std::string bonus = "bonus: {cora-k32: 5}";
  const json right = points_of(bonus, {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)});
  EXPECT_DOUBLE_EQ(right.at("points"), 105);
  EXPECT_DOUBLE_EQ(right.at("bonus"), 5);
  EXPECT_DOUBLE_EQ(right.at("max_points"), 100);
  const json wrong = points_of(bonus, one_wrong());
  EXPECT_DOUBLE_EQ(wrong.at("points"), 100);
  EXPECT_DOUBLE_EQ(wrong.at("bonus"), 0);
  EXPECT_EQ(wrong.at("verdict"), "accepted");
}

TEST(PolicyBonus, OfASpeedCaseWaitsForItsThreshold) {
  const std::string bonus = "bonus: {arxiv-k32: 5}";
  EXPECT_DOUBLE_EQ(points_of(bonus, {record("cora-k32", "accepted"), timed(1.0, 1.0, 1.0)}).at("bonus"), 0);
  EXPECT_DOUBLE_EQ(points_of(bonus, {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)}).at("bonus"), 5);
}

// ---- who wrote the outputs ----

json written_by(const char* last, int kernels, int filled = 0) {
  json r = record("cora-k32", "accepted");
  r["outputs_by"] = {{"kernels", kernels},
                     {"last_writer", last},
                     {"host_bytes", std::string(last) == "host" ? 64 : 0},
                     {"filled_bytes", filled},
                     {"bytes", 64}};
  return r;
}

json kernel_line(const std::string& rule, const json& record) {
  return points_of(rule, {record}, "emulator").at("cases")[0];
}

TEST(KernelRequired, ACaseThatTheHostWroteEarnsNothingAndIsToldWhatToDo) {
  const json line = kernel_line("kernel: required", written_by("host", 2));
  EXPECT_EQ(line.at("cpu_only"), true);
  EXPECT_FALSE(line.contains("no_kernel"));
  EXPECT_EQ(line.at("verdict"), "accepted");
  EXPECT_DOUBLE_EQ(line.at("points"), 0);
  EXPECT_GT(line.at("max_points"), 0);
  EXPECT_NE(line.at("note").get<std::string>().find("let a kernel compute"), std::string::npos);
}

TEST(KernelRequired, WithoutItTheSameIsToldAndCostsNothing) {
  const json line = kernel_line("", written_by("host", 0));
  EXPECT_EQ(line.at("cpu_only"), true);
  EXPECT_EQ(line.at("no_kernel"), true);
  EXPECT_DOUBLE_EQ(line.at("points"), 40);
  EXPECT_NE(line.at("note").get<std::string>().find("CPU only"), std::string::npos);
}

TEST(KernelRequired, AFillMayBeTheWholeAnswer) {
  EXPECT_DOUBLE_EQ(kernel_line("kernel: required", written_by("none", 0, 64)).at("points"), 40);
  EXPECT_DOUBLE_EQ(kernel_line("kernel: required", written_by("none", 0, 32)).at("points"), 0);
}

TEST(KernelRequired, WhatNobodyKnowsCostsNothing) {
  const json line = kernel_line("kernel: required", record("cora-k32", "accepted"));
  EXPECT_DOUBLE_EQ(line.at("points"), 40);
  EXPECT_FALSE(line.contains("cpu_only"));
}

// ---- what holds of any policy and any records ----

class AnyClass {
 public:
  explicit AnyClass(unsigned seed) : random_(seed) {
    run_ = {{"run", "r"}, {"backend", chance(0.7) ? "cuda" : "emulator"}, {"cases", json::array()}};
    run_["submissions"] = {{{"id", "ada"}, {"title", "Ada"}, {"role", "student"}}};
    const int cases = 2 + pick(8);
    for (int i = 0; i < cases; ++i) add_case("c" + std::to_string(i));
    draw_policy();
  }

  json scored() const { return only(score(policy_, run_, records_)); }
  double most() const {
    return score(policy_, run_, records_).value("max_bonus", 0.0) + policy_.max_points();
  }

  const json& run() const { return run_; }
  Policy policy_;
  std::vector<Record> records_;
  json run_;

  void shuffle() { std::shuffle(run_["cases"].begin(), run_["cases"].end(), random_); }
  bool failed(const std::string& id) const {
    return std::any_of(records_.begin(), records_.end(), [&](const Record& r) {
      const Verdict verdict = r.outcome.verdict;
      return r.test_case.id == id && verdict != Verdict::kAccepted && verdict != Verdict::kJudgeFault;
    });
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  bool chance(double p) { return std::uniform_real_distribution<>()(random_) < p; }

  void add_case(const std::string& id) {
    const json spec{{"id", id},
                    {"dataset", chance(0.5) ? "cora" : "arxiv"},
                    {"k", 32},
                    {"kind", chance(0.5) ? "speed" : "correctness"},
                    {"set", chance(0.5) ? "public" : "hidden"}};
    run_["cases"].push_back(spec);
    const char* verdicts[] = {"accepted", "accepted", "accepted", "wrong_answer", "judge_fault"};
    json r = record(id, verdicts[pick(5)]);
    const double ratio = 0.5 + pick(40) / 10.0;
    r["ratios"]["cusparse_default"] = {{"median", ratio}, {"low", ratio - 0.05}, {"high", ratio + 0.05}};
    if (chance(0.2)) r["outputs_by"] = {{"kernels", 0}, {"last_writer", "host"}, {"bytes", 64}};
    if (chance(0.9)) records_.push_back(r);
  }

  void draw_policy() {
    static const Policy plain = policy();
    policy_ = plain;
    policy_.speed_needs_all_correct = chance(0.5);
    policy_.kernel_required = chance(0.5);
    double correctness = policy_.correctness_points, speed = policy_.speed_points;
    for (const json& spec : run_["cases"]) {
      const std::string id = spec.at("id");
      if (chance(0.15)) policy_.dropped.insert(id);
      if (chance(0.3)) policy_.weights[id] = pick(5);
      if (chance(0.15)) {
        policy_.bonus[id] = pick(10);
      } else if (chance(0.2)) {
        const Policy::Share share{correctness * pick(5) / 10, speed * pick(5) / 10};
        policy_.shares[id] = share;
        correctness -= share.correctness;
        speed -= share.speed;
      }
    }
    if (chance(0.3)) policy_.weights["hidden"] = 2;
    if (chance(0.1)) policy_.dropped.insert("public");
  }

  std::mt19937 random_;
};

constexpr double kRounding = 1e-9;

class PolicyInvariants : public testing::Test {
 protected:
  // Each seed is printed where something fails; WARPGRADE_SEED runs one alone.
  template <class Check>
  static void for_seeds(const Check& check) {
    const char* one = std::getenv("WARPGRADE_SEED");
    const unsigned first = one != nullptr ? static_cast<unsigned>(std::atoi(one)) : 1;
    for (unsigned seed = first; seed < (one != nullptr ? first + 1 : 301); ++seed) {
      SCOPED_TRACE("WARPGRADE_SEED=" + std::to_string(seed));
      check(AnyClass(seed));
      if (HasFailure()) return;
    }
  }
};

TEST_F(PolicyInvariants, PointsAreNeverBeyondTheMaximumAndTheBonus) {
  for_seeds([](const AnyClass& any) {
    const json s = any.scored();
    EXPECT_LE(s.at("points"), any.most() + kRounding);
    EXPECT_LE(s.at("points").get<double>() - s.value("bonus", 0.0), any.policy_.max_points() + kRounding);
    double lines = 0, possible = 0;
    for (const json& line : s.at("cases")) {
      EXPECT_GE(line.at("points"), 0);
      EXPECT_LE(line.at("points"), line.at("max_points").get<double>() + kRounding);
      lines += line.at("points").get<double>();
      possible += line.at("max_points").get<double>();
    }
    EXPECT_NEAR(lines, s.at("points"), kRounding);
    EXPECT_LE(possible, any.most() + kRounding);
  });
}

TEST_F(PolicyInvariants, DroppingACaseNeverLowersThePointsOfWhoFailedIt) {
  for_seeds([](AnyClass any) {
    const double before = any.scored().at("points");
    const Policy policy = any.policy_;
    for (const json& spec : any.run_.at("cases")) {
      const std::string id = spec.at("id");
      if (!any.failed(id)) continue;
      any.policy_ = policy;
      any.policy_.dropped.insert(id);
      EXPECT_GE(any.scored().at("points"), before - kRounding) << id;
    }
  });
}

TEST_F(PolicyInvariants, TheOrderOfCasesDoesNotMatter) {
  for_seeds([](AnyClass any) {
    const double before = any.scored().at("points");
    any.shuffle();
    std::reverse(any.records_.begin(), any.records_.end());
    EXPECT_NEAR(any.scored().at("points"), before, kRounding);
  });
}

TEST_F(PolicyInvariants, WeightsTimesAConstantChangeNothing) {
  for_seeds([](AnyClass any) {
    for (const char* set : {"public", "hidden"}) any.policy_.weights.try_emplace(set, 1);
    const double before = any.scored().at("points");
    for (auto& [word, weight] : any.policy_.weights) weight *= 7.5;
    EXPECT_NEAR(any.scored().at("points"), before, kRounding);
  });
}

TEST_F(PolicyInvariants, ScoringAgainIsTheSame) {
  for_seeds([](const AnyClass& any) { EXPECT_EQ(any.scored(), any.scored()); });
}

}  // namespace
}  // namespace warpgrade
