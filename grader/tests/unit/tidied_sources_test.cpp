// Files as students have them. The forms are those of real programs: names of copies as Windows, macOS, Drive
// and browsers write them; notebooks of nbformat 4 and 3 with the magics of IPython's osm.py and of
// nvcc4jupyter's docs/source/magics.rst; old versions as in public hand-ins to the older SpMM interface.
#include "judge/compile/tidied_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "judge/compile/build_file.h"
#include "judge/compile/hand_in_name.h"
#include "judge/compile/notebook.h"
#include "judge/compile/source_scan.h"
#include "judge/compile/source_text.h"
#include "judge/compile/submission.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kRun = "cudaError_t scan_run(int n) { return cudaSuccess; }\n";

class TidiedSourcesTest : public ::testing::Test {
 protected:
  void put(const fs::path& name, const std::string& text) const {
    make_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, text);
  }
  TidiedSources read(const std::string& lab = "scan") const {
    return tidied_sources(UntrustedFolder(scratch_.path()), lab);
  }
  // "scan.cu", or "(tile.cu)" for one that is there for others only.
  static std::vector<std::string> names(const TidiedSources& tidied) {
    std::vector<std::string> result;
    for (const SubmittedFile& file : tidied.files)
      result.push_back(file.is_compiled || !file.name.string().ends_with(".cu")
                           ? file.name.string()
                           : "(" + file.name.string() + ")");
    return result;
  }
  static std::string notes(const TidiedSources& tidied) {
    std::string text;
    for (const std::string& note : tidied.notes) text += note + "\n";
    return text;
  }
  static json notebook(const std::vector<std::string>& cells) {
    json list = json::array();
    for (const std::string& cell : cells) list.push_back({{"cell_type", "code"}, {"source", {cell}}});
    return {{"cells", list}, {"nbformat", 4}};
  }
  using Names = std::vector<std::string>;
  TemporaryDirectory scratch_{"tidied-test"};
};

TEST(HandInNames, CopiesOfFileManagersAndBrowsersHaveTheirPlainName) {
  for (const char* given : {"vector_add (1).cu", "vector_add(2).cu", "Copy of vector_add.cu",
                            "vector_add - Copy.cu", "vector_add - Copy (2).cu", "vector_add copy.cu",
                            "vector_add copy 2.cu", "vector_add.cu.txt", "vector_add.CU", "VECTOR (1).cu",
                            "vector_add - Kopie.cu", "Kopie von vector_add.cu", "vector_add 副本.cu"}) {
    const std::string plain = hand_in_name(given).plain.string();
    EXPECT_EQ(plain, std::string(given).starts_with("VECTOR") ? "VECTOR.cu" : "vector_add.cu") << given;
  }
  for (const char* own : {"tile-16.cuh", "spmm_v2.cu", "copy.cu", "a/copy_kernel.cu", "x.c"})
    EXPECT_EQ(hand_in_name(own).plain, own);
  EXPECT_EQ(hand_in_name("Übung 3/spmm v2.cu").name, "_bung_3/spmm_v2.cu");
  EXPECT_TRUE(hand_in_name("重边处理.cu").name.string().starts_with("source-"));
  for (const char* hostile : {"$(id).cu", "a;b.cu", "a\"b.cu", "a\nb.cu", "a\xff.cu", "a`b`.cu"})
    EXPECT_EQ(hand_in_name(hostile).name, hostile);
}

TEST(HandInNames, NoFileTakesAnothersName) {
  const auto names = names_of_hand_in({"x (1).cu", "x (2).cu", "x_1.cu", "y (1).cu", "y.cu", "z (1).cu"});
  std::set<fs::path> all;
  for (const auto& [given, name] : names) EXPECT_TRUE(all.insert(name).second) << given << " is " << name;
  EXPECT_EQ(names.at("x_1.cu"), "x_1.cu");
  EXPECT_EQ(names.at("x (1).cu"), "x_1-2.cu");
  EXPECT_EQ(names.at("y.cu"), "y.cu");
  EXPECT_EQ(names.at("y (1).cu"), "y_1.cu");
  EXPECT_EQ(names.at("z (1).cu"), "z.cu");
}

