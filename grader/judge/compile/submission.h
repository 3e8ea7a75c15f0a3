// A submission: a folder of sources for one lab, and what it is made of.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/untrusted.h"

namespace warpgrade {

enum class Role { kStudent, kReference, kBaseline };
const char* to_string(Role role);

struct Submission {
  std::string id;  // the folder's name, made safe for a file name, unique in the run
  std::string title;
  Role role = Role::kStudent;
  std::filesystem::path directory;  // where the sources lie
  std::vector<std::filesystem::path>
      files;                           // relative, sorted; sources and headers, safe names (source_name.h)
  std::string hash;                    // SHA-256 over names and contents
  std::string interface;               // "spmm.h", or an older interface: "SpMMOpt"
  std::vector<std::string> flags;      // extra compiler flags that submission.yaml asks for
  std::string idea;                    // of a staff's solution: what its source's first lines say
  std::optional<std::string> problem;  // why it can't be compiled at all (no source, too large, a link)
  nlohmann::json about;                // of a class: who handed it in and when, for run.json
  nlohmann::json to_json() const;
};

// A name as a submission's id: safe as a file name, and two names never fall onto one.
std::string safe_submission_id(const std::string& name);

// A source or header as it was read, once.
struct SubmittedFile {
  std::filesystem::path name;  // one of Submission::files
  std::string text;
};

// Reads the submission's files again, by untrusted.h's rules. The text says why not: a file is gone, has
// become a link or a pipe, or its contents are no longer those of Submission::hash.
std::variant<std::vector<SubmittedFile>, std::string> read_files(const Submission& submission);

// Reads one submission folder for the lab: `folder` itself, or `folder/<lab>` when there is one.
Submission read_submission(const std::filesystem::path& folder, const std::string& lab, Role role);

// Every submission in a class folder, sorted by name: each sub-folder is one. A folder that itself holds
// sources is a single submission. Throws UsageError when there is none.
std::vector<Submission> find_submissions(const std::filesystem::path& folder, const std::string& lab);

}  // namespace warpgrade
