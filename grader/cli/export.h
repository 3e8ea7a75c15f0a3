// `warpgrade export`: a run's grades for other programs and for people.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "feedback/view.h"

namespace warpgrade {

struct ExportOptions {
  std::filesystem::path run;
  std::filesystem::path output;  // default: RUN/export
  std::vector<std::string> formats;
  std::optional<std::filesystem::path> gradebook, policy, sources;
  std::optional<std::string> student;
  bool no_pdf = false;
};

void add_export_command(CLI::App& app, int& code);
int export_run(const ExportOptions& options);

// The points that a gradebook has for a lab's students; refuses where it is built without one.
std::map<std::string, FinalPoints> final_points(const std::filesystem::path& gradebook,
                                                const std::string& lab);

}  // namespace warpgrade