TEST(SourceTexts, Utf16IsReadWithAndWithoutMark) {
  const std::string text = "int x;  // ü\n";
  const std::string latin = "int x;  // \xfc\n";
  std::string little, big;
  for (const char c : latin) {
    little += std::string{c, '\0'};
    big += std::string{'\0', c};
  }
  EXPECT_EQ(as_utf8(little).text, text);
  EXPECT_EQ(as_utf8(big).text, text);
  EXPECT_EQ(as_utf8("\xFF\xFE" + little).text, text);
  EXPECT_EQ(as_utf8("\xFE\xFF" + big).text, text);
  EXPECT_EQ(as_utf8("\xEF\xBB\xBF" + text).text, text);
  EXPECT_EQ(as_utf8(latin).text, latin);  // a compiler takes it
  EXPECT_FALSE(as_utf8("").problem);
  EXPECT_TRUE(as_utf8(little + "x").problem);                        // half a character
  EXPECT_TRUE(as_utf8(std::string("\xFF\xFE\x00\xD8", 4)).problem);  // half a pair
}

TEST(Notebooks, CellsThatWriteOrCompileAreSources) {
  const NotebookSources read = read_notebook(
      json{{"cells",
            {{{"cell_type", "code"}, {"source", {"!pip install nvcc4jupyter\n"}}},
             {{"cell_type", "markdown"}, {"source", "%%cu\nnot this"}},
             {{"cell_type", "code"}, {"source", {"%%cuda --name /content/src/scan.cu\n", "int a;\n"}}},
             {{"cell_type", "code"}, {"source", "%%writefile tile.cuh\nint b;"}},
             {{"cell_type", "code"}, {"source", "%%writefile -a tile.cuh\nint c;"}},
             {{"cell_type", "code"}, {"source", "%%cuda_group_save -n \"k.cu\" -g \"mine\"\nint d;"}},
             {{"cell_type", "code"}, {"source", "\n%%cu\nint main() {}"}},
             {{"cell_type", "code"}, {"source", "%%writefile notes.txt\nno source"}}}}}
          .dump(),
      "lab");
  ASSERT_FALSE(read.problem);
  std::map<std::string, std::string> texts;
  for (const NotebookSource& source : read.sources) texts[source.name.string()] = source.text;
  EXPECT_EQ(texts, (std::map<std::string, std::string>{{"scan.cu", "int a;\n"},
                                                       {"tile.cuh", "int b;\nint c;\n"},
                                                       {"mine/k.cu", "int d;\n"},
                                                       {"lab_cell6.cu", "int main() {}\n"}}));
  EXPECT_TRUE(read.notes.empty());
  const NotebookSources old = read_notebook(
      R"({"worksheets": [{"cells": [{"cell_type": "code", "input": ["%%cu -n a.cu\n", "int x;\n"]}]}]})",
      "lab");
  ASSERT_EQ(old.sources.size(), 1u);
  EXPECT_EQ(old.sources[0].text, "int x;\n");
}

TEST(Notebooks, HostileOnesEndWithAReasonAndWriteNowhere) {
  for (const char* name : {"../../x.cu", "/etc/x.cu", "~/x.cu", "a/../../x.cu", "/content/../x.cu"}) {
    const NotebookSources read = read_notebook(
        json{{"cells", {{{"cell_type", "code"}, {"source", std::string("%%writefile ") + name + "\n1"}}}}}
            .dump(),
        "lab");
    ASSERT_EQ(read.sources.size(), 1u) << name;
    EXPECT_EQ(read.sources[0].name, "x.cu") << name;
    EXPECT_EQ(read.notes.size(), 1u) << name;
  }
  EXPECT_NE(read_notebook(std::string(1'000'000, '['), "lab").problem.value_or("").find("nested"),
            std::string::npos);
  EXPECT_NE(read_notebook("{\"cells\": " + std::string(1'000'000, '['), "lab").problem, std::nullopt);
  EXPECT_NE(read_notebook("{\"cells\": [", "lab").problem, std::nullopt);
  EXPECT_NE(read_notebook("", "lab").problem, std::nullopt);
  for (const char* odd : {"[]", "3", R"({"cells": 3})", R"({"cells": [3, [], {"source": {"a": 1}}]})",
                          R"({"cells": [{"cell_type": "code", "source": [1, null, ["%%cu"]]}]})"})
    EXPECT_TRUE(read_notebook(odd, "lab").sources.empty()) << odd;
}

