#include "support.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/text.h"

namespace warpgrade::fuzz {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFileBegins = "==== ";
constexpr std::size_t kMostFiles = 64, kMostName = 255;

// A folder of this process' own; scripts/fuzz removes it with the folder that it names.
fs::path make_scratch() {
  const char* given = std::getenv("WARPGRADE_FUZZ_SCRATCH");
  fs::path folder = given != nullptr ? fs::path(given) : fs::temp_directory_path() / "warpgrade-fuzz";
  folder /= std::to_string(getpid());
  fs::create_directories(folder);
  return folder;
}

void write(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool may_be_made(const std::string& name) {
  if (name.empty() || name.size() > kMostName || name.front() == '/' || name.find('\0') != std::string::npos)
    return false;
  for (const fs::path& part : fs::path(name))
    if (part == ".." || part == ".git" || part.empty()) return false;
  return true;
}

}  // namespace

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("fuzz: %s\n", what.c_str());  // stderr may be closed to targets
  std::fflush(stdout);
  std::abort();
}

void expect_readable(const std::string& message) {
  expect(!message.empty(), "an error without words");
}

const fs::path& empty_folder() {
  static const fs::path scratch = make_scratch();
  static const fs::path folder = scratch / "in";
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

fs::path only_file(std::string_view bytes, const std::string& name) {
  static const fs::path folder = make_scratch();
  const fs::path file = folder / name;
  write(file, bytes);
  return file;
}

const fs::path& folder_of(std::string_view input) {
  const fs::path& folder = empty_folder();
  std::size_t files = 0;
  while (input.starts_with(kFileBegins) && ++files <= kMostFiles) {
    const std::size_t line = std::min(input.find('\n'), input.size());
    const std::string name(input.substr(kFileBegins.size(), line - kFileBegins.size()));
    input.remove_prefix(std::min(line + 1, input.size()));
    std::size_t end = input.starts_with(kFileBegins) ? 0 : input.find("\n==== ");
    const std::string_view bytes = input.substr(0, end == 0 ? 0 : std::min(end, input.size()));
    if (may_be_made(name)) {
      std::error_code error;  // a file where a folder is wanted
      fs::create_directories((folder / name).parent_path(), error);
      if (!error) write(folder / name, bytes);
    }
    input.remove_prefix(std::min(end == 0                        ? 0
                                 : end == std::string_view::npos ? input.size()
                                                                 : end + 1,
                                 input.size()));
  }
  return folder;
}

}  // namespace warpgrade::fuzz
