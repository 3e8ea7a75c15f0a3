// Whether a declared lab's check finds what is wrong: the oracle's own outputs, changed a little.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"
#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/oracle_process.h"

namespace warpgrade::declared {

struct OutputChange {
  std::string name;                 // "one element flipped"
  int tried = 0;                    // cases and outputs in which it changed something
  std::vector<std::string> missed;  // where the check did not find it: "case one, out"
};

struct ChangeReport {
  std::vector<OutputChange> changes;
  std::vector<std::string> refused;  // cases whose check refuses the oracle's own output, and why
  int cases = 0;
};

// Cases beyond this many bytes are left out: others show the same.
inline constexpr std::size_t kLargestChanged = std::size_t{64} << 20;

// The file of a graph that a case names.
using GraphFiles = std::function<std::filesystem::path(const std::string& graph)>;

// The oracle's output in the output's own type: what an exact program would write.
void write_truth_as_result(CaseArrays& arrays, const declaration::ArrayDeclaration& output);

// Told before each case: its number from 1 on, of how many, and its id.
using CaseProgress = std::function<void(int number, int of, const std::string& id)>;

// Throws JudgeFault with the oracle's words when it fails.
ChangeReport try_changed_outputs(const declaration::LabDeclaration& lab, const GraphFiles& graphs,
                                 OracleProcess& oracle, std::uint64_t seed, int threads,
                                 const CaseProgress& progress);

// Whether a second oracle gives the same outputs, by the lab's own check; the cases in which it does not.
std::vector<std::string> disagreements(const declaration::LabDeclaration& lab, const GraphFiles& graphs,
                                       OracleProcess& oracle, OracleProcess& second, std::uint64_t seed,
                                       int threads, const CaseProgress& progress);

// Of outputs whose magnitude is declared to be the output for inputs without their signs: the cases in which
// the oracle says something else.
std::vector<std::string> other_magnitudes(const declaration::LabDeclaration& lab, const GraphFiles& graphs,
                                          OracleProcess& oracle, std::uint64_t seed, int threads,
                                          const CaseProgress& progress);

}  // namespace warpgrade::declared
