// What cuBLAS's functions answer that are not here: complex numbers, the interface without handles, ...
#include "left_out.h"

extern "C" int left_out_call(const char* name) {
  warpgrade::libraries::say_left_out("cuBLAS", name);
  return 15;  // CUBLAS_STATUS_NOT_SUPPORTED
}
