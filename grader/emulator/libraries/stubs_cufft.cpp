// cuFFT is not here: every call says so.
#include "left_out.h"

extern "C" int left_out_call(const char* name) {
  warpgrade::libraries::say_left_out("cuFFT", name);
  return 16;  // CUFFT_NOT_SUPPORTED
}
