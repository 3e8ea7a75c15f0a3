#include "course/ingest/repository_list.h"

#include <fmt/format.h>

#include <ctime>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "course/ingest/csv.h"
#include "course/ingest/git_attempt.h"
#include "course/ingest/git_repository.h"
#include "course/ingest/person_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

struct Listed {
  int line = 0;
  std::string student, url, commit;
  std::optional<std::int64_t> pushed_at;
};

// "ada-lab1" of https://git.example.edu/course/ada-lab1.git.
std::string name_of(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with(".git")) url.resize(url.size() - 4);
  return url.substr(url.find_last_of("/:") + 1);
}

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

// The lines of a file without a header; nothing where it has one.
std::vector<Listed> plain_lines(const std::string& text) {
  std::vector<Listed> listed;
  int number = 0;
  std::string rest = text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
  for (std::size_t end; !rest.empty(); rest.erase(0, end == std::string::npos ? end : end + 1)) {
    end = rest.find('\n');
    ++number;
    const std::string line = trimmed(rest.substr(0, end));
    if (line.empty() || line[0] == '#') continue;
    if (listed.empty() && line.find(':') == std::string::npos) return {};  // a header
    listed.push_back({number, "", line, "", std::nullopt});
  }
  std::vector<std::string> names;
  for (const Listed& one : listed) names.push_back(name_of(one.url));
  const std::size_t skip = assignment_length(names);
  for (std::size_t i = 0; i < listed.size(); ++i) listed[i].student = names[i].substr(skip);
  return listed;
}

std::vector<Listed> rows_of(const fs::path& file, const TimeZone& zone) {
  static const std::map<std::string, std::string> kColumns{{"student", "student"},
                                                           {"id", "student"},
                                                           {"login", "student"},
                                                           {"username", "student"},
                                                           {"email", "student"},
                                                           {"github", "student"},
                                                           {"account", "student"},
                                                           {"identifier", "student"},
                                                           {"url", "url"},
                                                           {"repository", "url"},
                                                           {"clone_url", "url"},
                                                           {"repository_url", "url"},
                                                           {"student_repository_url", "url"},
                                                           {"commit", "commit"},
                                                           {"branch", "commit"},
                                                           {"ref", "commit"},
                                                           {"pushed_at", "pushed"}};
  const CsvTable table = read_csv(file);
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < table.header.size(); ++i)
    if (const auto known = kColumns.find(folded(table.header[i])); known != kColumns.end())
      columns.emplace(known->second, i);
  if (!columns.contains("student") || !columns.contains("url"))
    throw UsageError("{}:1: expected the columns student and url, or one address a line", table.file);
  std::vector<Listed> listed;
  for (const CsvTable::Row& row : table.rows) {
    const auto cell = [&](const char* column) {
      return columns.contains(column) ? trimmed(row.cells[columns.at(column)]) : std::string();
    };
    Listed one{row.line, cell("student"), cell("url"), cell("commit"), std::nullopt};
    if (one.url.empty()) continue;  // who has none handed in nothing
    if (one.student.empty()) throw UsageError("{}:{}: this repository has no student", table.file, row.line);
    if (const std::string at = cell("pushed"); !at.empty()) {
      one.pushed_at = parse_time(at, zone);
      if (!one.pushed_at)
        throw UsageError("{}:{}: pushed_at: expected a time like 2026-03-18T22:58:00Z, got '{}'", table.file,
                         row.line, at);
    }
    listed.push_back(one);
  }
  return listed;
}

RawAttempt fetched(const Listed& one, const fs::path& repository, const LayoutOptions& options) {
  RawAttempt attempt;
  StudentKeys owner;
  owner.keys = {one.student};
  owner.github = one.student;
  attempt.owners.push_back(owner);
  attempt.origin = one.url;
  const bool before = options.name == "git-before" && one.commit.empty();
  const std::string problem = fetch_repository(one.url, repository, before || !one.commit.empty());
  if (!problem.empty()) {
    attempt.refusal = Refusal{"not_fetched", fmt::format("{} could not be fetched: {}", one.url, problem),
                              "check the address, and that the course's staff may read the repository", ""};
    return attempt;
  }
  take_commit(attempt, repository, before, one.commit, std::time(nullptr), options);
  if (one.pushed_at) {
    attempt.submitted_at = one.pushed_at;
    attempt.time_is_claimed = false;
  }
  return attempt;
}

}  // namespace

bool is_repository_list(const fs::path& file) {
  const std::string ending = file.extension().string();
  return fs::is_regular_file(file) &&
         (ending == ".txt" || ending == ".csv" || ending == ".tsv" || ending == ".urls");
}

Layout read_repository_list(const fs::path& file, const LayoutOptions& options) {
  if (options.name != "auto" && options.name != "git" && options.name != "git-before" &&
      options.name != "github")
    throw UsageError("{} is a list of repositories: its layout is git or git-before, not {}", file.string(),
                     options.name);
  std::vector<Listed> listed = plain_lines(read_text(file));
  if (listed.empty()) listed = rows_of(file, options.zone);
  for (const Listed& one : listed)
    if (const std::string problem = address_problem(one.url); !problem.empty())
      throw UsageError("{}:{}: {}: {}", file.string(), one.line, one.url, problem);
  if (listed.empty()) throw UsageError("{} lists no repository", file.string());
  Layout layout{options.name == "git-before" ? "git-before" : "git", {}, {}};
  for (const Listed& one : listed) {
    throw_if_interrupted();
    const fs::path repository = options.scratch / fmt::format("repository-{}", layout.attempts.size());
    layout.attempts.push_back(fetched(one, repository, options));
  }
  return layout;
}

}  // namespace warpgrade
