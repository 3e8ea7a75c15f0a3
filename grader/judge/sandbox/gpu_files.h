// The device files that a program needs for NVIDIA's GPUs.
#pragma once

#include <filesystem>
#include <vector>

namespace warpgrade {

// Those of all GPUs, and of the instances of partitioned ones (MIG): /dev/nvidia-caps/nvidia-cap<N>, where
// /proc/driver/nvidia-caps/mig-minors says that N gives access to an instance. Those that allow to partition
// a GPU anew or to watch it as a whole (`config`, `monitor`) are never among them. `root` is where /dev and
// /proc lie. https://docs.nvidia.com/datacenter/tesla/mig-user-guide/device-nodes-and-capabilities.html
std::vector<std::filesystem::path> gpu_device_files(const std::filesystem::path& root = "/");

}  // namespace warpgrade
