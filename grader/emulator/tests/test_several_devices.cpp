// Programs that use several devices.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "run_program.h"

namespace {

TEST(SeveralDevices, have_memory_variables_and_streams_of_their_own) {
  for (const char* environment : {"WARPEMU_DEVICES=2", "WARPEMU_DEVICES=3 WARPEMU_NATIVE=always",
                                  "WARPEMU_DEVICES=16 WARPEMU_CHECKS=all"}) {
    const Result r = run("several_devices", "", environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    // CUDA 12's runtime refuses a launch into another device's stream, that of 13 starts it there.
    const bool is_refused =
        r.output.find("its stream belongs to device 0, and the current device is 1") != std::string::npos;
    EXPECT_EQ(is_refused, CUDART_VERSION < 13000);
    EXPECT_EQ(r.output.find("other_device"), std::string::npos) << r.output;
  }
  const Result one = run("several_devices");
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_EQ(one.output, "one device: what takes two was not tried\n");
}

TEST(SeveralDevices, access_without_peer_access_is_named_at_its_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_CHECKS=all"}) {
    for (const char* name : {"reads_peer", "writes_peer"}) {
      const Result r = run("several_devices", name, std::string(native) + " WARPEMU_DEVICES=2");
      const std::string place = "emulator: other_device at several_devices.cu:" +
                                std::to_string(marked_line("several_devices.cu", name));
      EXPECT_NE(r.output.find("700\n"), std::string::npos) << r.output;
      EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
      EXPECT_NE(r.output.find("memory of device 1, from device 0"), std::string::npos) << r.output;
    }
  }
}

}  // namespace
