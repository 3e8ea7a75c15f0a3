// cuRAND's host API: generators that draw on the host and on the device. The hashes and sums are those of
// NVIDIA's cuRAND 10.4 (CUDA 13.0), whose host generators need no GPU. The same source runs on a GPU, where
// the device's normal values may differ in their last bits, and where the numbers of curandGeneratePoisson
// below a mean of 2000 are others.
#include <curand.h>

#include "check.h"

#define CHECK_CURAND(call)                                                \
  do {                                                                    \
    const int status_ = (call);                                           \
    if (status_ != CURAND_STATUS_SUCCESS) {                               \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_); \
      std::exit(100);                                                     \
    }                                                                     \
  } while (0)

namespace {

uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t h = 1469598103934665603ull;
  for (size_t k = 0; k < bytes; ++k) h = (h ^ static_cast<const unsigned char*>(data)[k]) * 1099511628211ull;
  return h;
}

constexpr size_t kMany = 100'002;

struct Known {
  curandRngType_t type;
  const char* name;
  unsigned long long seed, offset;
  curandOrdering_t ordering;
  uint64_t bits, uniform, uniform_double;
  double normal, poisson;  // weighted sums: the last bits of the values are those of the machine's libm
};

constexpr Known kKnown[] = {
    {CURAND_RNG_PSEUDO_XORWOW, "XORWOW", 0ull, 0ull, CURAND_ORDERING_PSEUDO_BEST, 0x8c57dd678b60f791,
     0xef6ddfc7f060bfe4, 0x156bf9fbf32909ed, 1000552.07, 1200161451},
    {CURAND_RNG_PSEUDO_XORWOW, "XORWOW", 1234ull, 0ull, CURAND_ORDERING_PSEUDO_DEFAULT, 0x34b0ef5b2fc1cc7a,
     0x18884bd0e119b935, 0x8c693f23daec6812, 1000432.15, 1200277137},
    {CURAND_RNG_PSEUDO_XORWOW, "XORWOW", 0xfedcba9876543210ull, 245767ull, CURAND_ORDERING_PSEUDO_DEFAULT,
     0x53d8024a89522f28, 0x914c985c6d71c9d1, 0x67c2841652c82007, 1001026.17, 1200084242},
    {CURAND_RNG_PSEUDO_XORWOW, "XORWOW", 7ull, 1000000007ull, CURAND_ORDERING_PSEUDO_LEGACY,
     0x1186ffe9be2c6b98, 0x53f556cd1d1b70da, 0x41e8d70af4ddfb2f, 999046.27, 1200272976},
    {CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a", 0ull, 0ull, CURAND_ORDERING_PSEUDO_BEST, 0x78523e97e48bb646,
     0x22b268e6e152ad59, 0x39f5ffc800f5e4cb, 999370.02, 1200226304},
    {CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a", 1234ull, 0ull, CURAND_ORDERING_PSEUDO_DEFAULT,
     0xdc994b2e4c91cbf4, 0x8d4aa5a013ec966a, 0x4d5b97058caf1f07, 999884.54, 1200176550},
    {CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a", 0xfedcba9876543210ull, 245767ull, CURAND_ORDERING_PSEUDO_DEFAULT,
     0x2c92119d68f0c286, 0x4e5266f28c3b87dc, 0xc8fb8629625b1341, 1000756.64, 1200280990},
    {CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a", 7ull, 1000000007ull, CURAND_ORDERING_PSEUDO_LEGACY,
     0xba41fff543b9b523, 0x425f642a9f223d3f, 0x3f6daf25c3c6a241, 1000160.15, 1200130697},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox", 0ull, 0ull, CURAND_ORDERING_PSEUDO_BEST, 0x82a4a876ac3d4bf8,
     0x95dad238db421aba, 0x2b4168c9f1f71b50, 999754.98, 1200185308},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox", 1234ull, 0ull, CURAND_ORDERING_PSEUDO_DEFAULT,
     0xcb6df4c6ca189fd3, 0x1c6ac7a05ed9dbdc, 0x1dd4da78a383cfdc, 999215.03, 1200437395},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox", 0xfedcba9876543210ull, 245767ull,
     CURAND_ORDERING_PSEUDO_DEFAULT, 0x991258b86402076f, 0x4d49809b7c52c616, 0x21e2a871a09ca6ab, 1000046.22,
     1200068849},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox", 7ull, 1000000007ull, CURAND_ORDERING_PSEUDO_LEGACY,
     0xf13844208bfcb474, 0x1b141e62b7a3de66, 0x6397bb5cde3c3f23, 999218.83, 1200320236},
};

