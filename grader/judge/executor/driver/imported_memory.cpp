#include "judge/executor/driver/imported_memory.h"

#include <unistd.h>

#include <stdexcept>
#include <string>

namespace warpgrade::executor {

CUdeviceptr import_buffer(const protocol::Command& attach, int fd) {
  const DriverApi& api = driver_api();
  CUmemGenericAllocationHandle handle = 0;
  require(api.cuMemImportFromShareableHandle_(&handle, reinterpret_cast<void*>(static_cast<uintptr_t>(fd)),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          "cuMemImportFromShareableHandle");
  close(fd);
  CUdeviceptr address = 0;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = attach.read_only != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  require(api.cuCtxGetDevice_(&access.location.id), "cuCtxGetDevice");
  require(api.cuMemAddressReserve_(&address, attach.mapped_bytes, 0, 0, 0), "cuMemAddressReserve");
  require(api.cuMemMap_(address, attach.mapped_bytes, 0, handle, 0), "cuMemMap");
  require(api.cuMemSetAccess_(address, attach.mapped_bytes, &access, 1), "cuMemSetAccess");
  require(api.cuMemRelease_(handle), "cuMemRelease");  // the mapping keeps the memory
  return address + attach.offset;
}

void release_buffer(CUdeviceptr payload, std::uint64_t offset, std::uint64_t mapped_bytes) {
  const DriverApi& api = driver_api();
  require(api.cuMemUnmap_(payload - offset, mapped_bytes), "cuMemUnmap");
  require(api.cuMemAddressFree_(payload - offset, mapped_bytes), "cuMemAddressFree");
}

}  // namespace warpgrade::executor
