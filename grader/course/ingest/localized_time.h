// Dates as learning platforms write them for people, in the language of the teacher's account: English, French,
// German, Spanish, Portuguese and Dutch.
//
// Moodle's userdate() with `strftimedaydatetime` of the language's langconfig.php ("Wednesday, 18 March 2026,
// 11:58 PM", "Mittwoch, 18. März 2026, 23:58", "miércoles, 18 de marzo de 2026, 23:58"); Brightspace in the
// names of its downloads, where the colon is left out ("Mar 18, 2026 1158 PM", "18 mars 2026 23 h 58").
//
// Read by hand: strptime() and ICU want the pattern, and the locale installed; here the language is not told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "course/ingest/times.h"

namespace warpgrade {

inline constexpr const char* kLanguagesOfDates = "English, French, German, Spanish, Portuguese or Dutch";

// Seconds since 1970 of a day, a month by its name, a year and a time of the day, on the clocks of `zone`.
// nullopt for anything else, and for a word that could be two months: a guess might make somebody late.
std::optional<std::int64_t> parse_localized_time(const std::string& text, const TimeZone& zone);

}  // namespace warpgrade
