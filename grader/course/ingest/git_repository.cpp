#include "course/ingest/git_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kReading{20};
constexpr std::size_t kLongestAddress = 2000;  // std::regex recurses once for each character

// Only our own settings count, and the credentials that the person at the keyboard has: those are asked for
// once, from his own settings.
std::vector<std::string> command_of(const std::vector<std::string>& words) {
  std::vector<std::string> command{"git", "--no-pager"};
  for (const char* setting : {"safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null",
                              "protocol.ext.allow=never", "submodule.recurse=false", "core.askPass=",
                              "fetch.recurseSubmodules=false", "http.followRedirects=initial"})
    command.insert(command.end(), {"-c", setting});
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

ProcessOptions options_for(const std::vector<std::string>& words, std::chrono::seconds time) {
  ProcessOptions options;
  options.command = command_of(words);
  options.environment = {{"GIT_CONFIG_NOSYSTEM", "1"},
                         {"GIT_CONFIG_GLOBAL", "/dev/null"},
                         {"GIT_NO_LAZY_FETCH", "1"},
                         {"GIT_TERMINAL_PROMPT", "0"},
                         {"GIT_LFS_SKIP_SMUDGE", "1"},
                         {"GIT_ALLOW_PROTOCOL", "https:ssh"},
                         {"GIT_NO_REPLACE_OBJECTS", "1"},
                         {"GIT_OPTIONAL_LOCKS", "0"},
                         {"GIT_SSH_COMMAND", "ssh -oBatchMode=yes"},
                         {"GIT_SSH_VARIANT", "ssh"},
                         {"LC_ALL", "C"}};
  options.timeout = time;
  return options;
}

ProcessResult run_git(const ProcessOptions& options) {
  try {
    return run_process(options);
  } catch (const JudgeFault& fault) {
    throw UsageError("git is needed to read repositories: {}", fault.what());
  }
}

ProcessResult read_with_git(const fs::path& git_folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"--git-dir", git_folder.string()});
  return run_git(options_for(words, kReading));
}

// "a1b2... 1773874680" of the first line; git prints what the commits' authors wrote.
std::optional<Commit> commit_in(const std::string& output) {
  static const std::regex kForm(R"(([0-9a-f]{40}(?:[0-9a-f]{24})?) (\d{1,15}))");
  const std::string line = output.substr(0, std::min(output.find('\n'), kLongestAddress));
  std::smatch part;
  if (!std::regex_match(line, part, kForm)) return std::nullopt;
  return Commit{part[1], std::stoll(part[2])};
}

std::optional<Commit> first_of(const fs::path& git_folder, const std::vector<std::string>& which) {
  std::vector<std::string> words{"rev-list", "--no-commit-header", "--max-count=1", "--first-parent",
                                 "--format=%H %ct"};
  words.insert(words.end(), which.begin(), which.end());
  words.emplace_back("--");
  const ProcessResult result = read_with_git(git_folder, words);
  return result.ok() ? commit_in(result.standard_output) : std::nullopt;
}

// How the person at the keyboard lets git find passwords for https.
std::vector<std::string> credential_settings() {
  ProcessOptions options;
  options.command = {"git", "config", "--global", "--get-all", "credential.helper"};
  options.timeout = kReading;
  const ProcessResult result = run_git(options);
  std::vector<std::string> settings;
  std::string line;
  for (const char c : result.standard_output) {
    if (c != '\n') {
      line += c;
      continue;
    }
    settings.insert(settings.end(), {"-c", "credential.helper=" + line});
    line.clear();
  }
  return settings;
}

// The last line of what git said, which names the cause.
std::string cause_in(const ProcessResult& result, const FetchLimits& limits) {
  if (result.timed_out) return fmt::format("it took longer than {} s", limits.time.count());
  if (result.signal != 0) return fmt::format("it is larger than {} MiB", limits.file_bytes >> 20);
  std::string text = result.standard_error;
  if (text.find("File too large") != std::string::npos || text.find("file size limit") != std::string::npos)
    return fmt::format("it is larger than {} MiB", limits.file_bytes >> 20);
  text.erase(text.find_last_not_of(" \n") + 1);
  const std::size_t fatal = text.find("fatal: ");
  return plain_line(fatal == std::string::npos ? text.substr(text.rfind('\n') + 1) : text.substr(fatal + 7))
      .substr(0, 200);
}

