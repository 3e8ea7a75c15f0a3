#include "judge/labs/declared/built_oracle.h"

#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "judge/compile/compile_key.h"
#include "judge/compile/compile_sandbox.h"
#include "judge/declaration/contract.h"

namespace warpgrade::declared {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostWords = 3000;

// The oracle and the headers beside it.
std::string hash_of_sources(const fs::path& folder, const std::string& file) {
  std::set<fs::path> files{folder / file};
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".h") files.insert(entry.path());
  Sha256 hash;
  for (const fs::path& source : files) hash.part(source.filename().string()).part(read_text(source));
  return hash.hex();
}

}  // namespace

fs::path built_oracle(const declaration::LabDeclaration& lab, const std::string& file) {
  const Toolchain toolchain = find_toolchain();
  const fs::path serving = project_root() / "grader/judge/labs/declared";
  const std::string program = declaration::oracle_program(lab);
  const std::string key = Sha256()
                              .part("oracle-2")
                              .part(tools_key(toolchain))
                              .part(program)
                              .part(read_text(serving / "oracle_main.h"))
                              .part(hash_of_sources(lab.folder, file))
                              .hex();
  const fs::path folder = cache_directory() / "compiled";
  const fs::path built = folder / fmt::format("oracle-{}-{}", lab.name, key.substr(0, 24));
  if (fs::exists(built)) return built;
  make_directories(folder);
  const TemporaryDirectory scratch("warpgrade-oracle");
  write_text(scratch.path() / "oracle_program.cpp", program);
  const fs::path made = folder / fmt::format(".oracle-{}-{}", key.substr(0, 24), getpid());
  ProcessOptions process;
  process.command = {toolchain.nvcc.string(),
                     "-std=c++20",
                     "-O2",
                     "-cudart",
                     "none",
                     "-Xcompiler",
                     "-static-libstdc++",
                     "-I",
                     serving.string(),
                     "-I",
                     lab.folder.string(),
                     "-o",
                     made.string(),
                     (scratch.path() / "oracle_program.cpp").string(),
                     (lab.folder / file).string()};
  const HostCompiler host = host_compiler();
  process.command.insert(process.command.end(), host.flags.begin(), host.flags.end());
  process.environment = {{"PATH", kCompilersPath}};
  process.timeout = std::chrono::seconds(300);
  const ProcessResult result = run_process(process);
  if (!result.ok()) {
    const std::string words = plain_text(result.standard_error + result.standard_output);
    throw JudgeFault("{} is to define\n  {}\nand does not compile or link:\n{}", (lab.folder / file).string(),
                     declaration::oracle_declaration(lab), words.substr(0, kMostWords));
  }
  fs::rename(made, built);  // whoever made it at the same time made the same
  return built;
}

}  // namespace warpgrade::declared
