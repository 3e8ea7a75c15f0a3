// Several processes on one device.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

TEST(Processes, share_memory_and_events) {
  expect_success("processes");
  expect_success("processes", "", kEveryCheck);
  expect_success("processes", "", "WARPEMU_NATIVE=always");
}

// Codes as the documentation of the calls lists them.
TEST(Processes, that_share_wrongly_are_told) {
  const struct {
    const char *name, *error, *message;
  } mistakes[] = {
      {"gone", "cudaErrorMapBufferObjectFailed", "which has ended or is another user's or container's"},
      {"own", "cudaErrorDeviceUninitialized", "cudaIpcOpenMemHandle in the process that made the handle"},
      {"inside", "cudaErrorInvalidValue", "of an address where no memory of cudaMalloc begins"},
      {"closed", "cudaErrorInvalidValue", "of an address that cudaIpcOpenMemHandle did not return"}};
  for (const auto& m : mistakes) {
    const Result r = run("processes", m.name);
    const std::string place =
        " at processes.cu:" + std::to_string(marked_line("processes.cu", m.name)) + "\n";
    for (const std::string& part : {std::string(m.error), std::string(m.message), place})
      EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
  }
  EXPECT_NE(run("processes", "timed").output.find("cudaErrorInvalidValue"), std::string::npos);
  EXPECT_NE(run("processes", "plain").output.find("cudaErrorInvalidResourceHandle"), std::string::npos);
}

TEST(Processes, know_the_bounds_of_memory_of_others) {
  const Result r = run("processes", "beyond");
  EXPECT_NE(r.output.find("out_of_bounds"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("memory of process "), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("cudaErrorIllegalAddress"), std::string::npos) << r.output;
}

}  // namespace
