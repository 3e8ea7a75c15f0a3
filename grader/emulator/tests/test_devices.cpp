// Described devices: chosen by name, by file and by architecture.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "run_program.h"

namespace {

void expect_device(const std::string& environment, const std::string& want) {
  const Result r = run("device_queries", "", environment);
  EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
  EXPECT_NE(r.output.find(want), std::string::npos) << environment << ": want " << want << "\n" << r.output;
}

TEST(Devices, are_chosen_by_name) {
  expect_device("", "NVIDIA A100-SXM4-40GB (emulated)|8.0|sms 108|optin 166912|l2 41943040|memory 16384|");
  expect_device("WARPEMU_DEVICE=h200",
                "NVIDIA H200 (emulated)|9.0|sms 132|optin 232448|l2 62914560|memory 143156|");
  expect_device("WARPEMU_DEVICE=t4", "Tesla T4 (emulated)|7.5|sms 40|optin 65536|");
  expect_device("WARPEMU_DEVICE=p100", "Tesla P100-SXM2-16GB (emulated)|6.0|sms 56|optin 49152|");
}

TEST(Devices, decide_how_many_blocks_fit) {
  expect_device("WARPEMU_DEVICE=a100", "blocks 4\n");
  expect_device("WARPEMU_DEVICE=h200", "blocks 5\n");
  expect_device("WARPEMU_DEVICE=rtx3090", "blocks 2\n");
}

TEST(Devices, of_an_architecture_are_the_newest_that_is_not_newer) {
  expect_device("WARPEMU_ARCH=87", "NVIDIA GeForce RTX 3090 (emulated)|8.7|");  // nor the A10, of less memory
  expect_device("WARPEMU_ARCH=75", "Tesla T4 (emulated)|7.5|");
  expect_device("WARPEMU_DEVICE=h200 WARPEMU_ARCH=80", "NVIDIA H200 (emulated)|8.0|");
}

TEST(Devices, memory_can_be_set_apart) {
  expect_device("WARPEMU_DEVICE=h200 WARPEMU_MEMORY_MB=512", "|memory 512|");
}

class DeviceFile : public testing::Test {
 protected:
  // The description of the A100 with one text replaced.
  void write(const std::string& from, const std::string& to) {
    std::ifstream source(WARPEMU_SOURCE_DIR "/../devices/a100.device");
    std::string text{std::istreambuf_iterator<char>(source), {}};
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    std::ofstream(path_) << text;
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // Of this process: tests run beside each other.
  std::string path_ = testing::TempDir() + "warpemu_test_" + std::to_string(getpid()) + ".device";
};

// Where ptxas places it for each architecture (programs/shared_place.cu).
TEST(Devices, place_static_shared_memory_behind_what_the_system_keeps) {
  for (const char* device : {"a100", "rtx3090", "rtx4090"})
    EXPECT_EQ(run("shared_place", "", std::string("WARPEMU_DEVICE=") + device).output, "0\n0\n1229\n")
        << device;
  for (const char* device : {"h200", "b200"}) {
    const Result r = run("shared_place", "", std::string("WARPEMU_DEVICE=") + device);
    EXPECT_NE(r.output.find("1024\n700\n"), std::string::npos) << r.output;
    EXPECT_NE(r.output.find("out_of_bounds at shared_place.cu:" +
                            std::to_string(marked_line("shared_place.cu", "zero"))),
              std::string::npos)
        << r.output;
    EXPECT_NE(r.output.find("the first 1024 bytes of shared memory, which the system keeps"),
              std::string::npos)
        << r.output;
  }
}

TEST_F(DeviceFile, is_read) {
  write("multiprocessors = 108", "multiprocessors=3   # small");
  expect_device("WARPEMU_DEVICE=" + path_, "|sms 3|");
}

TEST_F(DeviceFile, with_mistakes_is_named_with_its_line_and_ignored) {
  write("l2_bytes = 41943040", "l2_bytes = 40 MB");
  expect_device("WARPEMU_DEVICE=" + path_, path_ + ":11: l2_bytes: want a whole number");
  write("l2_bytes = 41943040", "l2_size = 41943040");
  expect_device("WARPEMU_DEVICE=" + path_, ":11: unknown name 'l2_size'");
  write("l2_bytes = 41943040\n", "");
  expect_device("WARPEMU_DEVICE=" + path_, "l2_bytes is missing");
  write("l2_bytes = 41943040", "name = other");
  expect_device("WARPEMU_DEVICE=" + path_, ":11: name stands twice");
  expect_device("WARPEMU_DEVICE=h300", "no device or readable file 'h300'; known: a10, a100, b200, h200,");
}

}  // namespace
