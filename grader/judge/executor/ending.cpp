#include "judge/executor/ending.h"

#include <cstdio>

namespace warpgrade::executor {

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::none:
      return "none";
    case Ending::host_ended:
      return "host_ended";
    case Ending::host_did_not_return:
      return "host_did_not_return";
    case Ending::protocol_broken:
      return "protocol_broken";
    case Ending::device_did_not_finish:
      return "device_did_not_finish";
    case Ending::driver_did_not_return:
      return "driver_did_not_return";
  }
  return "unknown";
}

std::string GaveUp::text() const {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  const std::string head = std::string(name_of(ending)) + ": ";
  switch (ending) {
    case Ending::device_did_not_finish:
      return head + call + " waited " + time + " for the device: a kernel does not end";
    case Ending::driver_did_not_return:
      return head + call + " has not returned for " + time + ": a kernel does not end, or the driver hangs";
    default:
      return head + call;
  }
}

}  // namespace warpgrade::executor
