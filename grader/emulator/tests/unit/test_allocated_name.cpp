// The variable that a call of the runtime names in the source (cudart/allocated_name.h).
#include <gtest/gtest.h>

#include "cudart/allocated_name.h"

namespace warpgrade::cudart {
namespace {

TEST(AllocatedName, is_the_variable_whose_address_the_call_is_given) {
  EXPECT_EQ(name_in_allocation("  cudaMalloc(&d_x, n * sizeof(float));"), "d_x");
  EXPECT_EQ(name_in_allocation("CHECK(cudaMalloc((void **)&d_x, bytes));"), "d_x");
  EXPECT_EQ(name_in_allocation("cudaMalloc(reinterpret_cast<void**>(&plan->rows), 4);"), "plan->rows");
  EXPECT_EQ(name_in_allocation("cudaMallocManaged<float>(&all[k], 4);"), "all[k]");
  EXPECT_EQ(name_in_allocation("if (cudaMallocAsync(&s.buffer, 4, stream) != cudaSuccess)"), "s.buffer");
  EXPECT_EQ(name_in_allocation("cudaMalloc(&(*plan)->row_offsets, bytes)"), "(*plan)->row_offsets");
  EXPECT_EQ(name_in_allocation("cudaMalloc(&rows[f(k)], bytes)"), "rows[f(k)]");
  EXPECT_EQ(name_in_allocation("cudaHostAlloc(&pinned, 4, cudaHostAllocDefault);"), "pinned");
}

TEST(AllocatedName, is_empty_where_it_is_not_understood) {
  for (const char* text :
       {"", "thrust::device_vector<float> x(n);", "cudaMalloc(pointer, n & 3);", "cudaMalloc",
        "myCudaMalloc(&x, 3);", "cudaMalloc(&", "cudaMalloc(&a[", "cudaFree(&x);"})
    EXPECT_EQ(name_in_allocation(text), "") << text;
}

TEST(AllocatedName, of_a_call_of_several_lines_is_found_from_its_last_one) {
  const std::vector<std::string> lines{"  cudaMalloc(&other, 4);", "  cudaMalloc(&d_rows,",
                                       "             rows *", "                 sizeof(int));", "  run();"};
  for (size_t line = 2; line <= 4; ++line) EXPECT_EQ(name_in_allocation(lines, line), "d_rows") << line;
  EXPECT_EQ(name_in_allocation(lines, 1), "other");
  EXPECT_EQ(name_in_allocation(lines, 5), "") << "another statement";
  EXPECT_EQ(name_in_allocation(lines, 9), "");
  EXPECT_EQ(name_in_allocation(lines, 0), "");
}

TEST(AllocatedName, stands_before_the_number_wherever_a_message_has_it) {
  EXPECT_EQ(with_name("past the end of allocation #1 (400 bytes)", "allocation #1", "d_x"),
            "past the end of `d_x` (allocation #1, 400 bytes)");
  EXPECT_EQ(with_name("allocation #1 is none of allocation #12, allocation #1", "allocation #1", "x"),
            "`x` (allocation #1) is none of allocation #12, `x` (allocation #1)");
  const std::string once = with_name("byte 0 of allocation #1", "allocation #1", "x");
  EXPECT_EQ(with_name(once, "allocation #1", "x"), once);
}

}  // namespace
}  // namespace warpgrade::cudart
