#include "judge/executor/visible_facts.h"

namespace warpgrade::executor {

std::array<int32_t, 256> visible_attributes(const cudart::DeviceFacts& facts) {
  // The host process' memory is out of the device's reach, handles cannot leave the process, and there is
  // one device.
  constexpr cudaDeviceAttr kNotHere[] = {
      cudaDevAttrPageableMemoryAccess,           cudaDevAttrPageableMemoryAccessUsesHostPageTables,
      cudaDevAttrDirectManagedMemAccessFromHost, cudaDevAttrHostNativeAtomicSupported,
      cudaDevAttrMemoryPoolSupportedHandleTypes, cudaDevAttrGPUDirectRDMASupported,
      cudaDevAttrHostRegisterReadOnlySupported};
  std::array<int32_t, 256> visible = facts.attributes;
  for (const cudaDeviceAttr attribute : kNotHere) visible[attribute] = 0;
  // Managed memory is memory of the host that both sides may use at any time.
  if (visible[cudaDevAttrManagedMemory] != 0) visible[cudaDevAttrConcurrentManagedAccess] = 1;
  return visible;
}

bool reaches_host_memory(const cudart::DeviceFacts& facts) {
  return facts.attributes[cudaDevAttrPageableMemoryAccess] != 0;
}

std::string objection_to(const cudart::DeviceFacts& facts, bool allowed) {
  if (!reaches_host_memory(facts) || allowed) return {};
  return facts.name +
         " reaches all memory of a process (pageableMemoryAccess is 1), so a submission's kernels could "
         "change the executor's own. Turn that off (`options nvidia_uvm uvm_disable_hmm=1` in "
         "/etc/modprobe.d, then load nvidia_uvm again), or set WARPGRADE_PAGEABLE_ACCESS=allow where only "
         "your own kernels run.";
}

}  // namespace warpgrade::executor
