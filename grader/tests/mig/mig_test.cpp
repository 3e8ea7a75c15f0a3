// Partitioned GPUs, on machines that were recorded: which devices a run is judged on, under which names and
// leases, and which device files a box shows. NVIDIA's management library is a stand-in that tells the
// recording; CUDA's answers are made as its documentation says.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "course/batch/devices.h"
#include "judge/measure/nvml.h"
#include "judge/sandbox/gpu_files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Each test is a process of its own (ctest): the library reads its machine once.
void be_on(const std::string& machine) {
  setenv("WARPGRADE_TEST_NVIDIA_SMI", (fs::path(RECORDED) / (machine + ".txt")).c_str(), 1);
}

// What CUDA answers in a process whose CUDA_VISIBLE_DEVICES is one name of the recording, or a beginning
// of one.
class Cuda {
 public:
  explicit Cuda(const std::string& machine, bool numbers_of_whole_gpus = false)
      : numbers_of_whole_gpus_(numbers_of_whole_gpus) {
    static const std::regex kGpu(R"(GPU \d+: (.+) \(UUID: (.+)\))");
    static const std::regex kInstance(R"( +MIG (\S+) +Device +\d+: \(UUID: (.+)\))");
    std::ifstream text(fs::path(RECORDED) / (machine + ".txt"));
    std::string gpu, uuid;
    std::smatch part;
    for (std::string line; std::getline(text, line);) {
      if (std::regex_match(line, part, kGpu)) {
        gpu = part[1];
        uuid = part[2];
        whole_[uuid] = {{"name", gpu}, {"uuid", uuid}};
      } else if (std::regex_match(line, part, kInstance)) {
        const std::string own = "GPU-" + part[2].str().substr(4);
        instances_[part[2]] = {{"name", gpu + " MIG " + part[1].str()},
                               {"uuid", numbers_of_whole_gpus_ ? uuid : own}};
        whole_.erase(uuid);  // CUDA does not use a partitioned GPU as a whole
      }
    }
  }

  nlohmann::json operator()(const std::string& visible) const {
    nlohmann::json found = nlohmann::json::object();
    for (const auto* devices : {&whole_, &instances_})
      for (const auto& [name, about] : *devices)
        if (!visible.empty() && name.starts_with(visible)) found = about;
    return found;
  }

 private:
  bool numbers_of_whole_gpus_;
  std::map<std::string, nlohmann::json> whole_, instances_;
};

std::vector<JudgeDevice> found(const std::string& machine, const char* visible, const Names& asked = {},
                               bool numbers_of_whole_gpus = false) {
  be_on(machine);
  Names left_out;
  auto devices = find_gpus(listed_gpus(), visible, Cuda(machine, numbers_of_whole_gpus), left_out);
  keep_asked(devices, asked, left_out);
  return devices;
}

Names names_of(const std::vector<JudgeDevice>& devices) {
  Names names;
  for (const JudgeDevice& device : devices) names.push_back(device.visible);
  return names;
}

TEST(Mig, APartitionedGpuIsItsInstancesInTheListAndTheOthersAreWhole) {
  be_on("a100-four-instances");
  const Names listed = listed_gpus();
  ASSERT_EQ(listed.size(), 7U);
  EXPECT_EQ(listed[0], "MIG-ce861fb0-a248-58ce-a9a8-f9adbc22a66a");
  EXPECT_EQ(listed[3], "MIG-930574a9-d43a-5d2b-95da-3e68384c8d6b");
  EXPECT_EQ(listed[4], "GPU-d8594bd4-0fc3-8595-e355-7c98138f3b95");
}

TEST(Mig, EachInstanceHasAJudgeAndALeaseOfItsOwn) {
  const auto devices = found("a100-seven-instances", nullptr);
  ASSERT_EQ(devices.size(), 7U);
  std::set<std::string> leases;
  for (const JudgeDevice& device : devices) leases.insert(device.lease);
  EXPECT_EQ(leases.size(), 7U);
}

TEST(Mig, AlsoWhereCudaGivesAllOfThemTheNumberOfTheWholeGpu) {
  const auto devices = found("a100-seven-instances", nullptr, {}, true);
  ASSERT_EQ(devices.size(), 7U);
  EXPECT_NE(devices[0].lease, devices[1].lease);
  const auto same = found("a100-seven-instances", "MIG-feb888", {}, true);
  ASSERT_EQ(same.size(), 1U);
  EXPECT_EQ(same[0].lease, devices[0].lease) << "whatever it was called, it is the same instance";
  EXPECT_EQ(same[0].visible, devices[0].visible);
}

TEST(Mig, CudasVariableNamesInstances) {
  const char* two = "MIG-50f1c4c9-1508-5e8d-bb06-d08145b22e01,MIG-feb88891-0321-5fef-9c87-d4af3b54259e";
  EXPECT_EQ(names_of(found("a100-seven-instances", two)),
            (Names{"MIG-50f1c4c9-1508-5e8d-bb06-d08145b22e01", "MIG-feb88891-0321-5fef-9c87-d4af3b54259e"}));
  EXPECT_EQ(names_of(found("a100-seven-instances", "MIG-36c7")),
            (Names{"MIG-36c795f2-5cf7-55d6-af30-e535e79b7bb6"}))
      << "judges' processes get the whole name";
  EXPECT_TRUE(found("a100-seven-instances", "").empty());
}

