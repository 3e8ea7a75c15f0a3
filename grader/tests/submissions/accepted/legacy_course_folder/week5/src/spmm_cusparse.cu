// clang-format off
// The course's own yardstick, handed in along with everything else.
#include <cusparse.h>
#include "../include/util.h"
void vendor() { cusparseHandle_t handle; cusparseCreate(&handle); }
