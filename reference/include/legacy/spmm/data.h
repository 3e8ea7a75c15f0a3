// The graph and the sizes of the run, as the older SpMM class interface shows them.
#pragma once

#include "util.h"

// A square sparse matrix in CSR form. All arrays are device memory and belong to the submission's process
// alone: it may reorder them in place.
struct CSR {
  int* ptr = nullptr;    // [num_v + 1]
  int* idx = nullptr;    // [num_e]
  float* val = nullptr;  // [num_e]
  int num_v = 0;
  int num_e = 0;
};

inline int kNumV = 0;  // rows of the matrix
inline int kNumE = 0;  // stored entries
inline int kLen = 0;   // columns of the dense operand (feat_in)
