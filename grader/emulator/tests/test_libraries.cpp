// Libraries that programs link to, and libraries of device code.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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
    expect_success(program, "captured", "WARPEMU_CHECKS=all");
  }
}

// NVIDIA's documentation of cuBLAS ("CUDA Graphs Support"), and its sample conjugateGradientCudaGraphs.
TEST(Libraries, work_in_graphs) {
  if (!is_built("graph_of_libraries")) GTEST_SKIP() << "the toolkit lacks cuBLAS, cuBLASLt or cuSPARSE";
  expect_success("graph_of_libraries");
  expect_success("graph_of_libraries", "", "WARPEMU_CHECKS=all");
  const Result r = run("graph_of_libraries", "overrun");
  const std::string line = std::to_string(marked_line("graph_of_libraries.cu", "overrun"));
  for (const std::string& part :
       {"host_copy_overrun at graph_of_libraries.cu:" + line, std::string("0\ncudaErrorLaunchFailure\n")})
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
}

TEST(Libraries, are_ordered_by_the_branches_of_a_graph) {
  if (!is_built("graph_of_libraries")) GTEST_SKIP() << "the toolkit lacks cuBLAS, cuBLASLt or cuSPARSE";
  const Result wrong = run("graph_of_libraries", "unordered", "WARPEMU_CHECKS=racecheck");
  EXPECT_NE(wrong.output.find("unordered at graph_of_libraries.cu:"), std::string::npos) << wrong.output;
  const Result right = run("graph_of_libraries", "ordered", "WARPEMU_CHECKS=racecheck");
  EXPECT_EQ(right.exit_code, 0);
  EXPECT_EQ(right.output, "");
}

