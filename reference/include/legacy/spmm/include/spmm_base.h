// The older class interface of the lab `spmm`: vout[num_v, feat_in] = A(CSR) * vin[num_v, feat_in],
// fp32, row-major.
//
//   preprocess(vin, vout)  once, outside the clock. vin and vout are scratch of the right size.
//   run(vin, vout)         many times, inside the clock. vout arrives zeroed (which is inside the clock,
//                          too), so kernels may accumulate into it; vin is other data each time.
//
// The CSR behind d_ptr, d_idx and d_val is the submission's own copy in device memory: it may be reordered
// in place. Kernels go to the default stream. adaptor.cu shows such a class to the harness as
// warpgrade/spmm.h asks.
#pragma once

#include <cuda_runtime.h>

#include "data.h"
#include "dbg.h"
#include "util.h"

class SpMM {
 public:
  SpMM(CSR* g, int out_feat_in)
      : d_ptr(g->ptr), d_idx(g->idx), d_val(g->val), feat_in(out_feat_in), num_v(g->num_v), num_e(g->num_e) {}
  // Without values: whoever constructs it this way sets d_val, or the kernel takes every stored entry as
  // it likes.
  SpMM(int* dev_out_ptr, int* dev_out_idx, int out_num_v, int out_num_e, int out_feat_in)
      : d_ptr(dev_out_ptr), d_idx(dev_out_idx), feat_in(out_feat_in), num_v(out_num_v), num_e(out_num_e) {}
  virtual ~SpMM() {}

  virtual void preprocess(float* vin, float* vout) = 0;
  virtual void run(float* vin, float* vout) = 0;

  void set_feat(int columns) { feat_in = columns; }

 protected:
  int* d_ptr = nullptr;    // [num_v + 1], device
  int* d_idx = nullptr;    // [num_e], device
  float* d_val = nullptr;  // [num_e], device
  int feat_in = 0;
  int num_v = 0;
  int num_e = 0;
  dim3 grid;
  dim3 block;
};
