#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "judge/compile/build_file.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/compiler.h"
#include "judge/compile/inspect.h"
#include "judge/compile/link_problem.h"
#include "judge/compile/manifest.h"
#include "judge/compile/source_name.h"
#include "judge/compile/vendor_libraries.h"

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

TEST(Ptxas, LinesThatASourcePrintsItselfDoNoHarm) {
  const std::string long_name(300000, 'a');
  // Demangled, this name of 162 letters would have gigabytes.
  std::string bomb = "_Z1f1XI1AS0_E";
  for (const char* id = "123456789ABCDEFGHIJKLMNOPQRSTU"; *id != '\0'; ++id)
    bomb += std::string("S_IS") + *id + "_S" + *id + "_E";
  const auto kernels = parse_ptxas(
      "note: #pragma message: Compiling entry function '" + long_name + "\n" + "Compiling entry function '" +
      bomb + "' for 'sm_90'\n" + "Compiling entry function '@/etc/passwd' for 'sm_90'\n" +
      "Compiling entry function '_Z6kernelPf' for 'sm_90'\n" +
      "99999999999999999999999999 bytes stack frame, 1 bytes spill stores, -5 bytes spill loads\n" +
      "Used 99999999999999999999 registers, bytes smem\n");
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_LE(kernels[0].name.size(), 4000u);
  EXPECT_LE(kernels[1].name.size(), 4000u);
  EXPECT_EQ(kernels[2].name, "@/etc/passwd");
  EXPECT_EQ(kernels[3].stack_bytes, 0u);
  EXPECT_EQ(kernels[3].registers, 0);
}

