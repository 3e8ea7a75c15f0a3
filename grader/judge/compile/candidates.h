// Which of the sources in a hand-in are its program, where there are more than one program can have: an old
// copy beside the new one, a bench of the student's own, a notebook's cells. Nothing is guessed: a source
// is left out because submission.yaml or a build file says so, because it is the same again, or because
// nothing needs it.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/compile/build_file.h"
#include "judge/compile/source_scan.h"

namespace warpgrade {

struct Candidate {
  std::filesystem::path name;   // tidied
  std::filesystem::path given;  // as the student named it
  const std::string* text = nullptr;
  SourceScan scan;
  bool is_program = false;  // of a notebook's cell that names no file: others do not belong to it
};

struct CandidateRules {
  std::set<std::string> functions;     // what the judge calls: "spmm_run"
  std::vector<std::string> listed;     // submission.yaml's `sources`; empty: it has none
  std::vector<BuildFile> build_files;  // of the student's own
  std::set<std::string> built;         // names that an older interface's own build compiles: "spmm_opt.cu"
};

struct ChosenSources {
  std::set<std::filesystem::path> compiled;  // by tidied name
  std::set<std::filesystem::path> included;  // not compiled by themselves, another source includes them
  std::vector<std::string> notes;
  std::optional<std::string> problem;  // which candidates there are, and how the student decides
};

// `headers`: they include sources too.
ChosenSources choose_sources(const std::vector<Candidate>& sources, const std::vector<Candidate>& headers,
                             const CandidateRules& rules);

}  // namespace warpgrade
