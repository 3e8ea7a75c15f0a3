#include "base/untrusted.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using State = UntrustedState;
using Kind = UntrustedEntry::Kind;

// Every test runs with openat2 and with the way of older kernels.
class Untrusted : public ::testing::TestWithParam<bool> {
 protected:
  Untrusted() { resolve_part_by_part_for_test(GetParam()); }
  ~Untrusted() override { resolve_part_by_part_for_test(false); }

  fs::path put(const std::string& name, const std::string& text) const {
    make_directories((root() / name).parent_path());
    write_text(root() / name, text);
    return root() / name;
  }
  const fs::path& root() const { return scratch_.path(); }
  State state(const fs::path& name, std::uint64_t most = 100) const {
    return UntrustedFolder(root()).read(name, most).state;
  }

 private:
  TemporaryDirectory scratch_{"untrusted-test"};
};
INSTANTIATE_TEST_SUITE_P(BothWays, Untrusted, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "PartByPart" : "Openat2"; });

TEST_P(Untrusted, ReadsARegularFileWhole) {
  put("a/b/c.cu", std::string("one\0two", 7));
  const UntrustedFile file = UntrustedFolder(root()).read("a/./b/c.cu", 7);
  EXPECT_EQ(file.state, State::kRead);
  EXPECT_EQ(file.bytes, std::string("one\0two", 7));
}

TEST_P(Untrusted, FollowsNoLinkInAnyPartOfThePath) {
  put("real/secret", "secret");
  fs::create_symlink("real/secret", root() / "link");
  fs::create_symlink("/etc/passwd", root() / "absolute");
  fs::create_directory_symlink("real", root() / "folder");
  fs::create_symlink("/proc/self/root/etc/passwd", root() / "magic");
  fs::create_symlink("loop", root() / "loop");
  for (const char* name : {"link", "absolute", "folder/secret", "magic", "loop"})
    EXPECT_EQ(state(name, 1 << 20), State::kLink) << name;
  EXPECT_FALSE(UntrustedFolder(root()).folder("folder").has_value());
}

TEST_P(Untrusted, LeavesTheFolderInNoWay) {
  make_directories(root() / "below");
  put("outside", "x");
  const UntrustedFolder below(root() / "below");
  for (const char* name : {"../outside", "/etc/passwd", "", "x/../../outside"})
    EXPECT_EQ(below.read(name, 100).state, State::kMissing) << name;
}

TEST_P(Untrusted, NeverBlocksAndReadsNothingThatIsNoFile) {
  ASSERT_EQ(mkfifo((root() / "fifo").c_str(), 0666), 0);
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (root() / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(socket_fd);
  for (const char* name : {"fifo", "socket", "."}) EXPECT_EQ(state(name), State::kNotRegular) << name;
  EXPECT_EQ(UntrustedFolder("/dev").read("zero", 100).state, State::kNotRegular);
}

TEST_P(Untrusted, ReadsNeverMoreThanTheBound) {
  put("exact", "12345");
  EXPECT_EQ(state("exact", 5), State::kRead);
  EXPECT_EQ(state("exact", 4), State::kTooLarge);
  const int sparse = open((root() / "sparse").c_str(), O_CREAT | O_WRONLY, 0644);
  ASSERT_EQ(ftruncate(sparse, off_t{1} << 40), 0);
  close(sparse);
  EXPECT_EQ(state("sparse", 1 << 20), State::kTooLarge);
  // A file that says that it is empty and is not.
  EXPECT_EQ(UntrustedFolder("/proc/self").read("maps", 10).state, State::kTooLarge);
}

TEST_P(Untrusted, MissingNamesAreMissingHoweverLong) {
  put("file", "x");
  for (const std::string& name : {std::string("none"), std::string("file/below"), std::string(5000, 'a')})
    EXPECT_EQ(state(name), State::kMissing) << name.substr(0, 20);
  EXPECT_EQ(state(std::string("nul\0byte", 8)), State::kMissing);
  EXPECT_THROW(UntrustedFolder(root() / "nowhere"), UsageError);
  EXPECT_FALSE(UntrustedFolder::try_open(root() / "nowhere").has_value());
}

TEST_P(Untrusted, HardLinksAreReadLikeAnyFile) {
  put("one", "same");
  fs::create_hard_link(root() / "one", root() / "two");
  EXPECT_EQ(UntrustedFolder(root()).read("two", 100).bytes, "same");
}

// What another process does meanwhile: the content is the file's or nothing, never the link's.
TEST_P(Untrusted, AFileThatKeepsBecomingALinkIsNeverFollowed) {
  put("plain", "plain");
  put("secret", "secret");
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) {
      std::error_code ignored;
      fs::create_symlink("secret", root() / "new", ignored);
      fs::rename(root() / "new", root() / "name", ignored);
      fs::create_hard_link(root() / "plain", root() / "new", ignored);
      fs::rename(root() / "new", root() / "name", ignored);
    }
  });
  const UntrustedFolder folder(root());
  for (int i = 0; i < 3000; ++i) {
    const UntrustedFile file = folder.read("name", 100);
    EXPECT_TRUE(file.bytes.empty() || file.bytes == "plain") << file.bytes;
  }
  stop = true;
  swapper.join();
}

TEST_P(Untrusted, ListsWithoutFollowingOrEntering) {
  put("a/spmm.cu", "12");
  put(".hidden/x", "");
  fs::create_directory_symlink("/etc", root() / "etc");
  ASSERT_EQ(mkfifo((root() / "pipe").c_str(), 0666), 0);
  const auto listing =
      UntrustedFolder(root()).list({}, [](const std::string& n) { return n.starts_with("."); });
  std::vector<std::pair<std::string, Kind>> found;
  for (const UntrustedEntry& entry : listing.entries) found.emplace_back(entry.name.string(), entry.kind);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, Kind>>{{".hidden", Kind::kFolder},
                                                              {"a", Kind::kFolder},
                                                              {"a/spmm.cu", Kind::kFile},
                                                              {"etc", Kind::kLink},
                                                              {"pipe", Kind::kOther}}));
  EXPECT_FALSE(listing.too_many || listing.too_deep);
}

TEST_P(Untrusted, ListingEndsAtItsLimits) {
  for (int i = 0; i < 30; ++i) put("f" + std::to_string(i), "");
  const auto few = UntrustedFolder(root()).list({10, 4});
  EXPECT_TRUE(few.too_many);
  EXPECT_LE(few.entries.size(), 10u);
  // Deeper than any path may be long, made by descriptors.
  int at = open(root().c_str(), O_RDONLY | O_DIRECTORY);
  const std::string name(250, 'd');
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(mkdirat(at, name.c_str(), 0755), 0);
    const int next = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(at);
    ASSERT_GE(at = next, 0);
  }
  close(at);
  const auto deep = UntrustedFolder(root()).list({1000, 4});
  EXPECT_TRUE(deep.too_deep);
  ASSERT_EQ(std::system(("rm -rf '" + root().string() + "/" + name + "'").c_str()), 0);
}

}  // namespace
}  // namespace warpgrade
