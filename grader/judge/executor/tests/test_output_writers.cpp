// Who wrote the outputs last: the sets of addresses, and each way by which memory is written.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "judge/executor/output_writers.h"

namespace warpgrade::executor {
namespace {

using cudart::MemoryKind;
using cudart::RowsCopy;

TEST(RangeSet, IsWhatAMapOfBitsIs) {
  const char* one = std::getenv("WARPGRADE_SEED");
  const unsigned seed = one != nullptr ? static_cast<unsigned>(std::atoi(one)) : std::random_device()();
  SCOPED_TRACE("WARPGRADE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  RangeSet set;
  std::vector<bool> bits(200);
  for (int step = 0; step < 2000; ++step) {
    const uint64_t begin = random() % 180, end = begin + random() % 20;
    const bool adds = random() % 2 == 0;
    adds ? set.add({begin, end}) : set.remove({begin, end});
    for (uint64_t k = begin; k < end; ++k) bits[k] = adds;
    const uint64_t from = random() % 100, to = from + random() % 100;
    uint64_t wanted = 0;
    for (uint64_t k = from; k < to; ++k) wanted += bits[k] ? 1 : 0;
    ASSERT_EQ(set.bytes_within({from, to}), wanted) << "step " << step;
  }
}

// An output and other memory of a device that is this process's memory.
class Writers : public testing::Test {
 protected:
  static constexpr uint64_t kBytes = 4096;

  Writers() : owned_(Limits{}), output_(kBytes), scratch_(kBytes), results_(kBytes) {
    for (uint64_t k = 0; k < kBytes; ++k) results_[k] = static_cast<uint8_t>(k * 37 + 11);
    writers_.add_output({address(output_), address(output_) + kBytes});
    for (const auto* memory : {&output_, &scratch_})
      owned_.add({address(*memory), address(*memory) + kBytes, MemoryKind::other, false});
    writers_.begin_run();
  }

  static uint64_t address(const std::vector<uint8_t>& memory) {
    return reinterpret_cast<uint64_t>(memory.data());
  }
  static RowsCopy row(std::vector<uint8_t>& to, std::vector<uint8_t>& from, uint64_t bytes = kBytes) {
    return {{address(to), bytes, 1}, {address(from), bytes, 1}, bytes};
  }
  void up(std::vector<uint8_t>& to, std::vector<uint8_t>& from, uint64_t bytes = kBytes) {
    std::memcpy(to.data(), from.data(), bytes);
    writers_.copy_from_host(row(to, from, bytes));
  }
  void across(std::vector<uint8_t>& to, std::vector<uint8_t>& from) {
    to = from;
    writers_.copy_on_device(row(to, from));
  }
  void launch(uint64_t parameter = 0) {
    uint8_t bytes[sizeof parameter];
    std::memcpy(bytes, &parameter, sizeof parameter);
    writers_.launch(bytes, owned_);
  }
  protocol::Written written() const {
    return writers_.written([](uint64_t at, std::span<uint8_t> to) {
      std::memcpy(to.data(), reinterpret_cast<const void*>(at), to.size());
      return true;
    });
  }

  OwnedMemory owned_;
  OutputWriters writers_;
  std::vector<uint8_t> output_, scratch_, results_;
};

TEST_F(Writers, ACopyBehindTheLastKernelIsTheHosts) {
  launch();
  up(output_, results_);
  EXPECT_EQ(written().host, kBytes);
  EXPECT_EQ(written().kernels, 1U);
}

TEST_F(Writers, AKernelBehindACopyMayHaveWrittenIt) {
  up(output_, results_);
  launch();
  EXPECT_EQ(written().host, 0U);
  EXPECT_EQ(written().passed, kBytes) << "all is as it was copied";
  for (uint64_t k = 0; k < kBytes / 2; k += 4) ++output_[k];
  EXPECT_EQ(written().passed, kBytes / 2) << "a word with one other byte is another word";
}

TEST_F(Writers, AProbeCountsWhatNoKernelHasWrittenAgain) {
  writers_.begin_run(uint8_t{0x5a});
  up(output_, results_);
  EXPECT_EQ(writers_.take_told().size(), 1U);
  std::fill(output_.begin(), output_.end(), 0x5a);  // as the server does
  launch();
  EXPECT_EQ(written().passed, kBytes);
  std::copy(results_.begin(), results_.end(), output_.begin());  // the kernel writes what the host wrote
  EXPECT_EQ(written().passed, 0U);
}

TEST_F(Writers, ACopyOfOneValueIsAFill) {
  std::vector<uint8_t> zeros(kBytes);
  up(output_, zeros);
  EXPECT_EQ(written().host, 0U);
  EXPECT_EQ(written().filled, kBytes);
  up(output_, results_, 4);  // a single number is a result
  EXPECT_EQ(written().host, 4U);
  EXPECT_EQ(written().filled, kBytes - 4);
}

TEST_F(Writers, AFillOverTheHostsDataIsAFill) {
  up(output_, results_);
  writers_.fill({address(output_), 0, 0, 4, kBytes / 8, 1});
  EXPECT_EQ(written().host, kBytes / 2);
  EXPECT_EQ(written().filled, kBytes / 2);
}

TEST_F(Writers, ACopyOnTheDevicePassesOnWhoWroteItsSource) {
  up(scratch_, results_);
  launch();  // has nothing to do with it
  across(output_, scratch_);
  EXPECT_EQ(written().host, kBytes);
  launch(address(scratch_) + 64);
  across(output_, scratch_);
  EXPECT_EQ(written().host + written().passed, 0U) << "the kernel was given the source";
}

TEST_F(Writers, BoxesAreTheirRows) {
  const RowsCopy box{{address(output_), 256, 2}, {address(results_), 16, 2}, 16, 2, 3};
  writers_.copy_from_host(box);
  EXPECT_EQ(written().host, 16U * 2 * 3);
}

TEST_F(Writers, EachRunBeginsAnew) {
  up(output_, results_);
  launch();
  writers_.begin_run();
  EXPECT_EQ(written().host + written().passed + written().filled + written().kernels, 0U);
  EXPECT_EQ(written().bytes, kBytes);
}

TEST_F(Writers, MemoryThatIsGoneIsForgotten) {
  up(scratch_, results_);
  writers_.forget({address(scratch_), address(scratch_) + kBytes});
  across(output_, scratch_);
  EXPECT_EQ(written().host, 0U);
}

}  // namespace
}  // namespace warpgrade::executor
