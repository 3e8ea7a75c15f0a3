// Points from records, and from what was counted of the way there: a pure function. No clock, no device,
// no file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/record/record_text.h"
#include "course/score/journey.h"
#include "course/score/policy.h"
#include "record/view.h"

namespace warpgrade {

// `run` is a warpgrade.run.v1 object, `records` its warpgrade.case.v1 objects, `journeys` what
// journey_counts() says of it; the result is warpgrade.scores.v1.
nlohmann::json score(const Policy& policy, const Run& run, const std::vector<Record>& records,
                     const std::optional<CountsByStudent>& journeys = {});
// The same, of records that are asked for one submission after another.
nlohmann::json score_by_submission(const Policy& policy, const Run& run, const RecordsOf& records_of,
                                   const std::optional<CountsByStudent>& journeys = {});
// Of a record, what points follow from; no other field is read.
const Fields& score_fields();

// That an accepted case's outputs are the host's work, in words for its student; empty: a kernel wrote them,
// or nobody knows (older records, `grade --direct`).
std::string writers_note(const Record& record);

}  // namespace warpgrade
