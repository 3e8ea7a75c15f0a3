// Why an executor stopped serving: named, so that its owner can tell a submission's fault from the machine's.
#pragma once
#include <string>

namespace warpgrade::executor {

enum class Ending {
  none,                   // it serves
  host_ended,             // the host process has ended by itself
  host_did_not_return,    // a command of the host process took longer than its limit
  protocol_broken,        // the host process wrote what our runtime library never writes
  device_did_not_finish,  // a call waited for the device longer than Limits::wait_seconds: an endless kernel
  driver_did_not_return,  // a call of the backend took longer than that: an endless kernel with a full queue
};

// "device_did_not_finish": stable names for records.
const char* name_of(Ending ending);

struct GaveUp {
  Ending ending = Ending::none;
  std::string call;  // what was waited in: "synchronize_stream"
  double seconds = 0;
  // One sentence for people.
  std::string text() const;
};

// Exit code of a program that stands for an executor which gave up, as of timeout(1).
inline constexpr int kGaveUpExit = 124;

}  // namespace warpgrade::executor
