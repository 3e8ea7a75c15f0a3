// Points in time as the exports write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace warpgrade {

// Seconds since 1970 of "2026-03-18T02:17:21-07:00", "2026-03-18 02:17:21.000000000 Z", "2026-03-18 02:17
// +0100" or "2026-03-18" (its end: 23:59:59). Without a zone: UTC. nullopt for anything else.
std::optional<std::int64_t> parse_time(const std::string& text);

std::string format_time(std::int64_t seconds);  // "2026-03-18T09:17:21Z"

}  // namespace warpgrade
