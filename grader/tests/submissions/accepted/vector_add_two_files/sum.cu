#include "sum.cuh"

namespace {

__device__ int offset = 0;  // the other file has one of its own

}  // namespace

__device__ int called = 0;

__device__ float sum(float a, float b) {
  atomicAdd(&called, 1);
  return same(a) + same(b) + offset;
}