TEST(Ptxas, NamesAreCutBetweenCharacters) {
  const std::string letters = "aäääääääääää";  // byte 20 is the first half of a letter
  const auto kernels = parse_ptxas("Compiling entry function 'k' for '" + letters + "'\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(valid_utf8(kernels[0].architecture), kernels[0].architecture);
  EXPECT_NO_THROW(kernels[0].to_json().dump());
}

TEST(Ptxas, HundredsOfNamesAreAllDemangled) {
  std::string log;
  for (int i = 100; i < 350; ++i) log += fmt::format("Compiling entry function '_Z4k{}i' for 'sm_90'\n", i);
  const auto kernels = parse_ptxas(log);
  ASSERT_EQ(kernels.size(), 250u);
  EXPECT_EQ(kernels[0].name, "k100(int)");
  EXPECT_EQ(kernels[249].name, "k349(int)");
}

TEST(Dependencies, HeadersThatAreALibraryThemselvesAreFound) {
  EXPECT_EQ(forbidden_header("a.o : spmm.cu \\\n source/cutlass/gemm.h \\\n /usr/include/stdio.h"), "gemm.h");
  EXPECT_EQ(forbidden_header("a.o : spmm.cu /cuda/include/cusparse.h /cuda/include/cuda_runtime.h"),
            std::nullopt)
      << "a header costs nothing, a call does";
}

// As ld of binutils says it, and nvcc around it.
TEST(VendorLibraries, ThePlaceOfACallIsTheLinkersLineInAFileOfTheStudents) {
  const std::vector<SubmittedFile> files{{"spmm.cu", "int main;\n", true}, {"lib/wrap.cuh", "", false}};
  const std::string words =
      "/usr/bin/ld: spmm.cu: in function `go(void**)':\n"
      "/usr/include/x.h:7: undefined reference to `cublasCreate_v2'\n"
      "/usr/bin/ld: lib/wrap.cuh:6: undefined reference to `cublasCreate_v2'\n"
      "spmm.cu:10: undefined reference to `dlopen'\n"
      "spmm.cu:11: more undefined references to `dlopen' follow\n";
  EXPECT_EQ(place_of_call("cublasCreate_v2", words, files), "lib/wrap.cuh:6");
  EXPECT_EQ(place_of_call("dlopen", words, files), "spmm.cu:10");
  EXPECT_EQ(place_of_call("cublasDestroy_v2", words, files), "");
}

TEST(VendorLibraries, WhatTheLinkerDoesNotMissIsFoundInTheText) {
  const std::string text =
      "// dlopen(\"x\") is not called here\n"
      "const char* words = \"dlopen\";  /* dlopen\n dlopen */\n"
      "const char* raw = R\"(dlopen\ndlopen)\";\n"
      "extern \"C\" __attribute__((weak)) void* dlopen(const char*, int);\n"
      "void* my_dlopen;\n"
      "void* go() { return dlopen ? dlopen(\"x\", 1) : 0; }\n"
      "#define cublasCreate cublasCreate_v2\n"
      "int make() { return cublasCreate(0); }\n";
  const std::vector<SubmittedFile> files{{"a.cu", text, true}};
  EXPECT_EQ(place_of_call("dlopen", "", files), "a.cu:8");
  EXPECT_EQ(place_of_call("cublasCreate_v2", "", files), "a.cu:9") << "a macro is better than nothing";
  EXPECT_EQ(place_of_call("cusparseCreate", "", files), "");
}

TEST(VendorLibraries, IncludesAndLinksAreToldWithTheirLine) {
  const std::vector<SubmittedFile> files{
      {"a.cu",
       "#include <cstdio>\n  # include <cublas_v2.h>\n// #include <cusparse.h>\n#include \"cufft_own.h\"\n",
       true},
      {"cufft_own.h", "", false}};
  const std::vector<std::string> notes = notes_on_includes(files);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("a.cu:2 includes cublas_v2.h, ")) << notes[0];
  EXPECT_EQ(place_of_include("cublas", files), "a.cu:2");
  for (const char* word : {"-lcublas", "CUDA::cublas", "cublas", "-lcublas_static"})
    EXPECT_EQ(linked_library(word), "cublas") << word;
  EXPECT_EQ(linked_library("-lm"), std::nullopt);
  const BuildFile makefile("Makefile", "LIBS = -lcublas -lm # -lcusparse\nspmm: spmm.cu\n");
  EXPECT_EQ(makefile.libraries(), std::set<std::string>{"cublas"});
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

TEST(Submissions, FlagsThatAShellOrNvccReadsOtherwiseAreRefused) {
  for (const char* good : {"-DX", "-DTILE=4", "-DT=std::uint32_t", "-DV=-1.5e+3", "-maxrregcount=64",
                           "--maxrregcount=128", "-O2", "--use_fast_math", "-std=c++20", "--extended-lambda",
                           "-rdc=true", "--relocatable-device-code=true"})
    EXPECT_TRUE(is_allowed_flag(good)) << good;
  for (const char* bad : {"-DX=1\ntouch\tx\n",
                          "-DY>x",
                          "-maxrregcount=64\n touch x",
                          "-maxrregcount=64 -Xcompiler -DP",
                          "-maxrregcount=",
                          "-maxrregcount=1000",
                          "-DX=1,Y=2",
                          "-DX=@file",
                          "@file",
                          "-D",
                          "-D1",
                          "-DX=$(id)",
                          "-DX=`id`",
                          "-DX=a b",
                          "-DX=(1)",
                          "-DX=\"s\"",
                          "-DX=\xff",
                          "-D-o",
                          "-O3 -o x",
                          "-DX=\\x",
                          "-include",
                          "-DX=#",
                          "-DX=*",
                          "-DX=~",
                          "-DX=!",
                          "-DX=%n",
                          "-DX={a,b}",
                          "-std=c++98",
                          "-rdc=false",
                          "-dlink",
                          "-maxrregcount=N",
                          ""})
    EXPECT_FALSE(is_allowed_flag(bad)) << bad;
  EXPECT_FALSE(is_allowed_flag("-D" + std::string(300, 'x')));
}

TEST(Submissions, AFlagHasItsKindInWhateverSpelling) {
  EXPECT_EQ(kind_of_flag("-maxrregcount=64"), "-maxrregcount=N");
  EXPECT_EQ(kind_of_flag("-DTILE=8"), "-DNAME=word");
  EXPECT_EQ(kind_of_flag("--expt-extended-lambda"), "--extended-lambda");
  for (const std::string& flag : allowed_flags()) {
    if (flag != "-maxrregcount=N") {
      EXPECT_EQ(kind_of_flag(flag), flag);
    }
  }
}

TEST(Flags, are_a_list) {
  // As people write them who know YAML from elsewhere: a text would be passed over, a map end the reader.
  for (const char* text : {"flags: -rdc=true\n", "flags: {-rdc: true}\n", "flags: 3\n"}) {
    const TemporaryDirectory scratch("flags");
    put(scratch.path() / "vector_add.cu", "");
    put(scratch.path() / "submission.yaml", text);
    const Submission submission = read_submission(scratch.path(), "vector_add", Role::kStudent);
    EXPECT_EQ(submission.problem.value_or(""),
              "submission.yaml: `flags` is to be a list, as in: flags: [-std=c++20]")
        << text;
  }
}

TEST(Submissions, AFileOfTheirsWantsKeys) {
  const TemporaryDirectory scratch("warpgrade-compile-test");
  put(scratch.path() / "vector_add.cu", "");
  for (const char* text : {"garbage", "- sources\n", "12\n"}) {
    put(scratch.path() / "submission.yaml", text);
    const Submission submission = read_submission(scratch.path(), "vector_add", Role::kStudent);
    EXPECT_EQ(submission.problem.value_or(""),
              "submission.yaml: expected keys with values, such as `sources: [spmm.cu]`")
        << text;
  }
}

TEST(Submissions, ARefusedFlagIsToldWithThoseThatAreTaken) {
  TemporaryDirectory scratch("test");
  put(scratch.path() / "a/spmm.cu", "");
  put(scratch.path() / "a/submission.yaml", "flags: [-march=native]\n");
  put(scratch.path() / "b/spmm.cu", "");
  put(scratch.path() / "b/submission.yaml", "flags: [-rdc=true, -lcudadevrt]\n");
  const auto problem = [&](const char* folder) {
    return read_submission(scratch.path() / folder, "spmm", Role::kStudent).problem.value_or("");
  };
  EXPECT_NE(problem("a").find("--extended-lambda"), std::string::npos) << problem("a");
  EXPECT_NE(problem("b").find("ask for -rdc=true alone"), std::string::npos) << problem("b");
}

TEST(Submissions, AFlagThatThePolicyForbidsIsRefusedInEachSpelling) {
  TemporaryDirectory scratch("test");
  put(scratch.path() / "a/spmm.cu", "");
  put(scratch.path() / "a/submission.yaml", "flags: [--expt-extended-lambda]\n");
  CompileOptions options;
  options.lab = "spmm";
  options.forbidden_flags = {"--extended-lambda"};
  const CompileResult result =
      Compiler(Toolchain{}, scratch.path() / "compiled")
          .compile(read_submission(scratch.path() / "a", "spmm", Role::kStudent), options);
  EXPECT_EQ(result.status, "compile_error");
  EXPECT_NE(result.message.find("--expt-extended-lambda, which this course does not take"), std::string::npos)
      << result.message;
}

// The lines are nvcc 13's.
TEST(BuildMessages, WhatNvccAsksForIsToldAsTheJudgeTakesIt) {
  const auto told = [](const std::string& line, const std::set<std::string>& forbidden = {}) {
    return first_error(line + "\n", "a.cu", forbidden);
  };
  EXPECT_NE(
      told("a.cu(4): error: __host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag")
          .find("submission.yaml: flags: [--extended-lambda]"),
      std::string::npos);
  const std::string nested =
      "a.cu(3): error: kernel launch from __device__ or __global__ functions requires separate compilation "
      "mode";
  EXPECT_TRUE(told(nested).ends_with(
      "; launch kernels from the host, or write into submission.yaml: flags: [-rdc=true]"))
      << told(nested);
  EXPECT_TRUE(told(nested, {"-rdc=true"}).ends_with("; launch kernels from the host")) << told(nested);
  EXPECT_EQ(told("a.cu(3): error: expected a \";\""), "a.cu(3): error: expected a \";\"");
}

// The lines are nvlink 13's.
TEST(BuildMessages, WhatNvlinkMissesIsToldByFileAndName) {
  const auto missing =
      explain_device_link("nvlink error   : Undefined reference to '_Z4plusff' in 'vector_add.cu'\n");
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->reason, Reason::kMissingSymbol);
  EXPECT_TRUE(missing->message.starts_with("vector_add.cu uses plus(float, float) on the GPU, which none"))
      << missing->message;
  const auto twice = explain_device_link(
      "nvlink error   : Multiple definition of '_Z5twicef' in 'b.cu', first defined in 'a.cu'\n"
      "nvlink fatal   : merge_elf failed\n");
  ASSERT_TRUE(twice.has_value());
  EXPECT_EQ(twice->reason, Reason::kDefinedTwice);
  EXPECT_TRUE(twice->message.starts_with("twice(float) is defined for the GPU in a.cu and b.cu; keep one"))
      << twice->message;
  EXPECT_FALSE(explain_device_link("nvlink fatal   : merge_elf failed\n").has_value());
}

