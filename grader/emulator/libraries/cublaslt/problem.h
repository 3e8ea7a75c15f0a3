// A product as its descriptors give it, checked.
#pragma once
#include "cublaslt/matrices.h"

namespace warpgrade::cublaslt {

struct Problem {
  Operation op;
  Layout a, b, c, d;
  int64_t m = 0, n = 0, k = 0;

  bool has(uint32_t part_of_epilogue) const { return (op.epilogue & part_of_epilogue) != 0; }
  bool makes_bias_gradient() const {
    return has(kBiasGradient | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
  }
  cudaDataType bias_type() const;
  cudaDataType aux_type() const;  // of GELU's input

  // Parts of an epilogue, as cublasLtEpilogue_t puts them together.
  static constexpr uint32_t kReluGradient = 8, kBiasGradient = 16, kGeluGradient = 64, kAux = 128;
};

// Says what is wrong or missing (in the name of `function`), and ends the call.
Problem checked_problem(const char* function, const cublasLtMatmulDescOpaque_t* operation,
                        const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                        const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d);

}  // namespace warpgrade::cublaslt
