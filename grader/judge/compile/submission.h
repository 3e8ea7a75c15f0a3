// A submission: a folder of sources for one lab, and what it is made of.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "judge/compile/tidied_sources.h"

namespace warpgrade {

enum class Role { kStudent, kReference, kBaseline };
const char* to_string(Role role);

struct Submission {
  std::string id;  // the folder's name, made safe for a file name, unique in the run
  std::string title, lab;
  Role role = Role::kStudent;
  std::filesystem::path directory;  // where the sources lie
  std::vector<std::filesystem::path>
      files;  // sorted; sources and headers as they are compiled (tidied_sources.h)
  std::vector<std::filesystem::path>
      taken;                           // of the folder's files those that `files` were made from, sorted
  std::vector<std::string> notes;      // what was changed or left out, a sentence each, for the student
  std::vector<std::string> own_notes;  // what the student says of this version, in submission.yaml
  std::string hash;       // SHA-256 over names and contents of what is compiled, and flags: its identity
  std::string interface;  // "spmm.h", or an older interface: "SpMMOpt"
  std::vector<std::string> flags;      // extra compiler flags that submission.yaml asks for
  std::string idea;                    // of a staff's solution: what its source's first lines say
  std::optional<std::string> problem;  // why it can't be compiled at all (no source, too large, a link)
  nlohmann::json about;                // of a class: who handed it in and when, for run.json
  nlohmann::json to_json() const;
};

// Whether its language is Python.
bool is_python(const Submission& submission);

// A name as a submission's id: safe as a file name, and two names never fall onto one.
std::string safe_submission_id(const std::string& name);

// Reads the submission's folder again and makes the same sources of it, by untrusted.h's rules. The
// text says why not: a file is gone, has become a link or a pipe, or what is made of the folder has no
// longer Submission::hash.
std::variant<std::vector<SubmittedFile>, std::string> read_files(const Submission& submission);

// Reads one submission folder for the lab: `folder` itself, or `folder/<lab>` when there is one.
Submission read_submission(const std::filesystem::path& folder, const std::string& lab, Role role);

// Every submission in a class folder, sorted by name: each sub-folder is one. The folder is a single
// submission where it holds sources itself, a submission.yaml, a folder called <lab>, a build file that names
// sources below it, or only folders that parts of a project have ("src", "include"). Throws UsageError when
// there is none, and where such parts lie beside other folders.
std::vector<Submission> find_submissions(const std::filesystem::path& folder, const std::string& lab);

}  // namespace warpgrade