curandGenerator_t make(const Known& k, bool on_host) {
  curandGenerator_t g;
  CHECK_CURAND(on_host ? curandCreateGeneratorHost(&g, k.type) : curandCreateGenerator(&g, k.type));
  CHECK_CURAND(curandSetPseudoRandomGeneratorSeed(g, k.seed));
  CHECK_CURAND(curandSetGeneratorOffset(g, k.offset));
  CHECK_CURAND(curandSetGeneratorOrdering(g, k.ordering));
  return g;
}

// What a generator draws in a row of calls of different kinds.
struct Drawn {
  std::vector<unsigned> bits = std::vector<unsigned>(kMany), poisson = std::vector<unsigned>(kMany);
  std::vector<float> uniform = std::vector<float>(kMany), normal = std::vector<float>(kMany);
  std::vector<double> uniform_double = std::vector<double>(kMany);
};

template <class T, class Draw>
void draw_into(std::vector<T>& out, bool on_host, Draw draw) {
  if (on_host) return draw(out.data());
  T* memory;
  CHECK_CUDA(cudaMalloc(&memory, out.size() * sizeof(T)));
  draw(memory);
  CHECK_CUDA(cudaMemcpy(out.data(), memory, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(memory));
}

Drawn draw(const Known& k, bool on_host) {
  const curandGenerator_t g = make(k, on_host);
  Drawn d;
  draw_into(d.bits, on_host, [&](unsigned* at) { CHECK_CURAND(curandGenerate(g, at, kMany)); });
  draw_into(d.uniform, on_host, [&](float* at) { CHECK_CURAND(curandGenerateUniform(g, at, kMany)); });
  draw_into(d.uniform_double, on_host,
            [&](double* at) { CHECK_CURAND(curandGenerateUniformDouble(g, at, kMany)); });
  draw_into(d.normal, on_host,
            [&](float* at) { CHECK_CURAND(curandGenerateNormal(g, at, kMany, 2.5f, 0.5f)); });
  draw_into(d.poisson, on_host,
            [&](unsigned* at) { CHECK_CURAND(curandGeneratePoisson(g, at, kMany, 3000.5)); });
  CHECK_CURAND(curandDestroyGenerator(g));
  return d;
}

template <class T>
uint64_t hash_of(const std::vector<T>& values) {
  return hash_of(values.data(), values.size() * sizeof(T));
}

// Of other sequences it differs by hundreds.
template <class T>
double weighted_sum(const std::vector<T>& values) {
  double sum = 0;
  for (size_t k = 0; k < values.size(); ++k) sum += double(values[k]) * double(k % 7 + 1);
  return sum;
}

bool is_near(double a, double b) {
  return std::fabs(a - b) <= 1e-4;
}

void known_sequences(bool print, bool device) {
  for (const Known& k : kKnown) {
    const Drawn d = draw(k, true);
    const uint64_t hashes[] = {hash_of(d.bits), hash_of(d.uniform), hash_of(d.uniform_double)};
    const double normal = weighted_sum(d.normal), poisson = weighted_sum(d.poisson);
    if (print) {
      std::printf("%s %llx %llx %d", k.name, k.seed, k.offset, int(k.ordering));
      for (const uint64_t h : hashes) std::printf(" %016llx", (unsigned long long)h);
      std::printf(" %.2f %.0f\n", normal, poisson);
      continue;
    }
    expect(hashes[0] == k.bits, k.name);
    expect(hashes[1] == k.uniform, "uniform values");
    expect(hashes[2] == k.uniform_double, "uniform doubles");
    expect(std::fabs(normal - k.normal) < 0.1, "normal values");
    expect(std::fabs(poisson - k.poisson) < 50, "Poisson's numbers of a large mean");
    if (!device) continue;
    const Drawn g = draw(k, false);
    expect(g.bits == d.bits, "the device draws the host's bits");
    expect(g.uniform == d.uniform, "the device draws the host's uniform values");
    expect(g.uniform_double == d.uniform_double, "the device draws the host's uniform doubles");
    size_t far = 0;
    for (size_t i = 0; i < kMany; ++i) far += !is_near(g.normal[i], d.normal[i]);
    expect(far == 0, "the device draws the host's normal values");
  }
}

// --- distributions, whatever the numbers are ---

template <class T>
void has_moments(const char* name, const std::vector<T>& values, double mean, double variance) {
  double sum = 0, squares = 0;
  for (const T v : values) sum += double(v);
  const double got = sum / double(values.size());
  for (const T v : values) squares += (double(v) - got) * (double(v) - got);
  const double got_variance = squares / double(values.size());
  const double error = 5 * std::sqrt(variance / double(values.size()));
  if (std::fabs(got - mean) <= error && std::fabs(got_variance / variance - 1) < 0.05) return;
  ++g_failures;
  std::printf("FAILED: %s: mean %g (want %g), variance %g (want %g)\n", name, got, mean, got_variance,
              variance);
}

void distributions() {
  curandGenerator_t g;
  CHECK_CURAND(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT));
  CHECK_CURAND(curandSetPseudoRandomGeneratorSeed(g, 42));
  for (const double lambda : {0.25, 4.0, 100.0, 1500.0, 10000.0}) {
    std::vector<unsigned> numbers(kMany);
    draw_into(numbers, false,
              [&](unsigned* at) { CHECK_CURAND(curandGeneratePoisson(g, at, kMany, lambda)); });
    has_moments("curandGeneratePoisson", numbers, lambda, lambda);
  }
  std::vector<double> doubles(kMany);
  draw_into(doubles, false,
            [&](double* at) { CHECK_CURAND(curandGenerateNormalDouble(g, at, kMany, -1.0, 3.0)); });
  has_moments("curandGenerateNormalDouble", doubles, -1, 9);
  std::vector<float> floats(kMany);
  draw_into(floats, false,
            [&](float* at) { CHECK_CURAND(curandGenerateLogNormal(g, at, kMany, 0.5f, 0.25f)); });
  for (float& f : floats) f = std::log(f);
  has_moments("the logarithms of curandGenerateLogNormal", floats, 0.5, 0.0625);
  CHECK_CURAND(curandDestroyGenerator(g));
}