TEST(SourceScans, FunctionsAreSeenWhereALinkerSeesThem) {
  const SourceScan scan = scan_source(
      "// void a() {}\n/* void b() {} */ const char* s = \"void c() {\"; auto r = R\"x(void d() {)x\";\n"
      "#if 0\nvoid e() {}\n#else\nvoid f() {}\n#endif\n"
      "#ifdef X\nvoid g() {\n#else\nvoid g(int) {\n#endif\n}\n"
      "static void h() {}\nnamespace { void i() {} }\nnamespace n { void j() {} }\nextern \"C\" { void k() "
      "{} }\n"
      "template <typename T> void l(T) {}\n__global__ void __launch_bounds__(256) m(int* p) { if (p) { } }\n"
      "void C::run(float* x) { }\nC::C(int x) : y(x), z{1} { }\nstruct S { void o() {} } t;\n"
      "int declared(int);\nint main(int, char**) { }\nint array[] = {1, 2};\n");
  for (const char* seen : {"f", "g", "j", "k", "l", "m", "C::run", "C::C", "main"})
    EXPECT_TRUE(scan.defines(seen)) << seen;
  for (const char* unseen : {"a", "b", "c", "d", "e", "h", "i", "o", "declared", "if"})
    EXPECT_FALSE(scan.defines(unseen)) << unseen;
  EXPECT_TRUE(scan.offers.contains("array"));
}

