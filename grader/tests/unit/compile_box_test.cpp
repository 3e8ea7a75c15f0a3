// What a compiler that a submission has taken over could leave behind, and what it could reach: a shell
// script stands in nvcc's place and does it. Nothing else is replaced.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "judge/compile/compile_key.h"
#include "judge/compile/compiler.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

// Answers like nvcc: -o names the output, -c makes an object. Then it does what the test says. Asked which
// commands it would run, it names the host compiler that it was given, as nvcc does.
constexpr const char* kCompiler = R"(#!/bin/sh
here=$(dirname "$0")/..
compile=no host=gcc
case "$*" in
  *--dryrun*)
    while [ $# -gt 0 ]; do case $1 in -ccbin) host="\"${2%/*}\"/${2##*/}" ;; esac; shift; done
    echo "#\$ $host -D__CUDACC__ -E -x c++ /dev/null"
    exit 0 ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
    -c) compile=yes; source=$2; shift ;;
    -o) out=$2; shift ;;
    -MF) dependencies=$2; shift ;;
  esac
  shift
done
case $out in /run/warpgrade/build/*) ;; *) : >"$out"; exit 0 ;; esac  # the runner's own objects, outside
build=/run/warpgrade/build
if [ $compile = yes ]; then
  cp "$here/honest.o" "$out"
  echo "0.o: $source" >"$dependencies"
  . "$here/on_compile"
else
  echo program >"$out"
  . "$here/on_link"
fi
)";

class CompileBox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!probe_sandbox().works) GTEST_SKIP() << probe_sandbox().reason;
    make_directories(root() / "toolkit/bin");
    write_scratch(root() / "toolkit/bin/nvcc", kCompiler, 0755);
    // For the judge's own objects, which are empty here.
    write_scratch(root() / "toolkit/bin/bin2c", "#!/bin/sh\n", 0755);
    for (const char* program : {"nvcc", "bin2c"})
      fs::permissions(root() / "toolkit/bin" / program, fs::perms(0755));
    ProcessOptions options;
    write_scratch(root() / "honest.s", ".globl spmm_run\nspmm_run: nop\n");
    options.command = {"as", "-o", (root() / "toolkit/honest.o").string(), (root() / "honest.s").string()};
    ASSERT_TRUE(run_process(options).ok());
    make_directories(root() / "class/one");
    write_scratch(root() / "class/one/spmm.cu", "int x;\n");
    write_scratch(root() / "victim", "untouched");
    toolchain_ = find_toolchain();
    toolchain_.nvcc = root() / "toolkit/bin/nvcc";
  }

  CompileResult compile(const std::string& on_compile, const std::string& on_link = "") {
    write_text(root() / "toolkit/on_compile", on_compile + "\n");
    write_text(root() / "toolkit/on_link", on_link + "\n");
    CompileOptions options;
    options.lab = "spmm";
    options.architecture = "90";
    options.limit = limit_;
    // A cache of its own each time: nothing is found compiled.
    Compiler compiler(toolchain_, cache_.empty() ? root() / ("cache" + std::to_string(compiled_++)) : cache_);
    return compiler.compile(read_submission(root() / "class/one", "spmm", Role::kStudent), options);
  }

  void expect_refused(const CompileResult& result, const std::string& words) {
    EXPECT_EQ(result.status, "compile_error");
    EXPECT_EQ(result.reason, Reason::kBadOutput);
    EXPECT_NE(result.message.find(words), std::string::npos) << result.message;
    EXPECT_EQ(read_text(root() / "victim"), "untouched");
  }

  std::chrono::milliseconds limit_{20'000};
  const fs::path& root() const { return scratch_.path(); }

  // From here on one cache, and a copy of what submissions are compiled with, which a test may change.
  void keep_one_cache() {
    cache_ = root() / "kept";
    const fs::path from = project_root(), to = root() / "home";
    for (const char* folder : {"reference/include", "grader/judge/protocol", "grader/judge/runner",
                               "grader/judge/executor", "grader/cudart"}) {
      make_directories((to / folder).parent_path());
      fs::copy(from / folder, to / folder, fs::copy_options::recursive);
    }
    setenv("WARPGRADE_HOME", to.c_str(), 1);
  }

  void TearDown() override {
    unsetenv("WARPGRADE_HOME");
    unsetenv("NVCC_CCBIN");
  }

  // The runner's folders in the cache; each is a set of objects that students are linked with.
  std::size_t runners() const {
    return static_cast<std::size_t>(std::count_if(
        fs::directory_iterator(cache_), fs::directory_iterator(),
        [](const auto& entry) { return entry.path().filename().string().starts_with("runner-spmm-"); }));
  }

 private:
  fs::path cache_;
  TemporaryDirectory scratch_{"compile-box-test"};
  Toolchain toolchain_;
  int compiled_ = 0;
};

TEST_F(CompileBox, AnHonestCompilerIsBelieved) {
  const CompileResult result = compile("");
  ASSERT_TRUE(result.ok()) << result.message << result.log;
  EXPECT_EQ(read_text(result.executable), "program\n");
  EXPECT_NE(fs::status(result.executable).permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(CompileBox, OutputsThatAreNoPlainFilesAreRefusedAtOnce) {
  const std::string victim = (root() / "victim").string();
  expect_refused(compile("rm $build/0.o; mkfifo $build/0.o"), "0.o is not a plain file");
  expect_refused(compile("rm $build/0.d; mkfifo $build/0.d"), "0.d is not a plain file");
  expect_refused(compile("rm $build/0.o; mkdir $build/0.o"), "0.o is not a plain file");
  expect_refused(compile("rm $build/0.o; ln -s " + victim + " $build/0.o"), "0.o is a symbolic link");
  expect_refused(compile("rm $build/0.d; ln -s /etc/passwd $build/0.d"), "0.d is a symbolic link");
  expect_refused(compile("rm $build/0.d"), "0.d is not there");
  expect_refused(compile("", "rm $build/runner; ln -s " + victim + " $build/runner"),
                 "runner is a symbolic link");
  expect_refused(compile("", "rm $build/runner; mkfifo $build/runner"), "runner is not a plain file");
  expect_refused(compile("truncate -s 5M $build/0.d"), "0.d is larger than 4 MiB");
}

TEST_F(CompileBox, ObjectsThatAreNoObjectsAreRefused) {
  for (const char* instead : {"echo 'INPUT(/etc/passwd)' >$build/0.o", ": >$build/0.o", "ar rc $build/0.o"}) {
    const CompileResult result = compile(std::string("rm $build/0.o; ") + instead);
    EXPECT_EQ(result.status, "compile_error") << instead;
    EXPECT_NE(result.reason, Reason::kNone) << instead;
  }
}

TEST_F(CompileBox, LinksThatAreLeftBehindLeadTheJudgeNowhere) {
  const std::string victim = (root() / "victim").string();
  const CompileResult result =
      compile("for name in runner runner_main.cpp.o host_main.cpp.o 1.o 1.d; do ln -s " + victim +
              " $build/$name; done");
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(read_text(root() / "victim"), "untouched");
  EXPECT_EQ(read_text(result.executable), "program\n");
}

TEST_F(CompileBox, EachStepHasAnEmptyBuildFolder) {
  write_scratch(root() / "class/one/second.cu", "int y;\n");
  const CompileResult result =
      compile("[ \"$(ls $build | sort | tr '\\n' ' ')\" = '0.d 0.o ' ] || exit 7; : >$build/left",
              "[ \"$(ls $build)\" = runner ] || exit 8");
  EXPECT_TRUE(result.ok()) << result.message;
}

TEST_F(CompileBox, OnlyTheBuildFolderCanBeWritten) {
  const CompileResult result = compile("",
                                       "for place in source staged include objects runner; do\n"
                                       "  (echo x >/run/warpgrade/$place/new) && exit 9\n"
                                       "  for file in /run/warpgrade/$place/*; do [ -w \"$file\" ] && exit "
                                       "10; rm -f \"$file\" && exit 11; done\n"
                                       "done; true");
  EXPECT_TRUE(result.ok()) << result.message;
}

TEST_F(CompileBox, AProcessThatOutlivesItsStepChangesNothing) {
  const auto start = std::chrono::steady_clock::now();
  const CompileResult result = compile(
      "(setsid sh -c 'while :; do echo changed >/run/warpgrade/build/0.o; sleep 0.01; done' >/dev/null 2>&1 "
      "&)",
      "sleep 0.3; cmp -s \"$here/honest.o\" /run/warpgrade/objects/0.o || exit 12");
  // The object may have been changed before the step ended: that is refused, or it was taken as it was.
  EXPECT_TRUE(result.ok() || result.reason == Reason::kUnreadableObject) << result.message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST_F(CompileBox, NamesOnTheCommandLineAreTheJudges) {
  make_directories(root() / "class/one/deep/er");
  write_scratch(root() / "class/one/deep/er/kernels+2.cpp", "int z;\n");
  const CompileResult result = compile(
      "case $source in /run/warpgrade/staged/[01].c*) ;; *) exit 13 ;; esac\n"
      "grep -q '^#include \"/run/warpgrade/source/' \"$source\" || exit 14");
  EXPECT_TRUE(result.ok()) << result.message;
}

TEST_F(CompileBox, WhatTheCompilerSaysIsMadeText) {
  const CompileResult result = compile("printf 'spmm.cu(1): error: \\377\\033[2J\\n' >&2; exit 1");
  EXPECT_EQ(result.status, "compile_error");
  EXPECT_NO_THROW((void)result.to_json().dump());
  EXPECT_EQ(result.log.find('\x1b'), std::string::npos);
  EXPECT_NE(result.message.find("spmm.cu(1): error"), std::string::npos) << result.message;
  const CompileResult flood = compile("yes 'warning: more and more words' | head -c 50000000 >&2");
  EXPECT_LE(flood.log.size(), size_t{2} << 20);
}

TEST_F(CompileBox, AnotherContractIsCompiledAndLinkedAnew) {
  keep_one_cache();
  EXPECT_FALSE(compile("").cached);
  EXPECT_TRUE(compile("").cached);
  const fs::path includes = root() / "home/reference/include";
  for (const char* header : {"warpgrade/spmm.h", "warpgrade/csr.h"}) {
    const fs::path file = fs::exists(includes / header) ? includes / header : includes / "warpgrade/new.h";
    write_text(file, (fs::exists(file) ? read_text(file) : "") + "// changed\n");
    const std::size_t before = runners();
    EXPECT_FALSE(compile("").cached) << file;
    EXPECT_EQ(runners(), before + 1) << "linked to the runner of other contracts: " << file;
    EXPECT_TRUE(compile("").cached) << file;
  }
}

TEST_F(CompileBox, AnotherHostCompilerMakesOtherObjects) {
  keep_one_cache();
  EXPECT_FALSE(compile("").cached);
  EXPECT_TRUE(compile("").cached);
  std::size_t known = runners();
  // By its path, and by what it says of itself where the path stays.
  for (const char* name : {"g++-77", "g++-78"}) {
    make_directories(root() / "tools/bin");
    const fs::path compiler = root() / "tools/bin" / name;
    write_scratch(compiler, "#!/bin/sh\necho 'g++ (Wrapped) 77.0'\n", 0755);
    fs::permissions(compiler, fs::perms(0755));
    setenv("NVCC_CCBIN", compiler.c_str(), 1);
    EXPECT_FALSE(compile("").cached) << name;
    EXPECT_TRUE(compile("").cached) << name;
    EXPECT_EQ(runners(), ++known) << name;
  }
  Toolchain toolchain = find_toolchain();
  toolchain.nvcc = root() / "toolkit/bin/nvcc";
  const std::string before = tools_key(toolchain);
  const fs::path second =
      root() / "toolkit/bin/nvcc-2";  // a name that nobody was asked by: what it says is new
  fs::copy_file(toolchain.nvcc, second);
  toolchain.nvcc = second;
  EXPECT_EQ(tools_key(toolchain), before);
  const fs::path changed = root() / "tools/bin/g++-78";
  fs::remove(changed);
  write_scratch(changed, "#!/bin/sh\necho 'g++ (Wrapped) 78.0'\n", 0755);
  fs::permissions(changed, fs::perms(0755));
  toolchain.nvcc = root() / "toolkit/bin/nvcc-3";
  fs::copy_file(second, toolchain.nvcc);
  EXPECT_NE(tools_key(toolchain), before) << "the version is no part of the key";
}

TEST_F(CompileBox, AMachineThatCompilesNothingSaysNothingOfTheSubmission) {
  keep_one_cache();
  // No header of C++, a full disk, a compiler that is not there: none is the student's, and none stays.
  for (const char* words : {"spmm.cu:1: fatal error: vector: No such file or directory",
                            "gcc: fatal error: cannot execute cc1plus: posix_spawnp",
                            "nvcc fatal: Failed to write to file: No space left on device"}) {
    EXPECT_THROW(compile(std::string("echo '") + words + "' >&2; exit 1"), JudgeFault) << words;
    EXPECT_THROW(compile("", std::string("echo '") + words + "' >&2; exit 1"), JudgeFault) << words;
  }
  const CompileResult after = compile("");
  EXPECT_TRUE(after.ok() && !after.cached) << after.message;
}

TEST_F(CompileBox, AnErrorThatTheProbeDoesNotHaveIsTheSubmissions) {
  keep_one_cache();
  const std::string missing =
      "grep -q probe.cu $source || { echo 'spmm.cu:1: fatal error: mine.h: No such file' >&2; exit 1; }";
  EXPECT_EQ(compile(missing).status, "compile_error");
  EXPECT_TRUE(compile(missing).cached);
}

constexpr const char* kSpin = "while :; do :; done";

TEST_F(CompileBox, CpuTimeOfAllProcessesEndsACompilation) {
  limit_ = std::chrono::milliseconds(1500);
  const CompileResult result = compile(std::string("(") + kSpin + ") & (" + kSpin + ") & wait");
  if (result.seconds > 4.5e-3 * static_cast<double>(limit_.count()))
    GTEST_SKIP() << "others keep this machine busy: " << result.message;
  EXPECT_EQ(result.status, "compile_error");
  EXPECT_EQ(result.reason, Reason::kOutOfTime);
  EXPECT_TRUE(result.message.starts_with("the compiler used 1.")) << result.message;
  EXPECT_NE(result.message.find(" s of CPU time, the limit is 1.5 s (load "), std::string::npos)
      << result.message;
  EXPECT_GE(result.cpu_seconds, 1.5);
  EXPECT_LT(result.cpu_seconds, 4);
}

TEST_F(CompileBox, ACompilationThatSleepsEndsByTheClock) {
  limit_ = std::chrono::milliseconds(400);
  const CompileResult result = compile("sleep 60");
  EXPECT_EQ(result.reason, Reason::kOutOfTime);
  EXPECT_TRUE(result.message.starts_with("the compiler did not end within 2 s; it had used 0.0"))
      << result.message;
  EXPECT_NE(result.message.find(" s of CPU time, the limit of which is 0.4 s (load "), std::string::npos)
      << result.message;
  EXPECT_GE(result.seconds, 2);
  EXPECT_LT(result.seconds, 20);
}

// As seven of two cores' compilations do it to each other: the clock goes far beyond the limit, the CPU time
// does not. (test_budgets.py has the seven.)
TEST_F(CompileBox, ACompilationThatIsKeptFromTheCoresGoesOn) {
  limit_ = std::chrono::milliseconds(1000);
  const CompileResult kept = compile("sleep 2.5");
  EXPECT_TRUE(kept.ok()) << kept.message;
  EXPECT_GT(kept.seconds, 2.0);
  EXPECT_LT(kept.cpu_seconds, 1.0);
}

}  // namespace
}  // namespace warpgrade
