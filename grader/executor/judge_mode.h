// The executor as a judge starts it: `warpgrade-executor --judge emulator|gpu`, with the judge's socket as
// descriptor 3 and that of the host process, which the judge has started as well, as descriptor 6.
#pragma once
#include <string>

#include "cudart/backend.h"
#include "executor/limits.h"

namespace warpgrade::executor {

// The interpreter, for calls of another process. Throws std::runtime_error when it was not built in.
cudart::Backend& emulator_backend();

// Serves until the judge hangs up. The exit code.
int serve_judge(const std::string& backend, const Limits& limits);

}  // namespace warpgrade::executor
