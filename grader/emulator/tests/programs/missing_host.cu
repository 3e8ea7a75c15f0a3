// Libraries that the emulator does not have: each call says so and fails. Prints the codes.
#include <cufft.h>
#include <cusparse.h>

#include <cstdio>

int main() {
  cufftHandle plan;
  cusparseHandle_t handle;
  std::printf("%d\n", int(cufftPlan1d(&plan, 1024, CUFFT_C2C, 1)));
  std::printf("%s\n", cusparseGetErrorName(cusparseCreate(&handle)));
  return 0;
}
