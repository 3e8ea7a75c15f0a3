// The executor as a judge starts it: `warpgrade-executor --judge emulator|gpu`, with the judge's socket as
// descriptor 3. The judge starts the host process, too, and hands over the socket to it (kNewHost). On a GPU
// one executor serves the host processes of all of a submission's cases, one after another: its context,
// which takes longest, stays.
#pragma once
#include <string>

#include "cudart/backend.h"
#include "judge/executor/limits.h"

namespace warpgrade::executor {

// The interpreter, for calls of another process. Throws std::runtime_error when it was not built in.
cudart::Backend& emulator_backend();

// Serves until the judge hangs up. The exit code.
int serve_judge(const std::string& backend, const Limits& limits);

}  // namespace warpgrade::executor