TEST(Submissions, NamesOfSourcesAreRefusedWithCharacterAndRemedy) {
  for (const char* good : {"spmm.cu", "a/b-c/d_e+f.cuh", "Spmm2.CU.h", "notes.h"})
    EXPECT_FALSE(source_name_problem(good).has_value()) << good;
  const auto said = [](const std::string& name) {
    const auto problem = source_name_problem(name);
    return problem ? problem->what + "; " + problem->next_step : "";
  };
  EXPECT_EQ(said("spmm (1).cu"), "a space in the name of a source; rename it to spmm_1.cu");
  EXPECT_EQ(said("Lösung/spmm.cu"),
            "the character ö in the name of a folder of a source; rename the folder to L_sung");
  EXPECT_EQ(said("$(sh p.h).cu"), "the character $ in the name of a source; rename it to _sh_p.h.cu");
  EXPECT_EQ(said("a\nb.h"), "a line break in the name of a header; rename it to a_b.h");
  EXPECT_NE(said("\x1b[2J.cu").find("control character 0x1b"), std::string::npos);
  for (const std::string& bad :
       {std::string("-o.cu"), std::string(".x/a.cu"), std::string("a\xff.cu"), std::string("a\"b.cu"),
        std::string("a`b.cu"), std::string("a;b.cu"), std::string("a'b.cu"), std::string("a\\b.cu"),
        std::string("a,b.cu"), std::string("a@b.cu"), std::string("a:b.cu"), std::string("a#b.cu"),
        std::string(150, 'a') + ".cu", std::string("\xe2\x80\xae.cu")}) {
    EXPECT_NE(said(bad), "") << bad;
    const auto problem = source_name_problem(bad);
    // What is proposed is allowed.
    const size_t to = problem->next_step.rfind(" to ");
    const std::string proposed = to == std::string::npos ? "spmm.cu" : problem->next_step.substr(to + 4);
    EXPECT_FALSE(source_name_problem(proposed).has_value()) << bad << ": " << proposed;
  }
  std::string deep = "spmm.cu";
  for (int i = 0; i < 200; ++i) deep = "d/" + deep;
  EXPECT_NE(said(deep), "");
}

