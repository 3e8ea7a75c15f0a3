// Which sources a student's own build compiles, from the text of a CMakeLists.txt or Makefile, which is
// never run.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade {

bool is_build_file(const std::filesystem::path& file);
inline constexpr std::size_t kMostBuildFileBytes = 256 << 10;

class BuildFile {
 public:
  // `file`: its path in the hand-in.
  BuildFile(std::filesystem::path file, std::string_view text);

  // Of the given sources, those that it names, as a source or as an object ("spmm.o"). What stands behind a
  // variable ("$(SRC)/spmm.cu") fits any folder; of several the ones nearest to the top.
  std::vector<std::filesystem::path> named(const std::vector<std::filesystem::path>& sources) const;

  // The vendors' libraries that it links: "cublas".
  const std::set<std::string>& libraries() const { return libraries_; }

  const std::filesystem::path& path() const { return path_; }

 private:
  bool fits(const std::string& word, const std::filesystem::path& source) const;
  std::filesystem::path path_;
  std::set<std::string> libraries_;
  std::vector<std::string> words_;  // with a source's or an object's extension
};

}  // namespace warpgrade
