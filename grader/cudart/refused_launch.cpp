#include "cudart/refused_launch.h"

#include <algorithm>

#include "cudart/errors.h"
#include "cudart/register_limit.h"

namespace warpgrade::cudart {
namespace {

// What is wrong with a launch, and what to do.
struct Reason {
  std::string what, cure;
};

std::string text_of(dim3 size) {
  return "(" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + ")";
}

std::string number_text(const std::string& what, uint64_t is, const std::string& bound, uint64_t limit) {
  return what + " is " + std::to_string(is) + ", and must be " + bound + " " + std::to_string(limit);
}

int32_t attribute(cudaDeviceAttr which) {
  return backend().device().attributes[static_cast<size_t>(which)];
}

uint32_t registers_per_block() {
  return static_cast<uint32_t>(std::max(0, attribute(cudaDevAttrMaxRegistersPerBlock)));
}

uint64_t threads_of(const KernelCall& call) {
  return uint64_t(call.block.x) * call.block.y * call.block.z;
}

// Empty where the sizes of grid and block are possible at all.
Reason wrong_sizes(const KernelCall& call) {
  const dim3 &grid = call.grid, &block = call.block;
  struct Axis {
    const char* what;
    uint64_t is, limit;
    const char* cure;
  };
  const char* const grid_cure =
      "A grid has at least one block. Round up: (n + threads - 1) / threads blocks, and no launch where n is "
      "0.";
  const char* const block_cure = "A block has at least one thread. Look at how its size is computed.";
  const Axis axes[] = {{"the grid's x", grid.x, kMaxGridX, grid_cure},
                       {"the grid's y", grid.y, kMaxGridYZ, grid_cure},
                       {"the grid's z", grid.z, kMaxGridYZ, grid_cure},
                       {"the block's x", block.x, kMaxThreadsPerBlock, block_cure},
                       {"the block's y", block.y, kMaxThreadsPerBlock, block_cure},
                       {"the block's z", block.z, kMaxBlockZ, block_cure}};
  for (const Axis& axis : axes) {
    if (axis.is == 0) return {number_text(axis.what, axis.is, "at least", 1), axis.cure};
  }
  if (const uint64_t threads = threads_of(call); threads > kMaxThreadsPerBlock) {
    return {number_text("the number of threads in a block", threads, "at most", kMaxThreadsPerBlock),
            "Take smaller blocks, and more of them: x * y * z of the block must not exceed 1024."};
  }
  for (const Axis& axis : axes) {
    if (axis.is <= axis.limit) continue;
    return {
        number_text(axis.what, axis.is, "at most", axis.limit),
        "Put the larger number into x, which may be larger, or let each thread do more than one element."};
  }
  return {};
}

Reason wrong_cluster(const KernelCall& call, const KernelFacts& facts) {
  const ClusterSize cluster = cluster_of(call.attributes, facts.cluster);
  if (blocks_of(cluster) > most_cluster_blocks(facts)) {
    return {"a cluster has " + std::to_string(blocks_of(cluster)) + " blocks, and may have at most " +
                std::to_string(most_cluster_blocks(facts)),
            "Take a smaller cluster. More than 8 blocks take cudaFuncSetAttribute("
            "cudaFuncAttributeNonPortableClusterSizeAllowed)."};
  }
  const int axis = uneven_axis(call, cluster);
  if (axis == 3) return {};
  const uint32_t grid[] = {call.grid.x, call.grid.y, call.grid.z};
  return {std::string("the grid's ") + "xyz"[axis] + " is " + std::to_string(grid[axis]) +
              ", and must be a multiple of the cluster's, which is " +
              std::to_string(cluster[static_cast<size_t>(axis)]),
          "Round the grid up to a multiple of the cluster, and let the blocks beyond the end do nothing."};
}

Reason too_many_registers(const KernelFacts& facts, uint32_t threads) {
  const auto registers = static_cast<uint32_t>(facts.registers);
  const uint32_t limit = registers_per_block();
  return {"its block takes too many registers: " + register_sum(registers, threads, limit),
          register_cure(registers, threads, limit)};
}

Reason too_many_threads(const KernelFacts& facts, uint64_t threads) {
  const std::string most = std::to_string(facts.max_threads);
  return {number_text("the number of threads in a block", threads, "for this kernel at most",
                      static_cast<uint64_t>(facts.max_threads)),
          "The kernel is declared with __launch_bounds__(" + most + "): launch at most " + most +
              " threads a block, or raise that number."};
}

Reason too_much_shared(const KernelCall& call, const KernelFacts& facts) {
  const auto allowed = static_cast<size_t>(std::max(0, facts.max_dynamic_shared));
  const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - facts.static_shared;
  const bool can_be_allowed = call.dynamic_shared <= static_cast<size_t>(std::max(0, most));
  return {number_text("the number of bytes of dynamic shared memory", call.dynamic_shared,
                      "beside " + std::to_string(facts.static_shared) + " static ones at most", allowed),
          can_be_allowed
              ? "More than 48 KB of shared memory take, before the launch, cudaFuncSetAttribute(kernel, "
                "cudaFuncAttributeMaxDynamicSharedMemorySize, " +
                    std::to_string(call.dynamic_shared) + ")."
              : "The device allows at most " + std::to_string(most) +
                    " bytes for this kernel, even after cudaFuncSetAttribute: take smaller tiles."};
}

Reason too_many_blocks(const Kernel& kernel, const KernelCall& call) {
  uint64_t resident = 0;
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  if (resident_blocks(kernel, call, resident) != cudaSuccess || multiprocessors <= 0)
    return {"its blocks do not all fit onto the device at once", ""};
  const uint64_t blocks = uint64_t(call.grid.x) * call.grid.y * call.grid.z;
  const std::string a_multiprocessor = std::to_string(resident / static_cast<uint64_t>(multiprocessors));
  return {"all blocks of a cooperative launch must be on the device at once; it has " +
              std::to_string(blocks) + " blocks, and the device holds " + a_multiprocessor +
              " of them on each of " + std::to_string(multiprocessors) +
              " multiprocessors = " + std::to_string(resident),
          "Launch at most " + std::to_string(resident) +
              " blocks and let each block do more in a loop: "
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor() x the number of multiprocessors tells how "
              "many fit."};
}

// The first number of a launch that is wrong, what its limit is, and what to do.
Reason reason_of(const KernelCall& call) {
  if (Reason sizes = wrong_sizes(call); !sizes.what.empty()) return sizes;
  Kernel* kernel = nullptr;
  if (Registry::instance().resolve(call.function, &kernel) != cudaSuccess)
    return {"it has no code for this device", "Build the program for this device's architecture."};
  const KernelFacts& facts = kernel->facts;
  if (Reason cluster = wrong_cluster(call, facts); !cluster.what.empty()) return cluster;
  const auto threads = static_cast<uint32_t>(threads_of(call));
  if (threads > static_cast<uint32_t>(facts.max_threads)) {
    return takes_too_many_registers(facts, threads) ? too_many_registers(facts, threads)
                                                    : too_many_threads(facts, threads);
  }
  if (call.dynamic_shared > static_cast<size_t>(std::max(0, facts.max_dynamic_shared)))
    return too_much_shared(call, facts);
  return too_many_blocks(*kernel, call);
}

}  // namespace

int uneven_axis(const KernelCall& call, const ClusterSize& cluster) {
  const uint32_t grid[] = {call.grid.x, call.grid.y, call.grid.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] % cluster[static_cast<size_t>(axis)] != 0) return axis;
  }
  return 3;
}