TEST(Submissions, WhatIsNoPlainFileCostsThatSubmissionOnly) {
  const TemporaryDirectory scratch("submission-test");
  for (const char* name :
       {"fifo", "yaml_fifo", "yaml_zero", "yaml_deep", "yaml_large", "lab_link", "fine", "spaces"})
    put(scratch.path() / name / "spmm.cu", "");
  fs::remove(scratch.path() / "fifo/spmm.cu");
  ASSERT_EQ(mkfifo((scratch.path() / "fifo/spmm.cu").c_str(), 0666), 0);
  ASSERT_EQ(mkfifo((scratch.path() / "yaml_fifo/submission.yaml").c_str(), 0666), 0);
  fs::create_symlink("/dev/zero", scratch.path() / "yaml_zero/submission.yaml");
  put(scratch.path() / "yaml_deep/submission.yaml", "flags: " + std::string(30000, '['));
  put(scratch.path() / "yaml_large/submission.yaml", "title: " + std::string(70000, 'x'));
  put(scratch.path() / "spaces/spmm.cu", "void" + std::string(1 << 20, ' ') + "apsp(");
  fs::create_directory_symlink("/etc", scratch.path() / "lab_link/spmm");
  fs::create_directory_symlink("fine", scratch.path() / "class_link");
  std::map<std::string, std::string> problems;
  for (const Submission& each : find_submissions(scratch.path(), "spmm"))
    problems[each.id] = each.problem.value_or("");
  const std::map<std::string, std::string> wanted{{"fifo", "not a plain file"},
                                                  {"yaml_fifo", "not a plain file"},
                                                  {"yaml_zero", "symbolic link"},
                                                  {"yaml_deep", "cannot be read"},
                                                  {"yaml_large", "larger than 64"},
                                                  {"class_link", "symbolic link"},
                                                  {"fine", ""},
                                                  {"spaces", ""},
                                                  {"lab_link", ""}};
  for (const auto& [id, words] : wanted) {
    ASSERT_TRUE(problems.contains(id)) << id;
    const bool as_wanted =
        words.empty() ? problems[id].empty() : problems[id].find(words) != std::string::npos;
    EXPECT_TRUE(as_wanted) << id << ": " << problems[id];
  }
  // The white space did not end the program, and was looked at.
  EXPECT_EQ(read_submission(scratch.path() / "spaces", "apsp", Role::kStudent).interface, "apsp(n, graph)");
}

