// cuRAND's host API (curand.h) for the emulator. The functions are declared here with plain types, so that
// the library is built where the toolkit has no cuRAND.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "captured_work.h"
#include "curand/generator.h"
#include "left_out.h"

#if __has_include(<curand.h>)
#include <curand.h>
#endif

namespace warpgrade::curand {
namespace {

using Status = int;  // curandStatus_t
constexpr Status kSuccess = 0, kNotInitialized = 101, kAllocationFailed = 102, kTypeError = 103,
                 kOutOfRange = 104, kLengthNotMultiple = 105, kLaunchFailure = 201, kInternalError = 999;

enum Type { kDefault = 100, kXorwow = 101, kMrg32k3a = 121, kPhilox = 161 };  // curandRngType_t
enum Ordering { kBest = 100, kDefaultOrder = 101, kSeeded = 102, kLegacy = 103, kDynamic = 104 };

struct Handle {
  int type = kXorwow;
  bool on_host = false;
  uint64_t seed = 0, offset = 0;
  int ordering = kDefaultOrder;
  cudaStream_t stream = nullptr;
  std::unique_ptr<Generator> generator;  // made at the first draw after a change

  Generator& get() {
    if (!generator) {
      generator = type == kXorwow     ? xorwow(seed, offset)
                  : type == kMrg32k3a ? mrg32k3a(seed, offset, ordering == kLegacy)
                                      : philox(seed, offset);
    }
    return *generator;
  }
};

constexpr size_t kPiece = 1 << 16;  // results that are made at a time: a multiple of what any turn gives

// `make(generator, out, n)` fills n results: where the program wants them, or on their way to the device.
template <class T, class Make>
Status generate(void* handle, T* out, size_t n, Make make) {
  if (handle == nullptr) return kNotInitialized;
  auto& h = *static_cast<Handle*>(handle);
  if (n != 0 && out == nullptr) return kLaunchFailure;
  if (h.on_host) {
    make(h.get(), out, n);
    return kSuccess;
  }
  if (libraries::is_captured(h.stream)) {
    libraries::say_left_out("cuRAND", "a generator in a captured stream");
    return kLaunchFailure;
  }
  std::vector<T> piece(std::min(n, kPiece));
  for (size_t done = 0; done < n; done += kPiece) {
    const size_t here = std::min(kPiece, n - done);
    make(h.get(), piece.data(), here);
    if (cudaMemcpyAsync(out + done, piece.data(), here * sizeof(T), cudaMemcpyHostToDevice, h.stream) !=
        cudaSuccess)
      return kLaunchFailure;
    if (cudaStreamSynchronize(h.stream) != cudaSuccess) return kLaunchFailure;
  }
  return kSuccess;
}

bool wants_pairs(void* handle) {
  return handle != nullptr && static_cast<Handle*>(handle)->get().wants_pairs();
}

template <class T>
Status generate_normal(void* handle, T* out, size_t n, T mean, T deviation) {
  if (wants_pairs(handle) && n % 2 != 0) return kLengthNotMultiple;
  return generate(handle, out, n, [=](Generator& g, T* at, size_t count) {
    g.normal(at, count);
    for (size_t k = 0; k < count; ++k) at[k] = mean + deviation * at[k];
  });
}

template <class T>
Status generate_log_normal(void* handle, T* out, size_t n, T mean, T deviation) {
  if (wants_pairs(handle) && n % 2 != 0) return kLengthNotMultiple;
  return generate(handle, out, n, [=](Generator& g, T* at, size_t count) {
    g.normal(at, count);
    for (size_t k = 0; k < count; ++k) at[k] = std::exp(mean + deviation * at[k]);
  });
}

Status create(void** handle, int type, bool on_host) {
  if (handle == nullptr) return kInternalError;
  if (type == kDefault) type = kXorwow;
  if (type != kXorwow && type != kMrg32k3a && type != kPhilox) {
    libraries::say_left_out(
        "cuRAND", "curandCreateGenerator of another generator than XORWOW, MRG32k3a and Philox4_32_10");
    return kTypeError;
  }
  auto h = std::make_unique<Handle>();
  h->type = type;
  h->on_host = on_host;
  *handle = h.release();
  return kSuccess;
}

template <class Change>
Status change(void* handle, Change change_it) {
  if (handle == nullptr) return kNotInitialized;
  auto& h = *static_cast<Handle*>(handle);
  change_it(h);
  h.generator.reset();
  return kSuccess;
}

// Of quasi-random generators and tables.
Status left_out(const char* call) {
  libraries::say_left_out("cuRAND", call);
  return kTypeError;
}

#ifdef CURAND_VERSION
constexpr int kVersion[] = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH};
#else
constexpr int kVersion[] = {10, 4, 0};
#endif

}  // namespace
}  // namespace warpgrade::curand

