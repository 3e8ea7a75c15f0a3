// Plain repositories: a folder of clones, as GitHub Classroom's `gh classroom clone` and what followed it make.
//
//   git         what is checked out, or of a bare repository its branch
//   git-before  the last commit that is not later than the student's deadline
//
//   <assignment>-<account>/.git, also <account>/.git      (the account: what the names do not all begin with)
//
// Names from cmd/gh-classroom/clone/student-repos of github/gh-classroom. A commit's time is its author's claim
// (git-commit(1), GIT_COMMITTER_DATE). What lay on this machine before the deadline was in time, whatever it claims.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "course/ingest/arrival.h"
#include "course/ingest/git_attempt.h"
#include "course/ingest/git_repository.h"
#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace git_layout {
namespace {

bool is_clone(const ExportEntry& entry) {
  return entry.is_folder && fs::is_directory(fs::symlink_status(entry.path / ".git"));
}

bool is_bare(const ExportEntry& entry) {
  return entry.is_folder && fs::is_regular_file(fs::symlink_status(entry.path / "HEAD")) &&
         fs::is_directory(fs::symlink_status(entry.path / "objects"));
}

bool is_repository(const ExportEntry& entry) {
  return is_clone(entry) || is_bare(entry);
}

bool fits(const Export& given) {
  return most(given.entries, is_repository);
}

std::vector<const ExportEntry*> repositories_in(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<const ExportEntry*> found;
  for (const ExportEntry& entry : from.entries) {
    if (is_repository(entry))
      found.push_back(&entry);
    else
      left_aside.push_back(entry.name);
  }
  return found;
}

std::vector<RawAttempt> read_some(const Export& from, std::vector<std::string>& left_aside, bool before) {
  const std::vector<const ExportEntry*> repositories = repositories_in(from, left_aside);
  std::vector<std::string> names;
  for (const ExportEntry* entry : repositories) names.push_back(entry->name);
  const std::size_t skip = assignment_length(names);
  std::vector<RawAttempt> attempts;
  for (const ExportEntry* entry : repositories) {
    std::string account = entry->name.substr(skip);
    if (account.ends_with(".git")) account.resize(account.size() - 4);
    RawAttempt attempt;
    attempt.owners.push_back(keyed(account));
    attempt.owners[0].github = account;
    attempt.origin = entry->name;
    const fs::path git = is_clone(*entry) ? entry->path / ".git" : entry->path;
    RawAttempt on_disk;
    on_disk.folder = entry->path;
    const std::int64_t seen_at = arrival_of(on_disk).at;
    if (!before && is_clone(*entry)) {
      attempt.folder = entry->path;
      claim_time(attempt, commit_of(git), seen_at, *from.options);
      attempts.push_back(std::move(attempt));
      continue;
    }
    const fs::path copy = from.options->scratch / fmt::format("repository-{}", attempts.size());
    if (!copy_repository(git, copy))
      attempt.refusal = Refusal{"not_a_repository", entry->name + " cannot be read by git",
                                "clone the repository again, or hand it in anew", ""};
    else
      take_commit(attempt, copy, before, "", seen_at, *from.options);
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  return read_some(from, left_aside, false);
}

std::vector<RawAttempt> read_before(const Export& from, std::vector<std::string>& left_aside) {
  return read_some(from, left_aside, true);
}

std::optional<std::int64_t> deadline_of(const RawAttempt& attempt, const LayoutOptions& options) {
  std::optional<std::int64_t> extended;
  if (options.roster != nullptr && !attempt.owners.empty()) {
    if (const auto student = options.roster->find(attempt.owners[0])) {
      const Student& found = options.roster->students()[*student];
      extended = found.deadline;
      for (const Student& other : options.roster->students())  // a team has its members' latest
        if (!found.team.empty() && other.team == found.team && other.deadline)
          extended = std::max(extended.value_or(0), *other.deadline);
    }
  }
  return extended ? extended : options.deadline;
}

}  // namespace
}  // namespace git_layout

const LayoutReader kGitLayout{"git", git_layout::fits, git_layout::read};
const LayoutReader kGitBeforeLayout{"git-before", nullptr, git_layout::read_before};

std::size_t assignment_length(const std::vector<std::string>& names) {
  if (names.empty()) return 0;
  std::string common = names[0];
  for (const std::string& name : names) {
    std::size_t same = 0;
    while (same < common.size() && same < name.size() && common[same] == name[same]) ++same;
    common.resize(same);
  }
  const std::size_t dash = names.size() == 1 ? common.find('-') : common.rfind('-');
  return dash == std::string::npos ? 0 : dash + 1;
}

void claim_time(RawAttempt& attempt, const std::optional<Commit>& commit, std::int64_t seen_at,
                const LayoutOptions& options) {
  if (!commit) return;
  attempt.submitted_at = commit->at;
  const auto deadline = git_layout::deadline_of(attempt, options);
  if (!deadline || seen_at > *deadline)
    attempt.time_is_claimed = true;
  else  // a clock that is ahead makes nobody late
    attempt.submitted_at = std::min(commit->at, seen_at);
}

void take_commit(RawAttempt& attempt, const fs::path& repository, bool before, const std::string& name,
                 std::int64_t seen_at, const LayoutOptions& options) {
  const auto deadline = git_layout::deadline_of(attempt, options);
  if (before && !deadline)
    throw UsageError("--layout git-before: give --deadline, or a deadline for {} in the roster",
                     attempt.origin);
  const auto commit = !name.empty() ? commit_named(repository, name)
                                    : commit_of(repository, before ? deadline : std::nullopt);
  if (!commit) {
    attempt.refusal = Refusal{"no_commit",
                              !name.empty() ? fmt::format("{} has no commit {}", attempt.origin, name)
                              : before      ? attempt.origin + " has no commit before the deadline"
                                            : attempt.origin + " has no commit",
                              "commit and push the sources", ""};
    return;
  }
  const fs::path archive = repository.string() + ".tar";
  if (!write_archive(repository, commit->id, archive)) {
    attempt.refusal = Refusal{"too_large", attempt.origin + " cannot be taken out of its repository",
                              "keep the sources only, without data and binaries", ""};
    return;
  }
  attempt.files.push_back({archive, archive.filename().string()});
  claim_time(attempt, commit, seen_at, options);
}

}  // namespace warpgrade