// Attributes that a repository brings along change nothing of what is taken out of it.
void own_settings(const fs::path& git_folder) {
  make_directories(git_folder / "info");
  write_text(git_folder / "info" / "attributes",
             "* -export-ignore -export-subst -filter -ident -text -working-tree-encoding\n");
}

}  // namespace

std::optional<Commit> commit_of(const fs::path& git_folder, std::optional<std::int64_t> before) {
  if (!before) return first_of(git_folder, {"HEAD"});
  // --before stops nowhere on the way: clocks of authors go back and forth.
  return first_of(git_folder, {fmt::format("--before={}", *before), "HEAD"});
}

std::optional<Commit> commit_named(const fs::path& git_folder, const std::string& name) {
  if (name.empty() || name[0] == '-') return std::nullopt;
  return first_of(git_folder, {name});
}

bool write_archive(const fs::path& git_folder, const std::string& commit, const fs::path& archive) {
  ProcessOptions options = options_for(
      {"--git-dir", git_folder.string(), "archive", "--format=tar", "--output=" + archive.string(), commit},
      kReading);
  options.limits.file_bytes = FetchLimits().file_bytes;
  return run_git(options).ok();
}

std::string address_problem(const std::string& url) {
  static const std::regex kHttps(
      R"(https://(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?/[^\s\x00-\x1f]+)");
  static const std::regex kSsh(
      R"(ssh://(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?/[^\s\x00-\x1f]+)");
  static const std::regex kShort(
      R"((?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s\x00-\x1f-][^\s\x00-\x1f]*)");
  static const std::regex kScheme(R"(([A-Za-z][A-Za-z0-9+.-]*):.*)");
  static const std::regex kPassword(R"([a-z]+://[^/@]*:[^/@]*@.*)");
  if (url.size() > kLongestAddress) return fmt::format("an address of more than {} bytes", kLongestAddress);
  if (std::regex_match(url, kPassword))
    return "a password in the address would stand in the run's files; let git's credential helper have it";
  if (std::regex_match(url, kHttps) || std::regex_match(url, kSsh) || std::regex_match(url, kShort))
    return "";
  std::smatch part;
  const std::string scheme = std::regex_match(url, part, kScheme) ? part[1].str() : "";
  if (!scheme.empty() && scheme != "https" && scheme != "ssh")
    return fmt::format("repositories are fetched over https or ssh alone, not over '{}'", scheme);
  return "expected an address like https://git.example.edu/lab1/ada.git or git@git.example.edu:lab1/ada.git";
}

std::string fetch_repository(const std::string& url, const fs::path& git_folder, bool whole,
                             const FetchLimits& limits) {
  std::vector<std::string> words = credential_settings();
  words.insert(words.end(), {"clone", "--quiet", "--bare", "--template=", "--single-branch", "--no-tags"});
  if (!whole) words.emplace_back("--depth=1");
  words.insert(words.end(), {"--", url, git_folder.string()});
  ProcessOptions options = options_for(words, limits.time);
  options.limits.file_bytes = limits.file_bytes;
  const ProcessResult result = run_git(options);
  if (!result.ok()) return cause_in(result, limits);
  own_settings(git_folder);
  return "";
}

bool copy_repository(const fs::path& from, const fs::path& git_folder) {
  ProcessOptions options =
      options_for({"clone", "--quiet", "--bare", "--template=", "--single-branch", "--no-tags",
                   "--no-hardlinks", "--no-local", "--", from.string(), git_folder.string()},
                  FetchLimits().time);
  options.environment["GIT_ALLOW_PROTOCOL"] = "file";
  options.limits.file_bytes = FetchLimits().file_bytes;
  if (!run_git(options).ok()) return false;
  own_settings(git_folder);
  return true;
}

}  // namespace warpgrade
