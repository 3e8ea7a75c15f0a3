// The views that the class's anonymous list is made of: which attempt of each student it shows, and
// until when.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/feedback/view.h"

namespace warpgrade {

// The policy's board with its freeze on the clock: one that is given by the deadline is that of this class
// (submissions.json, or null). Without a deadline such a list is never frozen.
Policy::Board board_at(const Policy& policy, const nlohmann::json& class_list);

// Whether the list at this time shows other attempts than those that count.
bool lists_other_attempts(const Policy::Board& board, std::int64_t now);

// One view a student, as feedback_views; of each student or team the attempt that the policy lists, of those
// that were handed in before the list was frozen. Attempts with cases that are not judged yet are left out. A
// student has the name of the attempt that counts, whichever is listed. Points are the computed ones.
std::vector<nlohmann::json> board_views(const Policy& policy, RunParts parts,
                                        const std::map<std::string, std::string>& pseudonyms,
                                        std::int64_t now);

}  // namespace warpgrade
