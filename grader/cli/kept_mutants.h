// reference/<lab>/mutants.json: how much a lab's cases see, in short. `labs mutants LAB --keep` writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace warpgrade {

struct MutantScore {
  std::size_t listed = 0, tried = 0;
  std::size_t refused = 0, survivors = 0, explained = 0;  // of those that change an output
  std::size_t unreached = 0, never_launched = 0;          // the latter of kernels
  std::size_t shapes = 0;  // random ones that what every case accepted was judged in
  std::uint64_t seed = 0;
  std::string toolkit;  // another one compiles other instructions
  std::string of;       // key_of_mutants() at that time

  std::size_t changing() const { return refused + survivors + explained; }
  double share_refused() const { return changing() == 0 ? 1 : double(refused) / double(changing()); }
};

// Of a report of `labs mutants --json`.
MutantScore score_of_mutants(const nlohmann::json& report);

// A hash of the solutions, and of lab.yaml without what changes no verdict there: comments, reasons of cases,
// speed cases, models of work.
std::string key_of_mutants(const std::string& lab);

struct KeptMutants {
  MutantScore score;
  bool is_stale = false;  // lab.yaml or a solution has changed since
};
std::filesystem::path kept_mutants_file(const std::string& lab);
// None where nothing is kept. Throws UsageError where the file is damaged.
std::optional<KeptMutants> read_kept_mutants(const std::string& lab);
// Writes the file, and its table into the staff's page of the lab.
void keep_mutants(const std::string& lab, const MutantScore& score);

// "98.7 % of 312 refused".
std::string words_of(const MutantScore& score);
// For `labs --json`; null where nothing is kept.
nlohmann::json json_of(const std::optional<KeptMutants>& kept);

}  // namespace warpgrade
