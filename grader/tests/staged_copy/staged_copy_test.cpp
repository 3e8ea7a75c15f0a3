// Copies through pinned pieces, on the emulator's CUDA runtime: what arrives is what was sent, whatever the
// size is beside that of a piece.
#include "judge/judging/staged_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "judge/judging/cuda_memory.h"
#include "judge/measure/random.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(StagedCopy, BringsEveryByteThereAndBack) {
  StagedCopy copies;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 5 * kMiB + 3, 64 * kMiB - 1, 64 * kMiB,
                                  64 * kMiB + 1, 96 * kMiB, 97 * kMiB + 5}) {
    std::vector<std::uint64_t> sent(bytes / 8 + 1), got(bytes / 8 + 1);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = mix_bits(bytes + i);
    got = sent;
    DeviceArray<unsigned char> device(bytes);
    copies.to_device(device.get(), sent.data(), bytes);
    auto* bytes_got = reinterpret_cast<unsigned char*>(got.data());
    std::fill(bytes_got, bytes_got + bytes, 0);
    copies.to_host(got.data(), device.get(), bytes);
    EXPECT_TRUE(sent == got) << bytes << " bytes";  // and nothing behind them
  }
}

TEST(StagedCopy, LeavesNoByteOutWhateverTheNumberOfThreads) {
  for (std::size_t threads = 1; threads <= 9; ++threads) {
    for (const std::size_t bytes :
         {0UL, 1UL, 63UL, 64UL, 65UL, 128UL, 129UL, 576UL, 577UL, 640UL, 1000UL, 4097UL}) {
      std::vector<unsigned char> sent(bytes), got(bytes + 1, 7);
      for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<unsigned char>(mix_bits(i));
      copy_by_threads(got.data(), sent.data(), bytes, threads);
      EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()))
          << bytes << " bytes, " << threads << " threads";
      EXPECT_EQ(got.back(), 7);
    }
  }
}

}  // namespace
}  // namespace warpgrade