bool takes_too_many_registers(const KernelFacts& facts, uint32_t threads) {
  const auto registers = static_cast<uint32_t>(std::max(0, facts.registers));
  return threads > most_threads_by_registers(registers, registers_per_block());
}

cudaError_t resident_blocks(const Kernel& kernel, const KernelCall& call, uint64_t& blocks) {
  int of_multiprocessor = 0;
  const cudaError_t error = backend().occupancy(kernel.id, static_cast<int>(threads_of(call)),
                                                call.dynamic_shared, 0, of_multiprocessor);
  blocks = static_cast<uint64_t>(std::max(0, of_multiprocessor)) *
           static_cast<uint64_t>(std::max(0, attribute(cudaDevAttrMultiProcessorCount)));
  return error;
}

void report_refused_launch(cudaError_t error, const KernelCall& call) {
  const Kernel* kernel = Registry::instance().find_kernel(call.function);
  if (kernel == nullptr || error == cudaErrorNotSupported) return;
  const Reason reason = reason_of(call);
  HostFinding finding;
  finding.kind = HostFinding::Kind::invalid_launch;
  finding.kernel = kernel->name;
  finding.message = "the kernel was not started: " + reason.what + " (grid " + text_of(call.grid) +
                    ", block " + text_of(call.block) + ", " + std::to_string(call.dynamic_shared) +
                    " bytes of dynamic shared memory; " + error_name(error) + ": " + error_text(error) + ")";
  finding.advice =
      reason.cure + (reason.cure.empty() ? "" : " ") + "Look at cudaGetLastError() after each launch.";
  backend().report(finding);
}

}  // namespace warpgrade::cudart
