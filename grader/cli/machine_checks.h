// What `warpgrade doctor` tells of the system beside the judge's own protections: a container that may make
// no namespaces, WSL 2, a toolkit newer than the driver, a driver that keeps its counters from users.
//
// `root` is "/"; a test gives a folder with the files that such a system has.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct MachineFinding {
  std::string topic;
  std::string state;   // ok, limited, missing
  std::string found;   // what is there, and what that means
  std::string advice;  // what to do, in one line; empty: nothing
};

// Why bubblewrap makes no box in a container, although its user may seem to be root. Nothing outside one.
std::optional<MachineFinding> container_finding(const std::filesystem::path& root, bool box_works);

// Windows Subsystem for Linux: whether Windows gives its GPU. Nothing on another system.
std::optional<MachineFinding> wsl_finding(const std::filesystem::path& root);

// Whether the driver gives its performance counters, which ncu reads, to this process. Nothing without
// NVIDIA's kernel module.
std::optional<MachineFinding> counters_finding(const std::filesystem::path& root);

// A toolkit ("13.0.88") newer than the driver, whose version stands in what nvidia-smi prints. Nothing where
// it is not newer, or where nothing is known of the driver.
std::optional<MachineFinding> newer_toolkit_finding(const std::string& toolkit,
                                                    const std::string& nvidia_smi);

}  // namespace warpgrade
