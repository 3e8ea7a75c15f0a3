// What `calibrate --device` keeps, and whose figures it gives to records.
#include "course/profile/measured_rates.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

namespace warpgrade {
namespace {

using nlohmann::json;

class MeasuredRates : public ::testing::Test {
 protected:
  MeasuredRates() {
    if (const char* cache = std::getenv("WARPGRADE_CACHE")) before_ = cache;
    setenv("WARPGRADE_CACHE", scratch_.path().c_str(), 1);
  }
  ~MeasuredRates() override {
    before_ ? setenv("WARPGRADE_CACHE", before_->c_str(), 1) : unsetenv("WARPGRADE_CACHE");
  }

  const json device_{{"name", "NVIDIA H100 80GB HBM3"}, {"uuid", "GPU-5718f39e"}, {"sm_count", 132}};
  const json rates_{{"dram_bytes_per_s", 3.1e12}, {"sm_count", 132}};
  const TemporaryDirectory scratch_{"warpgrade-rates-test"};

 private:
  std::optional<std::string> before_;
};

TEST_F(MeasuredRates, AreThoseOfTheDeviceWithThatUuid) {
  EXPECT_TRUE(measured_rates(device_).is_null());
  keep_rates(device_, rates_);
  EXPECT_EQ(measured_rates(device_), rates_);
  json other = device_;
  other["uuid"] = "GPU-aaaaaaaa";
  EXPECT_TRUE(measured_rates(other).is_null());
}

// CUDA may give an instance (MIG) the number of its whole GPU.
TEST_F(MeasuredRates, OfAWholeGpuAreNotThoseOfAPartOfIt) {
  keep_rates(device_, rates_);
  json part = device_;
  part["sm_count"] = 16;
  EXPECT_TRUE(measured_rates(part).is_null());
}

TEST_F(MeasuredRates, ThatAreNoJsonOrOfNoDeviceAreNone) {
  make_directories(rates_file(device_).parent_path());
  write_text(rates_file(device_), "half a fi");
  EXPECT_TRUE(measured_rates(device_).is_null());
  EXPECT_TRUE(measured_rates(json::object()).is_null());
  EXPECT_TRUE(measured_rates({{"uuid", 7}, {"sm_count", 132}}).is_null());
}

TEST_F(MeasuredRates, KeepTheirFileInTheFolder) {
  json device = device_;
  device["uuid"] = "../../etc/x";
  EXPECT_EQ(rates_file(device).parent_path(), rates_file(device_).parent_path());
}

}  // namespace
}  // namespace warpgrade
