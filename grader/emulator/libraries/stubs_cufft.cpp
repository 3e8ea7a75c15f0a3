// What cuFFT's functions answer that are not here: callbacks, several devices, descriptors.
#include "left_out.h"

extern "C" int left_out_call(const char* name) {
  warpgrade::libraries::say_left_out("cuFFT", name,
                                     "Transforms of one device and of single or double numbers run here: "
                                     "write a callback as a kernel before or after one.");
  return 16;  // CUFFT_NOT_SUPPORTED
}
