// Layouts that say in names who handed in and when: Moodle, Blackboard, Brightspace, GitHub Classroom.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/ingest/layout.h"

namespace warpgrade {

// An export's entries, sorted, without hidden ones and links.
using Entries = std::vector<std::filesystem::path>;

// The layout of these that most of the entries have the form of, "" for none of them.
std::string layout_by_names(const Entries& entries);

std::vector<RawAttempt> read_moodle(const Entries& entries, std::vector<std::string>& left_aside);
std::vector<RawAttempt> read_blackboard(const Entries& entries, const TimeZone& zone,
                                        std::vector<std::string>& left_aside);
// Throws UsageError for a name whose date is not understood: a guess might make somebody late.
std::vector<RawAttempt> read_brightspace(const Entries& entries, const TimeZone& zone,
                                         std::vector<std::string>& left_aside);
bool is_brightspace_name(const std::string& name);
inline constexpr const char* kBrightspaceIndex = "index.html";
// The time of a clone is the commit's, as its author's machine said it.
std::vector<RawAttempt> read_github(const Entries& entries, std::vector<std::string>& left_aside);

}  // namespace warpgrade
