#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/ahead.h"
#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "course/batch/class_run.h"
#include "course/batch/nodes.h"
#include "course/feedback/view.h"
#include "course/record/run_folder.h"
#include "published_sets.h"
#include "score_support.h"

namespace warpgrade {
namespace {

TEST(Records, AreWrittenOnceAndCheckedWhenRead) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  json first = record("cora-k32", "accepted"), second = record("cora-k32", "wrong_answer");
  EXPECT_TRUE(folder.add_record(first));
  EXPECT_FALSE(folder.add_record(second)) << "a verdict was overwritten";
  EXPECT_EQ(word_of(folder.read_records().at(0).outcome.verdict), "accepted");

  const auto file = folder.case_file("ada", "cora-k32");
  std::string text = read_text(file);
  text.replace(text.find("accepted"), 8, "Accepted");
  write_text(file, text);
  EXPECT_THROW(folder.read_records(), UsageError);
}

TEST(Records, AreCollectedInTheRunsOrderAlone) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  run["submissions"].push_back({{"id", "bo"}, {"title", "Bo"}, {"role", "student"}});
  folder.write_run(run);
  EXPECT_TRUE(folder.add_record(record("cora-k32", "accepted")));
  const json& submissions = run.at("submissions");
  const auto ask = [&](std::size_t which) {
    folder.collect(run, {}, [&](const RecordsOf& of) { of(submissions[which].at("id")); });
  };
  EXPECT_NO_THROW(ask(0));
  EXPECT_THROW(ask(1), std::logic_error) << "the first submission's records came as the second's";
}

TEST(Records, OfASubmissionThatIsListedTwiceAreRefused) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  run["submissions"].push_back(run["submissions"][0]);
  folder.write_run(run);
  EXPECT_THROW(folder.read_run(), UsageError);
}

TEST(Ahead, GivesResultsInOrderAndAnExceptionWhereItsResultIsTaken) {
  Ahead<int> squares(20, 3, [](std::size_t i) {
    if (i == 11) throw UsageError("the eleventh");
    return static_cast<int>(i * i);
  });
  for (int i = 0; i < 11; ++i) EXPECT_EQ(squares.next(), i * i);
  EXPECT_THROW(squares.next(), UsageError);
  Ahead<int> one(1, 3, [](std::size_t) { return 7; });
  EXPECT_EQ(one.next(), 7);
  EXPECT_THROW(one.next(), std::logic_error);
}

TEST(Records, OfAPublishedSetAreThoseOfItsOneFile) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  EXPECT_TRUE(folder.add_record(timed(1, 2, 3)));
  folder.collect();
  const std::string collected = read_text(folder.records_file());
  std::filesystem::remove_all(folder.root() / "cases");
  EXPECT_EQ(folder.read_records().size(), 1u);
  folder.collect();
  EXPECT_EQ(read_text(folder.records_file()), collected) << "scoring a published set emptied it";
  write_text(folder.records_file(), collected.substr(0, collected.find("median")) + "x" +
                                        collected.substr(collected.find("median")));
  EXPECT_THROW(folder.read_records(), UsageError);
}

// What one pass makes of the class's files, and what two make.
TEST(Records, CollectedOnTheWayAreTheSameAsCollectedBefore) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  folder.add_record(timed(1, 2, 3));
  const auto collect = [&] {
    std::vector<Record> seen;
    folder.collect(run, {"submission/id", "outcome"}, [&](const RecordsOf& records) {
      for (const json& submission : run.at("submissions"))
        for (Record& record : records(submission.at("id"))) seen.push_back(std::move(record));
    });
    return seen;
  };
  folder.collect();
  const std::string before = read_text(folder.records_file());
  std::filesystem::remove(folder.records_file());
  EXPECT_EQ(collect(), folder.read_records({"submission/id", "outcome"}));
  EXPECT_EQ(read_text(folder.records_file()), before);
  // A file that someone formatted anew is collected as it was.
  const auto file = folder.root() / "cases/ada";
  for (const auto& entry : std::filesystem::directory_iterator(file))
    write_text(entry.path(), json::parse(read_text(entry.path())).dump(2));
  EXPECT_EQ(collect(), folder.read_records({"submission/id", "outcome"}));
  EXPECT_EQ(read_text(folder.records_file()), before);
  std::filesystem::remove_all(folder.root() / "cases");
  EXPECT_EQ(collect().size(), 1u) << "a published set";
  EXPECT_EQ(read_text(folder.records_file()), before);
}

