#ifndef SPMM_OPT_H
#define SPMM_OPT_H

#include "spmm_base.h"

class SpMMOpt : public SpMM {
 public:
  SpMMOpt(int* ptr, int* idx, int num_v, int num_e, int feat_in) : SpMM(ptr, idx, num_v, num_e, feat_in) {}
  SpMMOpt(CSR* graph, int feat_in) : SpMM(graph, feat_in) {}
  ~SpMMOpt() {}

  void preprocess(float* vin, float* vout) override;
  void run(float* vin, float* vout) override;
};

#endif
