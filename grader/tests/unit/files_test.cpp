#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace warpgrade {
namespace {
namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// A tree as a snapshot is: folders that nobody may write, and a link to a folder that is not the tree's.
void make_snapshot(const fs::path& root, const fs::path& elsewhere) {
  make_directories(root / "snapshot/src");
  make_directories(elsewhere);
  write_text(root / "snapshot/src/spmm.cu", "x");
  write_text(elsewhere / "kept.txt", "x");
  fs::create_directory_symlink(elsewhere, root / "snapshot/link");
  for (const fs::path& folder : {root / "snapshot/src", root / "snapshot", elsewhere})
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
}

TEST(RemoveTree, RemovesReadOnlyFoldersAndNothingBehindALink) {
  // In a process of its own without root's rights, to whom no folder is read-only.
  const pid_t pid = fork();
  if (pid == 0) {
    if (getuid() == 0 && setuid(kNobody) != 0) _exit(2);
    const TemporaryDirectory scratch("remove-tree");
    const fs::path root = scratch.path() / "run", elsewhere = scratch.path() / "elsewhere";
    make_snapshot(root, elsewhere);
    remove_tree(root);
    const bool writable = (fs::status(elsewhere).permissions() & fs::perms::owner_write) != fs::perms::none;
    const int result = fs::exists(root) ? 3 : !fs::exists(elsewhere / "kept.txt") ? 4 : writable ? 5 : 0;
    fs::permissions(elsewhere, fs::perms::owner_all);
    remove_tree(scratch.path());
    _exit(result);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0)
      << "3: the tree is there; 4: a link was followed; 5: its folder was opened";
}

TEST(RemoveTree, OfNothingIsNothing) {
  const TemporaryDirectory scratch("remove-tree");
  remove_tree(scratch.path() / "absent");
  EXPECT_TRUE(fs::exists(scratch.path()));
}

}  // namespace
}  // namespace warpgrade