TEST(SourceScans, AnyBytesAreTakenInOnePass) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& text :
       {std::string(4 << 20, '{'), std::string(4 << 20, '}'), std::string(4 << 20, '('),
        std::string(1 << 20, '\\'), std::string("R\"("), std::string("#if"), std::string("#include \""),
        std::string("/*"), std::string("\"\\"), std::string(1 << 20, '#'), std::string("operator()(")})
    scan_source(text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(BuildFiles, NameSourcesAndObjectsAndArePlainText) {
  const std::vector<fs::path> all{"backup/a.cu", "src/a.cu", "src/a.old.cu", "src/b.cpp"};
  using Paths = std::vector<fs::path>;
  EXPECT_EQ(BuildFile("CMakeLists.txt", "add_library(x # src/a.old.cu\n src/a.cu)").named(all),
            Paths{"src/a.cu"});
  EXPECT_EQ(BuildFile("src/Makefile", "x: a.cu b.o\n\tnvcc -o $@ a.cu\n").named(all),
            (Paths{"src/a.cu", "src/b.cpp"}));
  EXPECT_EQ(BuildFile("Makefile", "x: $(SRC)/a.cu").named({"src/a.cu", "old/deep/a.cu"}), Paths{"src/a.cu"});
  EXPECT_EQ(BuildFile("CMakeLists.txt", "file(GLOB S src/*.cu)").named(all),
            (Paths{"src/a.cu", "src/a.old.cu"}));
  EXPECT_TRUE(BuildFile("Makefile", std::string(200, '*') + ".cu ../../etc/passwd.cu").named(all).empty());
}

TEST_F(TidiedSourcesTest, ADownloadedCopyIsTheSourceAndItsHeadersAreFound) {
  put("scan (1).cu", "#include \"my tile (1).cuh\"\n#include \"tile.cuh\"\n" + kRun);
  put("my tile (1).cuh", "");
  put("tile (2).cuh", "");
  const TidiedSources tidied = read();
  EXPECT_EQ(tidied.problem, std::nullopt);
  EXPECT_EQ(names(tidied), (Names{"my_tile.cuh", "scan.cu", "tile.cuh"}));
  EXPECT_EQ(tidied.files[1].text, "#include \"my_tile.cuh\"\n#include \"tile.cuh\"\n" + kRun);
  EXPECT_NE(notes(tidied).find("scan (1).cu is read as scan.cu."), std::string::npos);
}

TEST_F(TidiedSourcesTest, ACopyWithTheSameContentIsLeftOutAndAnotherOneIsAsked) {
  put("scan.cu", kRun);
  put("scan (1).cu", kRun + "\n");
  EXPECT_EQ(names(read()), Names{"scan.cu"});
  EXPECT_NE(notes(read()).find("same content"), std::string::npos);
  put("scan (1).cu", "// new\n" + kRun);
  const std::string problem = read().problem.value_or("");
  for (const char* word : {"scan (1).cu", "scan.cu", "both define scan_run", "submission.yaml", "sources: ["})
    EXPECT_NE(problem.find(word), std::string::npos) << problem;
  put("submission.yaml", "sources: [scan.cu]\n");
  EXPECT_EQ(read().problem, std::nullopt);
  EXPECT_EQ(names(read()), Names{"scan.cu"});
  put("submission.yaml", "sources: [scn.cu]\n");
  EXPECT_NE(read().problem.value_or("").find("scn.cu, which is not there"), std::string::npos);
}

TEST_F(TidiedSourcesTest, TheSourceThatTheBuildFileNamesCounts) {
  put("scan.cu", kRun);
  put("backup/scan.cu", "// old\n" + kRun);
  put("scan.old.cu", "// older\n" + kRun);
  put("Makefile", "scan: scan.o\n\tnvcc -o scan scan.o\n");
  const TidiedSources tidied = read();
  EXPECT_EQ(tidied.problem, std::nullopt);
  EXPECT_EQ(names(tidied), Names{"scan.cu"});
  EXPECT_NE(notes(tidied).find("Makefile names scan.cu"), std::string::npos) << notes(tidied);
}

TEST_F(TidiedSourcesTest, AMainIsToldAndABenchLeftOut) {
  put("scan.cu", "int helper(int);\n" + kRun + "int use() { return helper(1); }\nint main() {}\n");
  put("bench.cu", "#include <gtest/gtest.h>\n#include \"scan.cu\"\nint main(int, char**) {}\n");
  put("helper.cu", "int helper(int x) { return x; }\nint main() {}\n");
  const TidiedSources tidied = read();
  EXPECT_EQ(names(tidied), (Names{"helper.cu", "scan.cu"}));
  EXPECT_NE(notes(tidied).find("scan.cu has a main function"), std::string::npos);
  EXPECT_NE(notes(tidied).find("bench.cu: left out (it has a main function"), std::string::npos)
      << notes(tidied);
}

TEST_F(TidiedSourcesTest, ASourceThatAnotherOneIncludesIsNotCompiledTwice) {
  put("scan.cu", "#include \"kernels.cu\"\n" + kRun);
  put("kernels.cu", "__global__ void k() {}\n");
  EXPECT_EQ(names(read()), (Names{"(kernels.cu)", "scan.cu"}));
}

TEST_F(TidiedSourcesTest, ANotebooksCellsAreThePrograms) {
  put("lab.ipynb", notebook({"%%cu\nint main() { return 0; }\n", "%%cuda -n scan.cu\n" + kRun}).dump());
  const TidiedSources tidied = read();
  EXPECT_EQ(names(tidied), Names{"scan.cu"});
  EXPECT_EQ(tidied.problem, std::nullopt);
  put("lab.ipynb", notebook({"%%cu\n" + kRun, "%%cu\n// better\n" + kRun}).dump());
  EXPECT_NE(read().problem.value_or("").find("lab_cell1.cu and lab_cell2.cu both define"), std::string::npos);
}

TEST_F(TidiedSourcesTest, OtherPeoplesFoldersAreLeftOutByName) {
  put("scan.cu", kRun);
  for (const char* folder :
       {"third_party/googletest/src", "build", "cmake-build-debug", "node_modules/x", ".git"})
    for (int i = 0; i < 60; ++i) put(fs::path(folder) / ("gtest" + std::to_string(i) + ".cc"), "int x;");
  const TidiedSources tidied = read();
  EXPECT_EQ(names(tidied), Names{"scan.cu"});
  EXPECT_EQ(tidied.problem, std::nullopt);
  EXPECT_NE(notes(tidied).find("third_party/"), std::string::npos);
}

TEST_F(TidiedSourcesTest, WithoutASourceItIsSaidWhatWasThere) {
  EXPECT_EQ(read().problem.value_or("").rfind("the folder is empty", 0), 0u);
  for (int i = 10; i < 23; ++i) put("page" + std::to_string(i) + ".pdf", "");
  const std::string problem = read().problem.value_or("");
  EXPECT_NE(problem.find("page10.pdf, page11.pdf"), std::string::npos) << problem;
  EXPECT_EQ(problem.find("page20.pdf"), std::string::npos);
  EXPECT_NE(problem.find("and 3 more; hand in scan.cu"), std::string::npos) << problem;
}

TEST_F(TidiedSourcesTest, TenThousandCandidatesAreRefusedAtOnce) {
  for (int i = 0; i < 10'000; ++i)
    write_scratch(scratch_.path() / ("scan (" + std::to_string(i) + ").cu"), "");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(read().problem.value_or("").find("more than 200 source files"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(TidiedSourcesTest, EqualProgramsHaveOneHashHoweverTheyArePacked) {
  put("a/scan.cu", kRun);
  put("b/scan.cu.txt", kRun);
  put("c/scan (1).cu", kRun);
  put("c/third_party/x.cu", "int x;");
  std::set<std::string> hashes;
  for (const char* name : {"a", "b", "c"}) {
    const Submission submission = read_submission(scratch_.path() / name, "scan", Role::kStudent);
    hashes.insert(submission.hash);
    EXPECT_TRUE(std::holds_alternative<std::vector<SubmittedFile>>(read_files(submission)));
  }
  EXPECT_EQ(hashes.size(), 1u);
  const Submission before = read_submission(scratch_.path() / "b", "scan", Role::kStudent);
  put("b/scan.cu.txt", "// changed\n" + kRun);
  EXPECT_TRUE(std::holds_alternative<std::string>(read_files(before)));
}

// What a student says of a version is none of it; the hash is that of a hand-in before there were notes.
TEST_F(TidiedSourcesTest, ANoteIsNoneOfASubmissionsIdentity) {
  put("scan/scan.cu", kRun);
  const auto read_with = [&](const std::string& manifest) {
    put("scan/submission.yaml", manifest);
    return read_submission(scratch_.path() / "scan", "scan", Role::kStudent);
  };
  const Submission before = read_submission(scratch_.path() / "scan", "scan", Role::kStudent);
  EXPECT_EQ(before.hash, "cfac2998d08ab70e75e1c11b1fc598e18358359203f6ce8abccd1af7da1f3580");
  EXPECT_TRUE(before.own_notes.empty());
  const Submission noted =
      read_with("title: Ada\nnote: [\"shared memory: 1.5x\", \"\\u202Eturned\", {a: 1}, '']\n");
  EXPECT_EQ(noted.own_notes.front(), "shared memory: 1.5x");
  EXPECT_EQ(noted.own_notes.size(), 2u);
  EXPECT_EQ(noted.own_notes.back().find("\u202E"), std::string::npos) << "no mark of direction";
  EXPECT_EQ(noted.hash, before.hash);
  EXPECT_EQ(read_with("note: another\n").hash, before.hash);
  EXPECT_NE(read_with("flags: [-O2]\n").hash, before.hash);
  EXPECT_EQ(read_with("note: " + std::string(2000, 'x')).own_notes.front().size(), kLongestNote);
}

TEST_F(TidiedSourcesTest, AProjectsFolderIsOneSubmissionAndAClassIsMany) {
  put("project/src/scan.cu", kRun);
  put("project/include/tile.cuh", "");
  put("project/third_party/gtest/g.cc", "");
  put("class/ada/scan.cu", kRun);
  put("class/bob/src/scan.cu", kRun);
  put("built/mine/scan.cu", kRun);
  put("built/yours/tile.cuh", "");
  put("built/Makefile", "scan: mine/scan.cu\n");
  put("both/src/scan.cu", kRun);
  put("both/alice/scan.cu", kRun);
  const auto count = [&](const char* name) {
    return find_submissions(scratch_.path() / name, "scan").size();
  };
  EXPECT_EQ(count("project"), 1u);
  EXPECT_EQ(count("class"), 2u);
  EXPECT_EQ(count("built"), 1u);
  try {
    count("both");
    ADD_FAILURE() << "was read in one of two ways";
  } catch (const UsageError& error) {
    for (const char* word : {"src/", "alice/", "submission.yaml"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
  put("both/submission.yaml", "");
  EXPECT_EQ(count("both"), 1u);
}

// What was right before stays what it is.
TEST(TidiedCorpus, SolutionsOfTheStaffAndAcceptedSubmissionsAreReadAsTheyAre) {
  std::vector<std::pair<fs::path, std::string>> folders;
  for (const auto& lab : fs::directory_iterator(project_root() / "reference"))
    for (const char* solution : {"naive", "optimized", "optimized_3xtf32"})
      if (fs::is_directory(lab.path() / solution))
        folders.emplace_back(lab.path() / solution, lab.path().filename().string());
  for (const auto& each : fs::directory_iterator(project_root() / "grader/tests/submissions/accepted")) {
    std::string lab = "spmm";
    for (const char* other : {"apsp", "gcn", "histogram", "sampling"})
      if (each.path().filename().string().starts_with(std::string(other) + "_")) lab = other;
    folders.emplace_back(each.path(), lab);
  }
  ASSERT_GT(folders.size(), 80u);
  for (const auto& [folder, lab] : folders) {
    const TidiedSources tidied = tidied_sources(UntrustedFolder(folder), lab);
    EXPECT_EQ(tidied.problem, std::nullopt) << folder;
    for (const SubmittedFile& file : tidied.files)
      EXPECT_TRUE(file.is_compiled || !file.name.string().ends_with(".cu")) << folder << file.name;
    for (const std::string& note : tidied.notes)
      EXPECT_NE(note.find("the course's own test program"), std::string::npos) << folder << note;
  }
}

}  // namespace
}  // namespace warpgrade
