// reference/<lab>/check_power.json: what a lab's check was found to see. It is kept because it takes minutes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "judge/labs/declared/check_power.h"

namespace warpgrade {

class KeptCheckPower {
 public:
  // Reads what is kept. Nothing is, where lab.yaml (but for comments and correctness cases) or the oracle has
  // changed since. Throws UsageError where the file is damaged.
  explicit KeptCheckPower(const declaration::LabDeclaration& lab);

  std::optional<declared::CasePower> find(const std::string& case_id) const;
  // Adds a case and writes the file; false where it cannot be written.
  bool add(declared::CasePower power);
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::string of_;  // hash of what it was measured with
  std::vector<declared::CasePower> cases_;
};

}  // namespace warpgrade