TEST(Submissions, TitlesBecomeOnePrintableLine) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "a/spmm.cu", "");
  put(scratch.path() / "a/submission.yaml", "title: \"one\\e[2J\\ntwo " + std::string(500, 'x') + "\"\n");
  const std::string title = read_submission(scratch.path() / "a", "spmm", Role::kStudent).title;
  EXPECT_EQ(title.find_first_of("\x1b\n"), std::string::npos);
  EXPECT_LE(title.size(), 200u);
  EXPECT_TRUE(title.ends_with("...")) << title;
  EXPECT_EQ(valid_utf8(title), title);
}

TEST(Submissions, FilesThatChangeAfterTheyWereHashedAreNotRead) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "a/spmm.cu", "int x;");
  const Submission submission = read_submission(scratch.path() / "a", "spmm", Role::kStudent);
  EXPECT_TRUE(std::holds_alternative<std::vector<SubmittedFile>>(read_files(submission)));
  put(scratch.path() / "a/spmm.cu", "int y;");
  EXPECT_TRUE(std::holds_alternative<std::string>(read_files(submission)));
  fs::remove(scratch.path() / "a/spmm.cu");
  fs::create_symlink("/etc/passwd", scratch.path() / "a/spmm.cu");
  EXPECT_TRUE(std::holds_alternative<std::string>(read_files(submission)));
}

TEST(Submissions, FoldersWithoutEndAreRefused) {
  const TemporaryDirectory scratch("submission-test");
  put(scratch.path() / "many/spmm.cu", "");
  for (int i = 0; i < 20001; ++i)
    close(open((scratch.path() / "many" / std::to_string(i)).c_str(), O_CREAT | O_CLOEXEC, 0644));
  const auto many = read_submission(scratch.path() / "many", "spmm", Role::kStudent);
  ASSERT_TRUE(many.problem.has_value());
  EXPECT_NE(many.problem->find("more than 20000"), std::string::npos);
  fs::path deep = scratch.path() / "deep";
  for (int i = 0; i < 40; ++i) deep /= "d";
  put(deep / "spmm.cu", "");
  const auto below = read_submission(scratch.path() / "deep", "spmm", Role::kStudent);
  ASSERT_TRUE(below.problem.has_value());
  EXPECT_NE(below.problem->find("levels deep"), std::string::npos);
}

}  // namespace
}  // namespace warpgrade
