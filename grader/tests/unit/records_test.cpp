#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "course/record/run_folder.h"
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
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "accepted");

  const auto file = folder.case_file("ada", "cora-k32");
  std::string text = read_text(file);
  text.replace(text.find("accepted"), 8, "Accepted");
  write_text(file, text);
  EXPECT_THROW(folder.read_records(), UsageError);
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

TEST(Records, AFaultGivesWayToAVerdict) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  folder.add_fault(record("cora-k32", "judge_fault"));
  EXPECT_FALSE(folder.has_record("ada", "cora-k32"));
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "judge_fault");
  folder.add_record(record("cora-k32", "accepted"));
  EXPECT_EQ(folder.read_records().size(), 1u);
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "accepted");
}

}  // namespace
}  // namespace warpgrade
