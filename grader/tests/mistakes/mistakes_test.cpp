// Each mistake of the corpus is one report of its kind at its line, and none once it is mended.
//
// A file marks its mistake with `// MISTAKE: kind`. A race has two places: one of them is the marked line.
// `// CURE: words` names words that the report's advice must have: the cure of this mistake, not another's.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Mark {
  std::string kind;
  int line = 0;
  std::string cure;  // empty: not said
};

// What stands behind a sign in a line; empty where the sign does not stand there.
std::string behind(const std::string& line, const std::string& sign) {
  const size_t at = line.find(sign);
  return at == std::string::npos ? "" : line.substr(at + sign.size());
}

Mark mark_of(const fs::path& file) {
  Mark mark;
  std::ifstream text(file);
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (const std::string cure = behind(line, "// CURE: "); !cure.empty()) mark.cure = cure;
    if (const std::string kind = behind(line, "// MISTAKE: "); !kind.empty() && mark.line == 0)
      mark.kind = kind, mark.line = number;
  }
  return mark;
}

std::string run(const std::string& program) {
  const std::string command =
      "env LD_LIBRARY_PATH=" WARPGRADE_EMULATOR
      " WARPEMU_THREADS=2 WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck,leakcheck "
      "WARPEMU_LAUNCH_TIMEOUT_S=1 "
      "WARPEMU_REPORT=quiet " WARPGRADE_MISTAKES_PROGRAM " " +
      program + " 2>&1";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << output;
  return output;
}

std::vector<json> findings_of(const std::string& output) {
  std::vector<json> findings;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] == '{') findings.push_back(json::parse(line));
  }
  return findings;
}

bool is_at(const json& finding, const std::string& file, int line) {
  const auto matches = [&](const json& place) {
    return place.value("file", "") == file && place.value("line", 0) == line;
  };
  return matches(finding) || (finding.contains("other") && matches(finding["other"]));
}

class MistakeTest : public testing::Test {
 public:
  explicit MistakeTest(fs::path file) : file_(std::move(file)) {}

  void TestBody() override {
    const Mark mark = mark_of(file_);
    ASSERT_FALSE(mark.kind.empty()) << file_ << " marks no line with // MISTAKE: kind";
    const std::string output = run(file_.stem().string());
    const std::vector<json> findings = findings_of(output);
    ASSERT_EQ(findings.size(), 1u) << output;
    EXPECT_EQ(findings[0]["kind"], mark.kind) << output;
    EXPECT_TRUE(is_at(findings[0], file_.filename().string(), mark.line)) << "want line " << mark.line << "\n"
                                                                          << output;
    EXPECT_FALSE(findings[0].value("advice", "").empty());
    EXPECT_NE(findings[0].value("advice", "").find(mark.cure), std::string::npos)
        << "want the cure: " << mark.cure << "\n"
        << output;
  }

 private:
  fs::path file_;
};

class MendedTest : public testing::Test {
 public:
  explicit MendedTest(std::string name) : name_(std::move(name)) {}
  void TestBody() override {
    const std::string output = run(name_ + ":fixed");
    EXPECT_TRUE(findings_of(output).empty()) << output;
  }

 private:
  std::string name_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(WARPGRADE_MISTAKES)) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.stem().string();
    testing::RegisterTest("Mistake", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [file]() -> testing::Test* { return new MistakeTest(file); });
    testing::RegisterTest("Mended", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new MendedTest(name); });
  }
  return RUN_ALL_TESTS();
}
