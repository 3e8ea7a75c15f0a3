// NVIDIA's Nsight Compute (ncu) on this machine: where it is, whether its counters can be read in a box, what
// is asked of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade::hardware {

// A version of ncu, as NVIDIA's packages lay it out: `target/linux-desktop-.../ncu` and `sections` below
// one folder.
struct Ncu {
  std::filesystem::path folder;   // of the version
  std::filesystem::path program;  // below it
};

// The newest one: of $WARPGRADE_NCU, of PATH, of the toolkit's, of /opt/nvidia/nsight-compute. In PATH is a
// script, which names no folder; so it is looked for beside the script and in the usual places.
std::optional<Ncu> find_ncu(const std::filesystem::path& toolkit);

// Why programs in a box, which have no rights, may not read the GPU's counters, and what to do; "": they may.
// `root` is "/"; a test gives a folder with the driver's file.
std::string permission_refusal(const std::filesystem::path& root);

// What is counted, on every GPU the same. `known`: what `ncu --query-metrics` prints there; a name that it
// lacks would make ncu refuse all others. Empty: nothing is known.
std::vector<std::string> wanted_metrics(const std::string& known = "");

// At most so many launches of a program are counted.
inline constexpr int kMostLaunches = 64;

// The arguments of a program that collects into `report` (without its ending), up to the program's own.
std::vector<std::string> collecting(const std::vector<std::string>& metrics, const std::string& sources,
                                    const std::string& sections, const std::string& report);

}  // namespace warpgrade::hardware
