// The graph and the sizes of the run, as the older SpMM class interface shows them: struct CSR, kNumV,
// kNumE, kLen.
#pragma once

#include "util.h"
