// Submissions to a lab's older interface: how they are told, and which of their files are the course's own
// harness. A lab describes its older interface in reference/include/legacy/<lab>/interface.yaml.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace warpgrade {

struct SourceText {
  std::filesystem::path name;  // relative to the submission's folder
  std::string text;
};

struct InterfaceChoice {
  std::string interface;  // "spmm.h", or the older one's name: "SpMMOpt"
  std::vector<std::filesystem::path>
      left_out;                          // files of the course's harness: the adaptor takes their place
  std::set<std::string> functions = {};  // what the judge calls: "spmm_run", "SpMMOpt::run"
  std::set<std::string> built =
      {};  // of an older interface: the student's sources that the course's build names
};

// What the files are written to. Of a submission to the contract nothing is left out.
InterfaceChoice choose_interface(const std::vector<SourceText>& files, const std::string& lab);

// Whether a submission's interface is another one than the lab's contract.
inline bool is_older_interface(const std::string& interface, const std::string& lab) {
  return interface != lab + ".h" && interface != lab + ".py";
}

// The folders that hold headers, relative, the top one left out: courses lie in src/ and include/, or in a
// folder of their own.
std::vector<std::filesystem::path> header_folders(const std::vector<std::filesystem::path>& files);

}  // namespace warpgrade
