// What the runner sees of the submission's launches, on both backends: the linker leads every <<<>>>
// through here.
#pragma once

namespace warpgrade::runner {

// While watching, launches on the legacy default stream are counted.
void watch_launches(bool watching);
unsigned default_stream_launches();

// A submission to an older interface: its kernels belong on the default stream, and an error code that nobody
// reads (of a launch without blocks, say) is noted instead of failing the call.
bool is_older_interface();

}  // namespace warpgrade::runner