TEST(Libraries, name_what_they_leave_out) {
  if (!is_built("cublas_host")) GTEST_SKIP() << "the toolkit has no cuBLAS";
  const Result r = run("cublas_host", "left_out");
  EXPECT_NE(r.output.find("15\n"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("unsupported call of cublasCdotu_v2 (cuBLAS)"), std::string::npos) << r.output;
}

TEST(Libraries, multiply_like_cublaslt) {
  if (!is_built("cublasLt_host")) GTEST_SKIP() << "the toolkit has no cuBLASLt";
  expect_success("cublasLt_host");
  expect_success("cublasLt_host", "", "WARPEMU_CHECKS=all");
  for (const char* device : {"l4", "h200", "b200"})
    expect_success("cublasLt_host", "fp8_products", std::string("WARPEMU_DEVICE=") + device);
}

// `cublasLt_host survey` on an H200 (driver 580, CUDA 13): 640 combinations of types, orders and transposes.
TEST(Libraries, take_the_orders_that_cublaslt_takes_on_a_gpu) {
  if (!is_built("cublasLt_host")) GTEST_SKIP() << "the toolkit has no cuBLASLt";
  std::ifstream recorded(WARPEMU_SOURCE_DIR "/recorded/recordings/cublaslt_orders.txt");
  std::istringstream told(run("cublasLt_host", "survey").output);
  const auto lines = [](std::istream& from) {
    std::vector<std::string> found;
    for (std::string line; std::getline(from, line);)
      if (line.find(", kind ") != std::string::npos) found.push_back(line);
    return found;
  };
  const std::vector<std::string> want = lines(recorded);
  EXPECT_EQ(want.size(), 640u);
  EXPECT_EQ(lines(told), want);
}

TEST(Libraries, name_what_a_product_of_cublaslt_wants) {
  if (!is_built("cublasLt_host")) GTEST_SKIP() << "the toolkit has no cuBLASLt";
  const std::string overrun =
      "host_copy_overrun at cublasLt_host.cu:" + std::to_string(marked_line("cublasLt_host.cu", "overrun"));
  const std::pair<const char*, std::vector<std::string>> told[] = {
      {"shape", {"op(B) is 3 x 5, expected 4 x 5", "\n7\n"}},
      {"epilogue", {"with CUBLASLT_MATMUL_DESC_EPILOGUE 1024 (cuBLASLt): it needs a GPU", "\n15\n"}},
      {"bias", {"the epilogue needs CUBLASLT_MATMUL_DESC_BIAS_POINTER", "\n7\n"}},
      {"aux", {"EPILOGUE_AUX_LD is 8, expected a multiple of 128 of at least 6, the rows of D", "\n7\n"}},
      {"order", {"with CUBLASLT_MATRIX_LAYOUT_ORDER 9 of A", "\n15\n"}},
      {"complex", {"with CUBLASLT_MATRIX_LAYOUT_TYPE of complex numbers", "\n15\n"}},
      {"fp8", {"need compute capability 8.9, and the device has 8.0", "\n15\n"}},
      {"overrun", {overrun, "\n13\n"}},
      {"beyond", {overrun, "a copy of 24 bytes at offset 108 leaves `device`", "\n13\n"}}};
  for (const auto& [argument, parts] : told) {
    const Result r = run("cublasLt_host", argument);
    for (const std::string& part : parts)
      EXPECT_NE(("\n" + r.output).find(part), std::string::npos) << argument << ": want " << part << "\n"
                                                                 << r.output;
  }
}

TEST(Libraries, transform_like_cufft) {
  if (!is_built("cufft_host")) GTEST_SKIP() << "the emulator is built without cuFFT";
  expect_success("cufft_host");
  expect_success("cufft_host", "", "WARPEMU_CHECKS=all");
}

TEST(Libraries, name_the_array_that_a_transform_leaves) {
  if (!is_built("cufft_host")) GTEST_SKIP() << "the emulator is built without cuFFT";
  const Result r = run("cufft_host", "overrun");
  const std::string line = std::to_string(marked_line("cufft_host.cu", "overrun"));
  for (const std::string& part :
       {"host_copy_overrun at cufft_host.cu:" + line,
        std::string("a copy of 512 bytes at offset 0 leaves `data` (allocation #2, 504 bytes)"),
        std::string("\n6\n")})  // CUFFT_EXEC_FAILED
    EXPECT_NE(("\n" + r.output).find(part), std::string::npos) << "want " << part << "\n" << r.output;
}

TEST(Libraries, order_transforms_by_their_streams) {
  if (!is_built("cufft_host")) GTEST_SKIP() << "the emulator is built without cuFFT";
  const Result r = run("cufft_host", "unordered", "WARPEMU_CHECKS=all");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  for (const char* mark : {"unordered", "early"}) {
    const std::string place =
        "unordered at cufft_host.cu:" + std::to_string(marked_line("cufft_host.cu", mark)) + "\n";
    EXPECT_NE(r.output.find(place), std::string::npos) << "want " << place << r.output;
  }
}

TEST(Libraries, name_what_cufft_leaves_out) {
  if (!is_built("cufft_host")) GTEST_SKIP() << "the emulator is built without cuFFT";
  const Result r = run("cufft_host", "left_out");
  for (const char* part : {"16\n16\n", "unsupported call of cufftXtSetGPUs (cuFFT)",
                           "unsupported call of cufftXtMakePlanMany of halves, or of mixed types (cuFFT)"})
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
}

// grader/tests/test_cusparse.py compares with SciPy, over random matrices.
TEST(Libraries, multiply_sparse_matrices_like_cusparses_samples) {
  if (!is_built("cusparse_host")) GTEST_SKIP() << "the toolkit has no cuSPARSE";
  expect_success("cusparse_host");
  expect_success("cusparse_host", "", "WARPEMU_CHECKS=all");
}

TEST(Libraries, name_the_entry_whose_index_is_outside_of_a_sparse_matrix) {
  if (!is_built("cusparse_host")) GTEST_SKIP() << "the toolkit has no cuSPARSE";
  const Result r = run("cusparse_host", "index");
  EXPECT_NE(r.output.find("CUSPARSE_STATUS_EXECUTION_FAILED\n"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("cusparseSpMV: entry 1 of row 2 (place 5) has column 4, expected 0 to 3"),
            std::string::npos)
      << r.output;
}

// What the host needs the result of is refused.
TEST(Libraries, multiply_sparse_matrices_in_graphs) {
  if (!is_built("cusparse_host")) GTEST_SKIP() << "the toolkit has no cuSPARSE";
  const Result r = run("cusparse_host", "captured", "WARPEMU_CHECKS=all");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(
      r.output.find("cusparseSpGEMM_compute: the handle's stream is being captured, and the host needs "),
      std::string::npos)
      << r.output;
}

// The other libraries' every function is asked by grader/tests/test_left_out_libraries.py.
TEST(Libraries, that_are_left_out_fail_with_the_codes_of_their_headers) {
  if (!is_built("missing_host")) GTEST_SKIP() << "the toolkit has no cuSOLVER";
  const Result r = run("missing_host");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  for (const char* part : {"unsupported call of cusolverDnCreate (cuSOLVER)", "cuSOLVER 1\n"})
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
  EXPECT_EQ(r.output.find(" 0"), std::string::npos) << r.output;  // cuSOLVER, cuDNN
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
