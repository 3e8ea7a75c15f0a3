// What a student has, made into the sources that are compiled: one way for a class's hand-ins and for a
// folder that `warpgrade check` or `test` is given.
//
// A hand-in's snapshot keeps the student's own bytes, and its hash stays the evidence of what was handed in.
// The sources are made from it anew whenever they are read, by fixed rules that depend on these bytes alone.
// So nothing tidied lies on disk that could differ from what it was made of, a later version's better rules
// need no new hand-in, and Submission::hash is the hash of what is compiled: equal programs share their place
// in the cache however they were packed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/untrusted.h"
#include "judge/compile/manifest.h"

namespace warpgrade {

// A source or header as it is compiled.
struct SubmittedFile {
  std::filesystem::path name;  // tidied: safe (source_name.h), unique
  std::string text;            // UTF-8, or the student's bytes
  bool is_compiled = true;     // a source by itself; headers, and sources that others include, are not
};

struct TidiedSources {
  std::vector<SubmittedFile> files;  // sorted by name
  std::string interface;             // "spmm.h", or an older interface: "SpMMOpt"
  Manifest manifest;
  std::vector<std::string> notes;  // what was changed or left out, a sentence each, for the student
  std::vector<std::filesystem::path>
      taken;                           // of the hand-in's files those that `files` were made from, sorted
  std::optional<std::string> problem;  // why there is no program to compile
};

// Reads the folder by untrusted.h's rules. Never throws for what it holds.
TidiedSources tidied_sources(const UntrustedFolder& folder, const std::string& lab);

// Whether a file is a source after its name is tidied, or may hold some: "spmm.cu.txt", "lab1.ipynb".
bool may_hold_source(const std::filesystem::path& file);

// Folders with other people's code, or with what a build made: their files are not read.
bool is_folder_of_others(const std::string& name);

}  // namespace warpgrade