// Managed memory, a stream, calls that go on where the last one ended.
void calls_go_on() {
  curandGenerator_t whole, parts;
  for (auto* g : {&whole, &parts}) CHECK_CURAND(curandCreateGenerator(g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CURAND(curandSetStream(parts, stream));
  Managed<float> a(1000), b(1000);
  CHECK_CURAND(curandGenerateUniform(whole, a.data, 1000));
  for (const auto& [begin, count] : {std::pair<int, int>{0, 7}, {7, 500}, {507, 493}})
    CHECK_CURAND(curandGenerateUniform(parts, b.data + begin, count));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(std::memcmp(a.data, b.data, 1000 * sizeof(float)) == 0, "calls go on where the last one ended");
  for (auto* g : {&whole, &parts}) CHECK_CURAND(curandDestroyGenerator(*g));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

void errors() {
  curandGenerator_t g;
  CHECK_CURAND(curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_XORWOW));
  float three[3];
  unsigned numbers[3];
  expect(curandGenerateNormal(g, three, 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE,
         "normal values come in pairs");
  expect(curandGeneratePoisson(g, numbers, 3, -1.0) == CURAND_STATUS_OUT_OF_RANGE, "a negative mean");
  expect(curandSetQuasiRandomGeneratorDimensions(g, 2) == CURAND_STATUS_TYPE_ERROR,
         "dimensions of a pseudo-random one");
  CHECK_CURAND(curandDestroyGenerator(g));
  int version = 0;
  CHECK_CURAND(curandGetVersion(&version));
  expect(version == CURAND_VERSION, "curandGetVersion");
}

}  // namespace

// "print": the hashes of this machine's library; "host": without a device.
int main(int argc, char** argv) {
  const bool print = argc > 1 && !std::strcmp(argv[1], "print"), host = argc > 1;
  known_sequences(print, !host);
  if (!host) distributions();
  if (!host) calls_go_on();
  errors();
  return g_failures;
}
