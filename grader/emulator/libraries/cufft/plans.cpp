// Handles and what they are made to; stream, work area, version.
#include <cuda_runtime_api.h>
#include <cufftXt.h>

#include "cufft/plan.h"
#include "left_out.h"

namespace warpgrade::cufft {
namespace {

struct Table {
  std::mutex mutex{};
  std::map<cufftHandle, std::shared_ptr<Plan>> plans{};
  cufftHandle last = 0;
};

Table& table() {
  static auto& the = *new Table;  // never destroyed: programs call in static destructors
  return the;
}

cufftHandle add_plan() {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  t.plans.emplace(++t.last, std::make_shared<Plan>());
  return t.last;
}

void remove_plan(cufftHandle handle) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  require(t.plans.erase(handle) == 1, CUFFT_INVALID_PLAN);
}

// Types, pointers and ranks are looked at before the handle, sizes after it: NVIDIA's library does so too.
void check_type(cufftType type) {
  require(is_known(type), CUFFT_INVALID_TYPE);
}

template <class I>
Request request_of(int rank, const I* n, const I* inembed, I istride, I idist, const I* onembed, I ostride,
                   I odist, cufftType type, I batch) {
  check_type(type);
  require(rank >= 1 && rank <= 3 && n != nullptr, CUFFT_INVALID_VALUE);
  Request request{type, {n, n + rank}, batch};
  request.is_dense = inembed == nullptr || onembed == nullptr;
  if (!request.is_dense) {
    request.input = {{inembed, inembed + rank}, istride, idist};
    request.output = {{onembed, onembed + rank}, ostride, odist};
  }
  return request;
}

Request dense_request(std::vector<int64_t> size, cufftType type, int64_t batch = 1) {
  check_type(type);
  return {type, std::move(size), batch};
}

// A handle is made once.
void make(cufftHandle handle, Request request, size_t* work_bytes) {
  const std::shared_ptr<Plan> plan = plan_of(handle);
  require(!plan->is_made, CUFFT_INVALID_PLAN);
  plan->work_bytes = checked_work_bytes(request);
  require(cudaGetDevice(&plan->device) == cudaSuccess, CUFFT_SETUP_FAILED);
  plan->request = std::move(request);
  plan->is_made = true;
  if (work_bytes != nullptr) *work_bytes = plan->work_bytes;
}

template <class Ask>
cufftResult make_plan(cufftHandle handle, size_t* work_bytes, Ask ask) {
  return answer([&] {
    require(work_bytes != nullptr, CUFFT_INVALID_VALUE);
    make(handle, ask(), work_bytes);
  });
}

template <class Ask>
cufftResult new_plan(cufftHandle* handle, Ask ask) {
  return answer([&] {
    require(handle != nullptr, CUFFT_INVALID_VALUE);
    const Request request = ask();
    const cufftHandle made = add_plan();
    try {
      make(made, request, nullptr);
    } catch (...) {
      remove_plan(made);
      throw;
    }
    *handle = made;
  });
}

template <class Ask>
cufftResult estimate(size_t* work_bytes, Ask ask) {
  return answer([&] {
    require(work_bytes != nullptr, CUFFT_INVALID_VALUE);
    *work_bytes = checked_work_bytes(ask());
  });
}

template <class Ask>
cufftResult size_for(cufftHandle handle, size_t* work_bytes, Ask ask) {
  return estimate(work_bytes, [&] {
    Request request = ask();
    plan_of(handle);
    return request;
  });
}

template <class Change>
cufftResult change(cufftHandle handle, Change changes) {
  return answer([&] { changes(*plan_of(handle)); });
}

// Of the types that cufftXt* name one by one, those that cufftType has as well.
cufftType type_of(cudaDataType input, cudaDataType output, cudaDataType execution) {
  struct Known {
    cudaDataType input, output;
    cufftType type;
  };
  constexpr Known kKnown[] = {{CUDA_C_32F, CUDA_C_32F, CUFFT_C2C}, {CUDA_R_32F, CUDA_C_32F, CUFFT_R2C},
                              {CUDA_C_32F, CUDA_R_32F, CUFFT_C2R}, {CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
                              {CUDA_R_64F, CUDA_C_64F, CUFFT_D2Z}, {CUDA_C_64F, CUDA_R_64F, CUFFT_Z2D}};
  for (const Known& known : kKnown) {
    if (known.input == input && known.output == output &&
        execution == (is_double(known.type) ? CUDA_C_64F : CUDA_C_32F))
      return known.type;
  }
  libraries::say_left_out("cuFFT", "cufftXtMakePlanMany of halves, or of mixed types");
  throw Failure{CUFFT_NOT_SUPPORTED};
}

}  // namespace

std::shared_ptr<Plan> plan_of(cufftHandle handle) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.plans.find(handle);
  require(found != t.plans.end(), CUFFT_INVALID_PLAN);
  return found->second;
}

std::shared_ptr<Plan> made_plan_of(cufftHandle handle) {
  std::shared_ptr<Plan> plan = plan_of(handle);
  require(plan->is_made, CUFFT_INVALID_PLAN);
  return plan;
}

