// What a class's programs are compared with, and what is kept for later years: options of the commands that
// look for similar code. reports/warpgrade_reports/earlier.py says what each path may be.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade {

struct SimilarOptions {
  std::filesystem::path sources, kept;
  std::vector<std::filesystem::path> against;
  std::string kept_names = "pseudonyms";

  // --sources, --against.
  void add_compared(CLI::App& command);
  // --keep-fingerprints, --fingerprint-names.
  void add_kept(CLI::App& command);
  bool is_asked() const { return !against.empty() || !kept.empty(); }
  // As the reports' programs take them.
  void append_to(std::vector<std::string>& arguments) const;
};

}  // namespace warpgrade