TEST(Records, ThatWereChangedAreNotCollectedOnTheWay) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  folder.add_record(record("cora-k32", "wrong_answer"));
  const auto file = folder.case_file("ada", "cora-k32");
  std::string text = read_text(file);
  text.replace(text.find("wrong_answer"), 12, "accepted");
  write_text(file, text);
  EXPECT_THROW(folder.collect(run, {"outcome"}, [&](const RecordsOf& records) { records("ada"); }),
               UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder.records_file())) << "half a file was left";
}

TEST(Records, TellWhichNodesJudgedLast) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  const json run{{"submissions", {{{"id", "ada"}}, {{"id", "bo"}}, {{"id", "cy"}}}}};
  const auto judged = [&](const std::string& id, const json& sessions) {
    make_directories(folder.submission_folder(id));
    write_text(folder.submission_folder(id) / "judging.json", json{{"sessions", sessions}}.dump());
  };
  EXPECT_EQ(nodes_text(judging_nodes(folder, run)), "");
  const json first{
      {"node", "n1"}, {"job", "7_0"}, {"cases", 2}, {"device", "NVIDIA H100"}, {"device_uuid", "GPU-1"}};
  json second = first, nothing = first, here = first;
  second["node"] = "n2";
  nothing["node"] = "n3";
  nothing["cases"] = 0;
  here["node"] = "laptop";
  here.erase("job");
  judged("ada", {first, second, nothing});
  judged("bo", {second, first});
  judged("cy", {here});
  EXPECT_EQ(judging_node(folder, "ada"), "n2");
  EXPECT_EQ(judging_node(folder, "cy"), "") << "no task of a cluster";
  EXPECT_EQ(
      nodes_text(judging_nodes(folder, run)),
      "judged on 2 nodes of the cluster: n1 (NVIDIA H100, 1 submission), n2 (NVIDIA H100, 1 submission)\n");
}

TEST(Records, AFaultGivesWayToAVerdict) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  folder.add_fault(record("cora-k32", "judge_fault"));
  EXPECT_FALSE(folder.has_record("ada", "cora-k32"));
  EXPECT_EQ(word_of(folder.read_records().at(0).outcome.verdict), "judge_fault");
  folder.add_record(record("cora-k32", "accepted"));
  EXPECT_EQ(folder.read_records().size(), 1u);
  EXPECT_EQ(word_of(folder.read_records().at(0).outcome.verdict), "accepted");
}

TEST(Records, FieldsOfATextAreThoseOfTheWholeRecord) {
  const Fields fields{"submission/id", "outcome",           "ratios", "counters/findings", "timing/median_us",
                      "no such field", "case/shape/max_row"};
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  std::size_t compared = 0;
  for (const auto& set : published.all()) {
    std::ifstream lines(set / "records.jsonl");
    for (std::string line; std::getline(lines, line); ++compared) {
      const json whole = json::parse(line);
      const auto found = sealed_fields(line, fields);
      ASSERT_TRUE(found) << set;
      ASSERT_EQ(*found, only_fields(whole, fields)) << set;
      ASSERT_EQ(sealed_fields(line, {}), whole) << set;
    }
  }
  EXPECT_GT(compared, 500u);
}

TEST(Records, ATextWithBracketsAndQuotesHidesNoField) {
  const json sealed =
      with_checksum({{"a", {{"text", "}],\"z\":1,\\"}, {"b", {1, 2}}}}, {"list", {"]", "{"}}, {"z", 2}});
  const std::string text = sealed.dump();
  EXPECT_EQ(sealed_fields(text, {"a/text", "z"}), (json{{"a", {{"text", "}],\"z\":1,\\"}}}, {"z", 2}}));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(sealed_fields(changed, {"z"})) << changed;
    EXPECT_FALSE(sealed_fields(text.substr(0, at), {"z"})) << at;
  }
}

// Who reads a field that is not listed would get nothing, where the record has it.
TEST(Records, PointsAndViewsReadNoOtherFieldsThanTheyName) {
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  for (const auto& set : published.all()) {
    const RunFolder folder(set);
    RunParts parts;
    parts.folder = set;
    parts.run = folder.read_run();
    Policy policy = policy_of(folder, parts.run);
    for (const json& spec : parts.run.at("cases")) policy.visibility.open_sets.insert(spec.value("set", ""));
    policy.visibility.speed = true;
    for (json& submission : parts.run["submissions"]) submission["role"] = "student";
    parts.records = folder.read_records();
    parts.scores = score(policy, parts.run, parts.records);
    ASSERT_EQ(score_by_submission(policy, parts.run, folder.records_of(parts.run, score_fields())),
              parts.scores)
        << set;
    const auto whole = feedback_views(policy, parts, {}, {}, "");
    parts.records = folder.read_records(view_fields());
    ASSERT_EQ(feedback_views(policy, parts, {}, {}, ""), whole) << set;
  }
}

}  // namespace
}  // namespace warpgrade
