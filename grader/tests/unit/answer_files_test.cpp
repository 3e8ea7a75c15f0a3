#include "judge/labs/declared/answer_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "base/files.h"

namespace warpgrade::declared {
namespace {

namespace fs = std::filesystem;

// The cache is a folder of the test's own.
class AnswerFilesTest : public testing::Test {
 protected:
  AnswerFilesTest() : cache_("warpgrade-answers") {
    if (const char* before = std::getenv("WARPGRADE_CACHE")) before_ = before;
    setenv("WARPGRADE_CACHE", cache_.path().c_str(), 1);
  }
  ~AnswerFilesTest() override {
    if (before_.empty())
      unsetenv("WARPGRADE_CACHE");
    else
      setenv("WARPGRADE_CACHE", before_.c_str(), 1);
  }
  static Answer answer(std::size_t bytes, char content) {
    const std::string truth(bytes, content);
    Answer made;
    made.add(std::as_bytes(std::span(truth)), {}, 1);
    return made;
  }
  fs::path folder() const { return cache_.path() / "answers"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder())) found.push_back(entry.path());
    return found;
  }

  TemporaryDirectory cache_;
  std::string before_;
};

TEST_F(AnswerFilesTest, GiveAnAnswerBackWithItsMagnitudes) {
  const std::string truth = "truth", magnitudes = "large";
  Answer made;
  made.add(std::as_bytes(std::span(truth)), std::as_bytes(std::span(magnitudes)), 1);
  made.add({}, {}, 1);
  const AnswerFiles kept("lab");
  kept.add("run 1", made);
  const auto found = AnswerFiles("lab").find("run 1");
  ASSERT_TRUE(found);
  ASSERT_EQ(2u, found->outputs());
  EXPECT_EQ(truth, std::string(reinterpret_cast<const char*>(found->truth(0).data()), 5));
  EXPECT_EQ(magnitudes, std::string(reinterpret_cast<const char*>(found->magnitudes(0).data()), 5));
  EXPECT_TRUE(found->truth(1).empty());
  EXPECT_FALSE(kept.find("run 2"));
  EXPECT_FALSE(AnswerFiles("another lab").find("run 1"));
}

TEST_F(AnswerFilesTest, DoNotBelieveAFileThatIsCutChangedOrOfAnotherName) {
  const AnswerFiles kept("lab");
  kept.add("run 1", answer(100, 'a'));
  const fs::path file = files().at(0);
  const std::string whole = read_text(file);
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  for (const std::string& damaged :
       {whole.substr(0, whole.size() - 1), whole + "x", changed, std::string()}) {
    write_text(file, damaged);
    EXPECT_FALSE(kept.find("run 1")) << damaged.size();
  }
  write_text(file, whole);
  EXPECT_TRUE(kept.find("run 1"));
  kept.add("run 2", answer(100, 'b'));
  for (const fs::path& other : files())
    if (other != file) fs::copy_file(file, other, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(kept.find("run 2"));
}

TEST_F(AnswerFilesTest, GiveUpThoseThatWereAskedForLeastRecently) {
  const AnswerFiles kept("lab", 1000);
  kept.add("run 1", answer(300, 'a'));
  kept.add("run 2", answer(300, 'b'));
  for (const fs::path& file : files())
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(kept.find("run 1"));
  kept.add("run 3", answer(300, 'c'));
  EXPECT_TRUE(kept.find("run 1"));
  EXPECT_FALSE(kept.find("run 2"));
  EXPECT_TRUE(kept.find("run 3"));
  kept.add("run 4", answer(600, 'd'));  // more than half of all
  EXPECT_FALSE(kept.find("run 4"));
  EXPECT_TRUE(kept.find("run 3"));
}

TEST_F(AnswerFilesTest, KeepNothingWhereOthersCanWrite) {
  fs::create_directories(folder());
  fs::permissions(folder(), fs::perms::owner_all | fs::perms::group_write);
  const AnswerFiles kept("lab");
  kept.add("run 1", answer(10, 'a'));
  EXPECT_TRUE(files().empty());
  EXPECT_FALSE(answers_folder());
  fs::permissions(folder(), fs::perms::owner_all);
  EXPECT_TRUE(answers_folder());
}

TEST_F(AnswerFilesTest, TheirFolderIsNoLinkToAnotherOne) {
  const TemporaryDirectory other("warpgrade-answers-other");
  fs::create_directory_symlink(other.path(), folder());
  EXPECT_FALSE(answers_folder());
}

}  // namespace
}  // namespace warpgrade::declared
