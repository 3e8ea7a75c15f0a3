#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "compile/compiler.h"
#include "compile/inspect.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  make_directories(path.parent_path());
  write_text(path, text);
}

TEST(Ptxas, ReadsRegistersSharedMemoryAndSpills) {
  const auto kernels = parse_ptxas(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z6kernelPfi' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z6kernelPfi\n"
      "    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 24 bytes cumulative stack size, 4096 bytes smem, "
      "380 bytes cmem[0]\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "kernel(float*, int)");
  EXPECT_EQ(kernels[0].architecture, "sm_90");
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].shared_bytes, 4096u);
  EXPECT_EQ(kernels[0].stack_bytes, 24u);
  EXPECT_EQ(kernels[0].spill_store_bytes, 8u);
  EXPECT_EQ(kernels[0].spill_load_bytes, 12u);
}

TEST(Dependencies, VendorHeadersAreFound) {
  EXPECT_EQ(forbidden_header("a.o : spmm.cu \\\n /cuda/include/cusparse.h \\\n /usr/include/stdio.h"),
            "cusparse.h");
  EXPECT_EQ(forbidden_header("a.o : spmm.cu my_cusparse_notes.cuh /cuda/include/cuda_runtime.h"),
            std::nullopt);
}

TEST(Submissions, HashCoversNamesAndContents) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "a/spmm.cu", "int x;");
  put(scratch.path() / "b/spmm.cu", "int x;");
  put(scratch.path() / "c/spmm.cu", "int y;");
  const auto read = [&](const char* name) {
    return read_submission(scratch.path() / name, "spmm", Role::kStudent);
  };
  EXPECT_EQ(read("a").hash, read("b").hash);
  EXPECT_NE(read("a").hash, read("c").hash);
}

TEST(Submissions, NamesWithSpacesAndLettersGetSafeAndDistinctIds) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "Zoë Müller/spmm.cu", "");
  put(scratch.path() / "Zo  M ller/spmm.cu", "");
  const auto found = find_submissions(scratch.path(), "spmm");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].id, found[1].id);
  for (const Submission& s : found)
    EXPECT_EQ(s.id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
              std::string::npos);
}

TEST(Submissions, OldInterfaceIsRecognised) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "a/spmm_opt.cu", "");
  put(scratch.path() / "a/spmm_opt.h", "");
  EXPECT_EQ(read_submission(scratch.path() / "a", "spmm", Role::kStudent).interface, "SpMMOpt");
}

TEST(Submissions, LinksAreRefusedAndEmptyFoldersSaidSo) {
  const TemporaryDirectory scratch("submission-test");
  make_directories(scratch.path() / "link");
  fs::create_symlink("/etc/passwd", scratch.path() / "link/spmm.cu");
  const auto linked = read_submission(scratch.path() / "link", "spmm", Role::kStudent);
  ASSERT_TRUE(linked.problem.has_value());
  SCOPED_TRACE(*linked.problem);
  EXPECT_NE(linked.problem->find("symbolic link"), std::string::npos);
  make_directories(scratch.path() / "empty");
  EXPECT_TRUE(read_submission(scratch.path() / "empty", "spmm", Role::kStudent).problem.has_value());
  EXPECT_THROW(find_submissions(scratch.path() / "nowhere", "spmm"), UsageError);
}

TEST(Submissions, OnlyHarmlessCompilerFlagsAreTaken) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "a/spmm.cu", "");
  put(scratch.path() / "a/submission.yaml", "title: Ada\nflags: [--use_fast_math, -DTILE=4]\n");
  put(scratch.path() / "b/spmm.cu", "");
  put(scratch.path() / "b/submission.yaml", "flags: ['-Xcompiler=-include/etc/passwd']\n");
  const auto good = read_submission(scratch.path() / "a", "spmm", Role::kStudent);
  EXPECT_FALSE(good.problem.has_value());
  EXPECT_EQ(good.title, "Ada");
  EXPECT_EQ(good.flags.size(), 2u);
  EXPECT_TRUE(read_submission(scratch.path() / "b", "spmm", Role::kStudent).problem.has_value());
}

}  // namespace
}  // namespace warpgrade