// The entry points, by the names of curand.h; that header declares them with its own types.
#define WARPEMU_ENTRY(name) __asm__(#name)
#define EXPORTED __attribute__((visibility("default"), used))

namespace warpgrade::curand::api {

EXPORTED Status create_generator(void** g, int type) WARPEMU_ENTRY(curandCreateGenerator);
EXPORTED Status create_generator_host(void** g, int type) WARPEMU_ENTRY(curandCreateGeneratorHost);
EXPORTED Status destroy(void* g) WARPEMU_ENTRY(curandDestroyGenerator);
EXPORTED Status version(int* v) WARPEMU_ENTRY(curandGetVersion);
EXPORTED Status property(int type, int* value) WARPEMU_ENTRY(curandGetProperty);
EXPORTED Status set_stream(void* g, cudaStream_t stream) WARPEMU_ENTRY(curandSetStream);
EXPORTED Status set_seed(void* g, unsigned long long seed) WARPEMU_ENTRY(curandSetPseudoRandomGeneratorSeed);
EXPORTED Status set_offset(void* g, unsigned long long offset) WARPEMU_ENTRY(curandSetGeneratorOffset);
EXPORTED Status set_ordering(void* g, int order) WARPEMU_ENTRY(curandSetGeneratorOrdering);
EXPORTED Status seeds(void* g) WARPEMU_ENTRY(curandGenerateSeeds);
EXPORTED Status bits(void* g, unsigned* out, size_t n) WARPEMU_ENTRY(curandGenerate);
EXPORTED Status uniform(void* g, float* out, size_t n) WARPEMU_ENTRY(curandGenerateUniform);
EXPORTED Status uniform_double(void* g, double* out, size_t n) WARPEMU_ENTRY(curandGenerateUniformDouble);
EXPORTED Status normal(void* g, float* out, size_t n, float mean, float sd)
    WARPEMU_ENTRY(curandGenerateNormal);
EXPORTED Status normal_double(void* g, double* out, size_t n, double mean, double sd)
    WARPEMU_ENTRY(curandGenerateNormalDouble);
EXPORTED Status log_normal(void* g, float* out, size_t n, float mean, float sd)
    WARPEMU_ENTRY(curandGenerateLogNormal);
EXPORTED Status log_normal_double(void* g, double* out, size_t n, double mean, double sd)
    WARPEMU_ENTRY(curandGenerateLogNormalDouble);
EXPORTED Status poisson(void* g, unsigned* out, size_t n, double lambda) WARPEMU_ENTRY(curandGeneratePoisson);
EXPORTED Status long_long(void* g, unsigned long long* out, size_t n) WARPEMU_ENTRY(curandGenerateLongLong);
EXPORTED Status set_dimensions(void* g, unsigned n) WARPEMU_ENTRY(curandSetQuasiRandomGeneratorDimensions);
EXPORTED Status poisson_method(void* g, unsigned* out, size_t n, double lambda, int method)
    WARPEMU_ENTRY(curandGeneratePoissonMethod);
EXPORTED Status create_distribution(double lambda, void** d) WARPEMU_ENTRY(curandCreatePoissonDistribution);
EXPORTED Status destroy_distribution(void* d) WARPEMU_ENTRY(curandDestroyDistribution);
EXPORTED Status directions32(void** v, int set) WARPEMU_ENTRY(curandGetDirectionVectors32);
EXPORTED Status directions64(void** v, int set) WARPEMU_ENTRY(curandGetDirectionVectors64);
EXPORTED Status constants32(unsigned** c) WARPEMU_ENTRY(curandGetScrambleConstants32);
EXPORTED Status constants64(unsigned long long** c) WARPEMU_ENTRY(curandGetScrambleConstants64);

Status create_generator(void** g, int type) {
  return create(g, type, false);
}
Status create_generator_host(void** g, int type) {
  return create(g, type, true);
}
Status destroy(void* g) {
  if (g == nullptr) return kNotInitialized;
  delete static_cast<Handle*>(g);
  return kSuccess;
}
Status version(int* v) {
  if (v == nullptr) return kOutOfRange;
  *v = kVersion[0] * 1000 + kVersion[1] * 100 + kVersion[2];
  return kSuccess;
}
Status property(int type, int* value) {
  if (type < 0 || type > 2 || value == nullptr) return kOutOfRange;
  *value = kVersion[type];
  return kSuccess;
}
Status set_stream(void* g, cudaStream_t stream) {
  if (g == nullptr) return kNotInitialized;
  static_cast<Handle*>(g)->stream = stream;
  return kSuccess;
}
Status set_seed(void* g, unsigned long long seed) {
  return change(g, [=](Handle& h) { h.seed = seed; });
}
Status set_offset(void* g, unsigned long long offset) {
  return change(g, [=](Handle& h) { h.offset = offset; });
}
Status set_ordering(void* g, int order) {
  if (g == nullptr) return kNotInitialized;
  if (order == kSeeded || order == kDynamic) {
    libraries::say_left_out("cuRAND", "curandSetGeneratorOrdering for the seeded or the dynamic order");
    return kOutOfRange;
  }
  if (order < kBest || order > kLegacy) return kOutOfRange;
  return change(g, [=](Handle& h) { h.ordering = order; });
}
Status seeds(void* g) {
  if (g == nullptr) return kNotInitialized;
  static_cast<Handle*>(g)->get();
  return kSuccess;
}
Status bits(void* g, unsigned* out, size_t n) {
  return generate(g, out, n, [](Generator& from, unsigned* at, size_t count) { from.bits(at, count); });
}
Status uniform(void* g, float* out, size_t n) {
  return generate(g, out, n, [](Generator& from, float* at, size_t count) { from.uniform(at, count); });
}
Status uniform_double(void* g, double* out, size_t n) {
  return generate(g, out, n, [](Generator& from, double* at, size_t count) { from.uniform(at, count); });
}
Status normal(void* g, float* out, size_t n, float mean, float sd) {
  return generate_normal(g, out, n, mean, sd);
}
Status normal_double(void* g, double* out, size_t n, double mean, double sd) {
  return generate_normal(g, out, n, mean, sd);
}
Status log_normal(void* g, float* out, size_t n, float mean, float sd) {
  return generate_log_normal(g, out, n, mean, sd);
}
Status log_normal_double(void* g, double* out, size_t n, double mean, double sd) {
  return generate_log_normal(g, out, n, mean, sd);
}
Status poisson(void* g, unsigned* out, size_t n, double lambda) {
  constexpr double kMost = 400000;  // cuRAND's limit
  if (!(lambda > 0) || lambda > kMost) return kOutOfRange;
  return generate(g, out, n,
                  [=](Generator& from, unsigned* at, size_t count) { from.poisson(at, count, lambda); });
}
// The generators that are here draw 32 bits.
Status long_long(void* g, unsigned long long*, size_t) {
  return g == nullptr ? kNotInitialized : kTypeError;
}
Status set_dimensions(void* g, unsigned) {
  return g == nullptr ? kNotInitialized : kTypeError;
}
Status poisson_method(void*, unsigned*, size_t, double, int) {
  libraries::say_left_out("cuRAND", "curandGeneratePoissonMethod");
  return kInternalError;
}
Status create_distribution(double, void**) {
  libraries::say_left_out("cuRAND", "curandCreatePoissonDistribution");
  return kAllocationFailed;
}
Status destroy_distribution(void*) {
  return kSuccess;
}
Status directions32(void**, int) {
  return left_out("curandGetDirectionVectors32");
}
Status directions64(void**, int) {
  return left_out("curandGetDirectionVectors64");
}
Status constants32(unsigned**) {
  return left_out("curandGetScrambleConstants32");
}
Status constants64(unsigned long long**) {
  return left_out("curandGetScrambleConstants64");
}

}  // namespace warpgrade::curand::api
