#include "course/batch/publish.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "base/waiting.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::minutes kLongest{30};

// The last line that says something: warnings of the reports' libraries may stand before it.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

fs::path output_of(const RunFolder& folder) {
  return folder.root() / "export";
}

// What was written holds the hash of the scores that it was made of.
fs::path stamp_of(const RunFolder& folder, Published what) {
  return output_of(folder) / (what == Published::kPages ? ".scores-of-pages" : ".scores");
}

std::string mark_of(const RunFolder& folder) {
  return sha256(read_text(folder.scores_file())) + "\n";
}

}  // namespace

bool is_published(const RunFolder& folder, Published what) {
  const fs::path stamp = stamp_of(folder, what);
  return fs::exists(stamp) && read_text(stamp) == mark_of(folder);
}

std::string publish(const RunFolder& folder, EventLog& events, Published what) {
  const bool pages = what == Published::kPages;
  const fs::path output = output_of(folder), stamp = stamp_of(folder, what);
  const std::string of = mark_of(folder);
  // Of a gradebook's overrides only the export itself knows whether they are the same as before.
  const char* gradebook = std::getenv("WARPGRADE_GRADEBOOK");
  const bool named = gradebook != nullptr && *gradebook != '\0';
  const bool has_gradebook = named || fs::exists(folder.root() / "gradebook.json");
  if (!has_gradebook && is_published(folder, what)) return output.string() + " is up to date";
  ProcessOptions options;
  const std::string warpgrade = (program_directory() / "warpgrade").string();
  options.command = {warpgrade, "export", folder.root().string(), "--unfinished", "leave-empty"};
  if (pages) options.command.insert(options.command.end(), {"--format", "feedback,leaderboard"});
  options.timeout = kLongest;
  const SlowNote note("writing feedback and exports");
  std::string why;
  bool in_part = false;
  try {
    if (named && !fs::exists(gradebook)) {  // a course's first run
      ProcessOptions collect = options;
      collect.command = {warpgrade, "collect", folder.root().string()};
      run_process(collect);
    }
    const ProcessResult result = run_process(options);
    if (result.ok()) {
      write_text(stamp, of);
      return output.string() + (pages ? " holds feedback and the leaderboard as they are now"
                                      : " holds feedback, the class report and what courseware imports");
    }
    in_part = !result.timed_out && result.signal == 0 && result.exit_code == kExitJudgeFault;
    why = fmt::format("{} ({})", last_line(result.standard_error), result.describe());
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  }
  events.infrastructure("export_failed", why);
  return fmt::format("feedback and exports are {}: {}; then: warpgrade export {}",
                     in_part ? "written in part" : "not written", why, folder.root().string());
}

}  // namespace warpgrade
