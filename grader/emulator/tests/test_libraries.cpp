// Libraries that programs link to, and libraries of device code.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

// Programs of libraries that this machine's toolkit has not are not built.
bool is_built(const std::string& program) {
  return std::ifstream(std::string(WARPEMU_PROGRAM_DIR "/") + program).good();
}

TEST(Libraries, multiply_and_solve_like_cublas) {
  if (!is_built("cublas_host")) GTEST_SKIP() << "the toolkit has no cuBLAS";
  for (const char* program : {"cublas_host", "cublas_products_host"}) {
    expect_success(program);
    expect_success(program, "", "WARPEMU_CHECKS=all");
  }
}

TEST(Libraries, name_what_they_leave_out) {
  if (!is_built("cublas_host") || !is_built("missing_host"))
    GTEST_SKIP() << "the toolkit has no cuBLAS, cuFFT or cuSPARSE";
  const Result r = run("cublas_host", "left_out");
  EXPECT_NE(r.output.find("15\n"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("unsupported call of cublasCdotu_v2 (cuBLAS)"), std::string::npos) << r.output;
  const Result missing = run("missing_host");
  for (const char* part : {"unsupported call of cufftPlan1d (cuFFT)", "16\n",
                           "unsupported call of cusparseCreate (cuSPARSE)", "CUSPARSE_STATUS_NOT_SUPPORTED"})
    EXPECT_NE(missing.output.find(part), std::string::npos) << "want " << part << "\n" << missing.output;
}

TEST(Libraries, draw_the_random_numbers_of_curand) {
  expect_success("curand_host");
  expect_success("curand_host", "host");
}

TEST(Emulator, runs_libraries_of_device_code) {
  expect_success("thrust_algorithms");
  expect_success("cub_algorithms");
  expect_success("curand_device");
  expect_success("libcudacxx");
  expect_success("libcudacxx_barriers");
}

TEST(Emulator, runs_cub_and_thrust) {
  expect_success("cub_thrust");
}

}  // namespace