TEST(Mig, TheOptionChoosesInstancesByNumberAndName) {
  EXPECT_EQ(names_of(found("a100-seven-instances", nullptr, {"6", "MIG-50f1"})),
            (Names{"MIG-1aae4990-b962-574e-8375-119d6d9b9687", "MIG-50f1c4c9-1508-5e8d-bb06-d08145b22e01"}));
  EXPECT_THROW(found("a100-seven-instances", nullptr, {"7"}), UsageError);
  EXPECT_THROW(found("a100-seven-instances", "MIG-36c7", {"1"}), UsageError)
      << "counted in what the variable leaves";
}

TEST(Mig, InstancesOfAnotherSizeAndWholeGpusAreOtherModels) {
  EXPECT_EQ(names_of(found("two-sizes", nullptr)), (Names{"MIG-11111111-6c2e-5f0e-9f5e-3f1d7a1e0001"}));
  EXPECT_EQ(names_of(found("two-sizes", nullptr, {"1", "2"})).size(), 2U);
  EXPECT_THROW(found("two-sizes", nullptr, {"0", "1"}), UsageError);
}

TEST(Mig, WholeGpusBesideInstancesAreLeftOut) {
  EXPECT_EQ(found("a100-four-instances", nullptr).size(), 4U);
}

TEST(Mig, NamesOfOlderDriversHaveSlashesAndTheirLeasesNone) {
  const auto devices = found("before-r470", nullptr);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].visible, "MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/2/0");
  EXPECT_EQ(fs::path(devices[1].lease).parent_path(), fs::temp_directory_path());
  EXPECT_NE(devices[0].lease, devices[1].lease);
}

// nvmlDeviceGetEccMode of https://docs.nvidia.com/deploy/nvml-api/
TEST(Mig, ARecordSaysWhetherTheDeviceIsAnInstanceAndItsMemoryCorrectsErrors) {
  be_on("a100-seven-instances");
  const auto instance = gpu_settings("GPU-feb88891-0321-5fef-9c87-d4af3b54259e");
  EXPECT_EQ(instance, nlohmann::json({{"mig", true}, {"ecc", true}})) << instance;
  EXPECT_EQ(gpu_settings("GPU-00000000-0321-5fef-9c87-d4af3b54259e"), nlohmann::json::object());
}

TEST(Mig, ClocksAreThoseOfTheWholeGpu) {
  be_on("a100-seven-instances");
  // As records name the instance: CUDA gives its number alone.
  const auto state = read_gpu_state("GPU-feb88891-0321-5fef-9c87-d4af3b54259e");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->sm_mhz, 1410U);
  EXPECT_TRUE(gpu_is_throttled("GPU-feb88891-0321-5fef-9c87-d4af3b54259e"));
  EXPECT_FALSE(read_gpu_state("GPU-00000000-0321-5fef-9c87-d4af3b54259e").has_value());
}

// ---- device files

class DeviceFiles : public testing::Test {
 protected:
  DeviceFiles() : place_("warpgrade-device-files") {
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"}) make("dev", name);
  }
  const fs::path& root() const { return place_.path(); }
  void make(const fs::path& folder, const std::string& name, const std::string& text = "") const {
    fs::create_directories(root() / folder);
    std::ofstream(root() / folder / name) << text;
  }
  Names shown() const {
    Names names;
    for (const fs::path& file : gpu_device_files(root())) names.push_back(fs::relative(file, root() / "dev"));
    return names;
  }
  static Names with(Names more) {
    Names names{"nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"};
    names.insert(names.end(), more.begin(), more.end());
    return names;
  }

 private:
  TemporaryDirectory place_;
};

TEST_F(DeviceFiles, OfWholeGpusAreTheDriversOwn) {
  EXPECT_EQ(shown(), with({}));
}

TEST_F(DeviceFiles, OfInstancesAreThoseThatGiveAccessAndNeverThoseThatPartition) {
  for (const char* number : {"1", "2", "3", "4", "12", "13"})
    make("dev/nvidia-caps", std::string("nvidia-cap") + number);
  make("proc/driver/nvidia-caps", "mig-minors",
       "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\ngpu0/gi0/ci1/access 5\n"
       "gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n");
  EXPECT_EQ(shown(), with({"nvidia-caps/nvidia-cap3", "nvidia-caps/nvidia-cap4", "nvidia-caps/nvidia-cap12",
                           "nvidia-caps/nvidia-cap13"}))
      << "of the instances that there are";
}

TEST_F(DeviceFiles, WhoseMeaningIsNotKnownAreNotShown) {
  make("dev/nvidia-caps", "nvidia-cap1");
  EXPECT_EQ(shown(), with({}));
}

}  // namespace
}  // namespace warpgrade