const Line& Plan::line(int64_t size, bool is_inverse) {
  const auto length = static_cast<size_t>(size);
  return lines.try_emplace({size, is_inverse}, length, is_inverse).first->second;
}

}  // namespace warpgrade::cufft

using namespace warpgrade::cufft;

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  return answer([&] { *handle = add_plan(); });
}
cufftResult cufftDestroy(cufftHandle handle) {
  if (handle == -1) return CUFFT_SUCCESS;  // CUFFT_PLAN_NULL, which older headers lack
  return answer([&] { remove_plan(handle); });
}
cufftResult cufftGetVersion(int* version) {
  if (version != nullptr) *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUFFT_INVALID_VALUE;
  if (type < MAJOR_VERSION || type > PATCH_LEVEL) return CUFFT_INVALID_TYPE;
  *value = type == MAJOR_VERSION   ? CUFFT_VER_MAJOR
           : type == MINOR_VERSION ? CUFFT_VER_MINOR
                                   : CUFFT_VER_PATCH;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return change(handle, [&](Plan& plan) { plan.stream = stream; });
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* area) {
  return change(handle, [&](Plan& plan) { plan.has_work_area = area != nullptr; });
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocates) {
  return change(handle, [&](Plan& plan) { plan.allocates_work_area = allocates != 0; });
}
cufftResult cufftGetSize(cufftHandle handle, size_t* bytes) {
  return change(handle, [&](Plan& plan) {
    require(bytes != nullptr, CUFFT_INVALID_VALUE);
    *bytes = plan.work_bytes;
  });
}

// Each family of functions with one, two, three and many dimensions.
#define SIZE_1D [&] { return dense_request({nx}, type, batch); }
#define SIZE_2D [&] { return dense_request({nx, ny}, type); }
#define SIZE_3D [&] { return dense_request({nx, ny, nz}, type); }
#define SIZE_MANY \
  [&] { return request_of(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch); }
#define MANY(I) \
  int rank, I *n, I *inembed, I istride, I idist, I *onembed, I ostride, I odist, cufftType type, I batch

cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch) {
  return new_plan(plan, SIZE_1D);
}
cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type) {
  return new_plan(plan, SIZE_2D);
}
cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return new_plan(plan, SIZE_3D);
}
cufftResult cufftPlanMany(cufftHandle* plan, MANY(int)) {
  return new_plan(plan, SIZE_MANY);
}

cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t* bytes) {
  return make_plan(plan, bytes, SIZE_1D);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t* bytes) {
  return make_plan(plan, bytes, SIZE_2D);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* bytes) {
  return make_plan(plan, bytes, SIZE_3D);
}
cufftResult cufftMakePlanMany(cufftHandle plan, MANY(int), size_t* bytes) {
  return make_plan(plan, bytes, SIZE_MANY);
}
cufftResult cufftMakePlanMany64(cufftHandle plan, MANY(long long), size_t* bytes) {
  return make_plan(plan, bytes, SIZE_MANY);
}

cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* bytes) {
  return estimate(bytes, SIZE_1D);
}
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* bytes) {
  return estimate(bytes, SIZE_2D);
}
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t* bytes) {
  return estimate(bytes, SIZE_3D);
}
cufftResult cufftEstimateMany(MANY(int), size_t* bytes) {
  return estimate(bytes, SIZE_MANY);
}

cufftResult cufftGetSize1d(cufftHandle plan, int nx, cufftType type, int batch, size_t* bytes) {
  return size_for(plan, bytes, SIZE_1D);
}
cufftResult cufftGetSize2d(cufftHandle plan, int nx, int ny, cufftType type, size_t* bytes) {
  return size_for(plan, bytes, SIZE_2D);
}
cufftResult cufftGetSize3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* bytes) {
  return size_for(plan, bytes, SIZE_3D);
}
cufftResult cufftGetSizeMany(cufftHandle plan, MANY(int), size_t* bytes) {
  return size_for(plan, bytes, SIZE_MANY);
}
cufftResult cufftGetSizeMany64(cufftHandle plan, MANY(long long), size_t* bytes) {
  return size_for(plan, bytes, SIZE_MANY);
}

#define XT_MANY                                                                                       \
  int rank, long long *n, long long *inembed, long long istride, long long idist, cudaDataType input, \
      long long *onembed, long long ostride, long long odist, cudaDataType output, long long batch,   \
      size_t *bytes, cudaDataType execution
// NVIDIA's library looks for the plan before it looks at these types.
#define XT_SIZE_MANY                                  \
  [&] {                                               \
    const cufftType type = CUFFT_C2C;                 \
    Request request = (SIZE_MANY)();                  \
    plan_of(plan);                                    \
    request.type = type_of(input, output, execution); \
    return request;                                   \
  }

cufftResult cufftXtMakePlanMany(cufftHandle plan, XT_MANY) {
  return make_plan(plan, bytes, XT_SIZE_MANY);
}
cufftResult cufftXtGetSizeMany(cufftHandle plan, XT_MANY) {
  return size_for(plan, bytes, XT_SIZE_MANY);
}

}  // extern "C"
