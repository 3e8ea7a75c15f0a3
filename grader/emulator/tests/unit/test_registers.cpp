// What registers allow, against NVIDIA's occupancy calculator (cuda_occupancy.h of the toolkit) and against
// what an H100 answered. And machine code that is damaged.
#include <cuda_runtime_api.h>
// Its own order: the calculator needs the runtime's types.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cudart/register_limit.h"
#include "loader/cubin.h"

namespace warpgrade {
namespace {

using cudart::blocks_by_registers;
using cudart::most_threads_by_registers;

constexpr uint32_t kRegisters = 65536;

int blocks_by_nvidia(int major, int minor, int registers, int threads) {
  cudaDeviceProp device{};
  device.major = major;
  device.minor = minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiProcessor = 2048;
  device.regsPerBlock = device.regsPerMultiprocessor = static_cast<int>(kRegisters);
  device.warpSize = 32;
  device.sharedMemPerBlock = device.sharedMemPerBlockOptin = 48 << 10;
  device.sharedMemPerMultiprocessor = 64 << 10;
  device.multiProcessorCount = 108;
  const cudaOccDeviceProp properties(device);
  cudaFuncAttributes kernel{};
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = registers;
  const cudaOccFuncAttributes attributes(kernel);
  cudaOccPartitionedGCConfig config = PARTITIONED_GC_OFF;
  cudaOccResult result{};
  int limit = -1;
  const cudaOccError error =
      cudaOccMaxBlocksPerSMRegsLimit(&limit, &config, &result, &properties, &attributes, threads);
  EXPECT_EQ(error, CUDA_OCC_SUCCESS);
  return limit;
}

TEST(Registers, allow_the_blocks_that_the_toolkits_calculator_allows) {
  for (const auto& [major, minor] : {std::pair{8, 0}, {9, 0}, {10, 0}, {6, 0}, {7, 5}}) {
    const uint32_t parts = major == 6 ? 2 : 4;
    for (int registers = 1; registers <= 255; ++registers) {
      for (int threads = 32; threads <= 1024; threads += 31) {
        // 6.0 is held to the rule of 6.1 there, where it is a matter of launching at all.
        const int theirs = blocks_by_nvidia(major, minor, registers, threads);
        if (major == 6 && blocks_by_nvidia(6, 1, registers, threads) == 0) continue;
        EXPECT_EQ(blocks_by_registers(static_cast<uint32_t>(registers), static_cast<uint32_t>(threads),
                                      kRegisters, parts),
                  static_cast<uint32_t>(theirs))
            << registers << " registers, " << threads << " threads, " << major << "." << minor;
      }
    }
  }
}

// On an NVIDIA H100 80GB HBM3 (driver 580.159.04): cudaFuncGetAttributes' maxThreadsPerBlock of a kernel with
// this many registers, which was the largest block that started; more was cudaErrorLaunchOutOfResources.
TEST(Registers, allow_the_largest_block_that_an_h100_started) {
  const struct {
    uint32_t registers, threads;
  } measured[] = {{72, 896},  {80, 768},  {96, 640},  {128, 512},
                  {136, 384}, {168, 384}, {184, 256}, {255, 256}};
  for (const auto& [registers, threads] : measured)
    EXPECT_EQ(most_threads_by_registers(registers, kRegisters), threads) << registers << " registers";
  EXPECT_GE(most_threads_by_registers(64, kRegisters), 1024u);
  EXPECT_GE(most_threads_by_registers(0, kRegisters), 1024u) << "a number that is not known limits nothing";
}

// cudaOccupancyMaxActiveBlocksPerMultiprocessor there, of blocks of 1 to 12 warps.
TEST(Registers, give_the_occupancy_that_an_h100_gave) {
  const struct {
    uint32_t registers;
    std::vector<uint32_t> blocks;
  } measured[] = {{72, {28, 14, 9, 7, 5, 4, 4, 3, 3, 2, 2, 2}},
                  {96, {20, 10, 6, 5, 4, 3, 2, 2, 2, 2, 1, 1}},
                  {184, {8, 4, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0}}};
  for (const auto& [registers, blocks] : measured) {
    for (uint32_t warps = 1; warps <= blocks.size(); ++warps)
      EXPECT_EQ(blocks_by_registers(registers, warps * 32, kRegisters), blocks[warps - 1])
          << registers << " registers, " << warps << " warps";
  }
}

TEST(Registers, cure_names_a_bound_that_fits) {
  for (uint32_t threads = 32; threads <= 1024; threads += 32) {
    const uint32_t registers = cudart::most_registers_for(threads, kRegisters);
    EXPECT_GE(most_threads_by_registers(registers, kRegisters), threads);
  }
  EXPECT_EQ(cudart::most_registers_for(1024, kRegisters), 64u);
}

// Every beginning of a real cubin, and one with each byte of its tables turned over.
TEST(Registers, of_a_damaged_cubin_are_not_read_outside_of_it) {
  std::ifstream file(WARPEMU_PROGRAM_DIR "/driver_errors.cubin", std::ios::binary);
  if (!file) GTEST_SKIP() << "the driver's programs were not built";
  const std::vector<uint8_t> whole{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(emu::registers_of_cubin(whole).empty());
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    static_cast<void>(emu::registers_of_cubin(cut));
  }
  for (size_t at = 4; at < whole.size(); at += 3) {
    std::vector<uint8_t> turned = whole;
    turned[at] ^= 0xff;
    static_cast<void>(emu::registers_of_cubin(turned));
  }
}

}  // namespace
}  // namespace warpgrade
