// Libraries that the emulator does not have: each call says so and fails. Prints the codes.
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#include <cstdio>

int main() {
#if __has_include(<cusolverDn.h>)
  cusolverDnHandle_t solver;
  std::printf("cuSOLVER %d\n", cusolverDnCreate(&solver) == CUSOLVER_STATUS_NOT_SUPPORTED);
#endif
#if __has_include(<cudnn.h>)
  cudnnHandle_t layers;
  const cudnnStatus_t created = cudnnCreate(&layers);
  std::printf("cuDNN %d %s\n", created == CUDNN_STATUS_NOT_SUPPORTED, cudnnGetErrorString(created));
#endif
  return 0;
}
