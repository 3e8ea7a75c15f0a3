// Students' repositories, which nobody has looked at. git runs nothing that a repository may name: no hook, no
// filter, no file system monitor, no submodule, no large-file download.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct Commit {
  std::string id;
  std::int64_t at = 0;  // seconds since 1970, as its author's machine said it
};

// The commit that is checked out; with `before`, the last one on its line of first parents that is not later.
// nullopt where there is none. `git_folder` is a .git folder or a bare repository. Throws UsageError where git
// is not installed.
std::optional<Commit> commit_of(const std::filesystem::path& git_folder,
                                std::optional<std::int64_t> before = {});

// The same of a branch, tag or commit; nullopt where there is none.
std::optional<Commit> commit_named(const std::filesystem::path& git_folder, const std::string& name);

// Writes the commit's files as they are in it into a new tar archive. False: git could not, within the limits.
bool write_archive(const std::filesystem::path& git_folder, const std::string& commit,
                   const std::filesystem::path& archive);

struct FetchLimits {
  std::chrono::seconds time{120};
  std::uint64_t file_bytes = 256 << 20;  // of each file that git writes
};

// What is wrong with the address of a repository; empty for one over https or ssh.
std::string address_problem(const std::string& url);

// Fetches the default branch into a new bare repository, over https or ssh alone. Returns why not; empty: done.
// `whole`: with its history.
std::string fetch_repository(const std::string& url, const std::filesystem::path& git_folder, bool whole,
                             const FetchLimits& limits = {});

// Copies a repository on this machine into a new bare one of ours, whose settings are ours. False: it cannot be read.
bool copy_repository(const std::filesystem::path& from, const std::filesystem::path& git_folder);

}  // namespace warpgrade
