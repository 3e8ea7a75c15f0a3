// Keeps the calls of a case in a folder, for a profiler: `calls` (judge/protocol/call_tape.h) and `program`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "judge/judging/shared_buffer.h"

namespace warpgrade {

// More than this is kept of no case: a message instead.
inline constexpr std::size_t kMostTapeBytes = std::size_t{2} << 30;

// Copies the program and writes the buffers as they are now. The buffers are the emulator's: files in
// memory. Throws JudgeFault.
void keep_calls(const std::filesystem::path& folder, const std::filesystem::path& program,
                const std::vector<SharedBuffer>& buffers, const std::vector<std::int64_t>& plan,
                const std::vector<std::int64_t>& run);

}  // namespace warpgrade
