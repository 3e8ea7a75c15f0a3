// cuSPARSE is not here: every call says so. What turns codes into words works.
#include "left_out.h"

extern "C" {

int left_out_call(const char* name) {
  warpgrade::libraries::say_left_out("cuSPARSE", name);
  return 10;  // CUSPARSE_STATUS_NOT_SUPPORTED
}
const char* cusparseGetErrorName(int status) {
  return status == 0    ? "CUSPARSE_STATUS_SUCCESS"
         : status == 10 ? "CUSPARSE_STATUS_NOT_SUPPORTED"
                        : "unknown error";
}
const char* cusparseGetErrorString(int status) {
  return status == 0 ? "success" : status == 10 ? "operation not supported" : "unknown error";
}

}  // extern "C"
