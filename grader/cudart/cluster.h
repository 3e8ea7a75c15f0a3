// Thread block clusters of a launch: the attribute's size, or what the kernel was compiled for.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "cudart/backend.h"

namespace warpgrade::cudart {

using ClusterSize = std::array<uint32_t, 3>;

inline constexpr uint32_t kPortableClusterBlocks = 8;  // that every device with clusters allows
inline constexpr uint32_t kMostClusterBlocks = 16;

inline uint64_t blocks_of(const ClusterSize& size) {
  return uint64_t{size[0]} * size[1] * size[2];
}

inline uint32_t most_cluster_blocks(const KernelFacts& facts) {
  return facts.wide_clusters != 0 ? kMostClusterBlocks : kPortableClusterBlocks;
}

// Zeros when neither says one.
inline ClusterSize asked_cluster(std::span<const cudaLaunchAttribute> attributes) {
  ClusterSize size{};
  for (const cudaLaunchAttribute& a : attributes) {
    if (a.id == cudaLaunchAttributeClusterDimension)
      size = {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
  }
  return size;
}

inline ClusterSize cluster_of(std::span<const cudaLaunchAttribute> attributes,
                              const std::array<int32_t, 3>& required) {
  ClusterSize size = asked_cluster(attributes);
  if (blocks_of(size) == 0) std::copy(required.begin(), required.end(), size.begin());
  return blocks_of(size) == 0 ? ClusterSize{1, 1, 1} : size;
}

}  // namespace warpgrade::cudart
