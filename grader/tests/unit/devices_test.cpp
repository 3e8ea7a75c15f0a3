#include "course/batch/devices.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace warpgrade {
namespace {

using Names = std::vector<std::string>;
using Places = std::vector<std::size_t>;

const Names kGpus{"GPU-aa01", "GPU-aa02", "MIG-bb01", "MIG-bb02"};

TEST(Devices, CudasVariableMeansNumbersNamesAndBeginningsOfNames) {
  EXPECT_EQ(visible_devices(kGpus, "2,0"), (Names{"MIG-bb01", "GPU-aa01"}));
  EXPECT_EQ(visible_devices(kGpus, "GPU-aa02, MIG-bb02"), (Names{"GPU-aa02", "MIG-bb02"}));
  EXPECT_EQ(visible_devices(kGpus, "1,1,1"), (Names{"GPU-aa02"})) << "none twice";
}

TEST(Devices, CudasVariableEndsWithTheFirstEntryThatMeansNothing) {
  EXPECT_EQ(visible_devices(kGpus, "0,7,1"), (Names{"GPU-aa01"}));
  EXPECT_EQ(visible_devices(kGpus, "1,-1,0"), (Names{"GPU-aa02"}));
  EXPECT_EQ(visible_devices(kGpus, "GPU-aa"), Names{}) << "two begin so";
  EXPECT_EQ(visible_devices(kGpus, ""), Names{});
}

TEST(Devices, TheOptionCountsInWhatIsLeft) {
  const Names left = visible_devices(kGpus, "3,1");
  EXPECT_EQ(chosen_devices(left, {"1"}), (Places{1}));
  EXPECT_EQ(chosen_devices(left, {"GPU-aa02", "0", "1"}), (Places{1, 0})) << "none twice";
}

TEST(Devices, AnEntryOfTheOptionThatMeansNothingIsRefusedWithWhatThereIs) {
  for (const char* wrong : {"4", "GPU-cc", "", "one"}) {
    try {
      chosen_devices(kGpus, {wrong});
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("it has: GPU-aa01, GPU-aa02"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace warpgrade
