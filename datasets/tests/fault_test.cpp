// A full disk, a file-size limit, an interrupt: nothing is left under the name, nor beside it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "test_support.h"
#include "warpgrade/datasets/generate.h"

namespace warpgrade::datasets {
namespace {

// Runs `action` in a child; returns its wait status.
template <typename Action>
int in_child(Action action) {
  const pid_t pid = fork();
  if (pid == 0) {
    int status = 99;
    try {
      status = action();
    } catch (...) {
    }
    _exit(status);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

bool writing_fails_with(const std::filesystem::path& path, const Csr& matrix, const char* fragment) {
  try {
    write_csr(path, matrix, {});
  } catch (const DatasetError& error) {
    return std::strstr(error.what(), fragment) != nullptr &&
           std::strstr(error.what(), path.c_str()) != nullptr;
  }
  return false;
}

TEST(Faults, AFileSizeLimitLeavesNothingBehind) {
  const TemporaryFolder folder;
  const Csr matrix = generate_powerlaw({2000, 60000, 0.5, 1});
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &small);
    return writing_fails_with(folder / "a.npz", matrix, "File too large") ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(folder.files().empty());
}

TEST(Faults, AFullDiskLeavesNothingBehind) {
  const TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "no right to mount a small tmpfs: " << std::strerror(errno)
                 << "; AFileSizeLimitLeavesNothingBehind covers the same path";
  }
  const bool refused =
      writing_fails_with(folder / "a.npz", generate_powerlaw({2000, 60000, 0.5, 1}), "No space left");
  const auto left = folder.files();
  umount(folder.path().c_str());
  EXPECT_TRUE(refused);
  EXPECT_TRUE(left.empty());
}

TEST(Faults, AFailedWriteKeepsTheFileThatWasThere) {
  const TemporaryFolder folder;
  const Csr before{1, 1, {0, 1}, {0}, {2.0f}};
  write_csr(folder / "a.npz", before, {});
  const Csr matrix = generate_powerlaw({2000, 60000, 0.5, 1});
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &small);
    return writing_fails_with(folder / "a.npz", matrix, "File too large") ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  expect_equal(CsrFile::open(folder / "a.npz"), before);
  EXPECT_EQ(folder.files(), std::vector<std::string>{"a.npz"});
}

TEST(Faults, AFolderWithoutPermissionIsNamed) {
  expect_error([] { write_csr("/proc/nowhere/a.npz", {0, 0, {0}, {}, {}}, {}); }, {"/proc/nowhere/a.npz"});
}

// A child writes a file over and over and is interrupted after a while; again and again, since the moment
// is chance.
TEST(Faults, AnInterruptLeavesNothingBehind) {
  const Csr matrix = generate_powerlaw({20000, 4000000, 0.5, 1});
  for (int attempt = 0; attempt < 12; ++attempt) {
    const TemporaryFolder folder;
    const pid_t pid = fork();
    if (pid == 0) {
      signal(SIGINT, SIG_DFL);
      for (;;) write_csr(folder / "a.npz", matrix, {});
    }
    usleep(static_cast<useconds_t>(60000 + 17000 * attempt));
    kill(pid, SIGINT);
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (const std::string& name : folder.files()) EXPECT_EQ(name, "a.npz") << "attempt " << attempt;
    if (std::filesystem::exists(folder / "a.npz")) {
      EXPECT_NO_THROW(CsrFile::open(folder / "a.npz").verify());
    }
  }
}

}  // namespace
}  // namespace warpgrade::datasets
