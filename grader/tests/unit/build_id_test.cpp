#include "base/build_id.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

const fs::path kSelf = "/proc/self/exe";

TEST(BuildId, OfAProgramIsAHexadecimalNumber) {
  const auto id = build_id(kSelf);
  ASSERT_TRUE(id) << "linked without --build-id";
  EXPECT_GE(id->size(), 16u);
  EXPECT_EQ(id->find_first_not_of("0123456789abcdef"), std::string::npos) << *id;
}

TEST(BuildId, IsNothingForOtherFiles) {
  EXPECT_FALSE(build_id("/dev/null"));
  EXPECT_FALSE(build_id("/no/such/file"));
  EXPECT_FALSE(build_id("/proc/self/cmdline"));
}

// Every prefix of the first bytes and damage of each of them: never a crash, and no answer where the file's
// first bytes or the table of its segments are gone.
TEST(BuildId, ReadsDamagedFiles) {
  const TemporaryDirectory folder("build-id");
  int number = 0;
  const auto read_back = [&](const std::string& bytes) {
    const fs::path file = folder.path() / std::to_string(number++);
    write_scratch(file, bytes);
    const auto found = build_id(file);
    fs::remove(file);
    return found;
  };
  const std::string whole = read_text(kSelf).substr(0, 4096);
  for (std::size_t bytes = 0; bytes <= whole.size(); bytes += 61) {
    const auto found = read_back(whole.substr(0, bytes));
    if (bytes < 64) {  // the header of an ELF file
      EXPECT_FALSE(found) << bytes;
    }
  }
  for (std::size_t at = 0; at < 1024; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    const auto found = read_back(damaged);
    if (at < 4) {  // what makes it an ELF file
      EXPECT_FALSE(found) << at;
    }
  }
}

}  // namespace
}  // namespace warpgrade
