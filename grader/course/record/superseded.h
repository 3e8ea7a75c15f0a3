// superseded/<n>/ of a run: records that are made anew, each at <submission>/<case>.json, and in request.json
// why. Verdicts are never overwritten.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "course/record/run_folder.h"

namespace warpgrade {

std::filesystem::path superseded_folder(const RunFolder& folder, int number);
int latest_superseded(const RunFolder& folder);  // 0: none

// A new folder's number.
int begin_superseded(const RunFolder& folder, const nlohmann::json& request);
void write_superseded_request(const RunFolder& folder, int number, const nlohmann::json& request);
// Moves the record there.
void supersede(const RunFolder& folder, int number, const std::string& submission,
               const std::string& case_id);

}  // namespace warpgrade
