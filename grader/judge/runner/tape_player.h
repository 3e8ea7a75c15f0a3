// Plays a case's calls from a file (judge/protocol/call_tape.h): plan, run and free once, by themselves.
#pragma once

namespace warpgrade::runner {

// The exit code: 0, or 1 with a line on standard error.
int play_tape(const char* path);

}  // namespace warpgrade::runner
