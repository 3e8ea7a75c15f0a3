// The program around the registered kernels: see common.h.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "common.h"

namespace {

struct Entry {
  std::string name, mode;
  Kind result;
  void (*kernel)(unsigned long long*);
  int shared_bytes;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> list;
  return list;
}

using Words = std::vector<unsigned long long>;

void check(cudaError_t status, const Entry& e) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", e.name.c_str(), cudaGetErrorString(status));
  std::exit(1);
}

Words run(const Entry& e) {
  unsigned long long* out = nullptr;
  Words words(kThreads);
  check(cudaMalloc(&out, sizeof(unsigned long long) * kThreads), e);
  check(cudaMemset(out, 0, sizeof(unsigned long long) * kThreads), e);
  void* arguments[] = {&out};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(e.kernel), dim3(1), dim3(kThreads), arguments,
                         static_cast<size_t>(e.shared_bytes), nullptr),
        e);
  check(cudaDeviceSynchronize(), e);
  check(cudaMemcpy(words.data(), out, sizeof(unsigned long long) * kThreads, cudaMemcpyDeviceToHost), e);
  check(cudaFree(out), e);
  return words;
}

double half_to_double(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

double bfloat_to_double(unsigned bits) {
  const uint32_t word = bits << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

double to_double(Kind kind, unsigned long long word) {
  if (kind == Kind::f32) {
    const auto low = static_cast<uint32_t>(word);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  if (kind == Kind::f64) {
    double value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  const auto low = static_cast<unsigned>(word & 0xffff);
  return kind == Kind::f16 || kind == Kind::f16x2 ? half_to_double(low) : bfloat_to_double(low);
}

bool is_floating(Kind kind) {
  return kind == Kind::f32 || kind == Kind::f64 || kind == Kind::f16 || kind == Kind::bf16;
}

bool is_pair(Kind kind) {
  return kind == Kind::f16x2 || kind == Kind::bf16x2;
}

// Acceptance: equal bits, both NaN, or within the mode's bound.
bool agree_as(Kind kind, const std::string& mode, unsigned long long want, unsigned long long got) {
  if (want == got) return true;
  const double w = to_double(kind, want), g = to_double(kind, got);
  if (std::isnan(w) && std::isnan(g)) return true;
  std::istringstream words(mode);
  std::string how;
  int exponent = 0;
  words >> how >> exponent;
  if (how == "bits") return false;
  const double error = std::fabs(w - g), bound = std::ldexp(1.0, exponent);
  if (how == "abs") return error <= bound;
  // Results that one side flushes are as good as zero.
  return error <= bound * std::fabs(w) || (std::fabs(w) < 0x1.1p-126 && std::fabs(g) < 0x1.1p-126) ||
         (how == "half" && error <= 0x1p-23);
}

bool agree(const Entry& e, unsigned long long want, unsigned long long got) {
  if (is_pair(e.result)) {
    return agree_as(e.result, e.mode, want & 0xffff, got & 0xffff) &&
           agree_as(e.result, e.mode, want >> 16 & 0xffff, got >> 16 & 0xffff);
  }
  if (is_floating(e.result)) return agree_as(e.result, e.mode, want, got);
  return want == got;
}

int record() {
  for (const Entry& e : entries()) {
    std::printf("%s|%s|", e.name.c_str(), e.mode.c_str());
    for (unsigned long long word : run(e)) std::printf("%llx ", word);
    std::printf("\n");
  }
  return 0;
}

int compare(const char* file) {
  std::ifstream recording(file);
  if (!recording) {
    std::fprintf(stderr, "%s: no recording there; record it on a GPU (record.sh)\n", file);
    return 2;
  }
  size_t bad = 0, at = 0;
  for (std::string line; std::getline(recording, line); ++at) {
    const std::string name = line.substr(0, line.find('|'));
    if (at >= entries().size() || entries()[at].name != name) {
      std::fprintf(stderr, "%s:%zu: records '%s', which this program does not have there: record again\n",
                   file, at + 1, name.c_str());
      return 2;
    }
    std::istringstream words(line.substr(line.rfind('|') + 1));
    const Words got = run(entries()[at]);
    int shown = 0;
    for (int i = 0; i < kThreads; ++i) {
      unsigned long long want = 0;
      words >> std::hex >> want;
      if (agree(entries()[at], want, got[static_cast<size_t>(i)])) continue;
      if (shown++ == 0) ++bad;
      if (shown <= 4)
        std::printf("%s thread %d: want %llx got %llx\n", name.c_str(), i, want, got[static_cast<size_t>(i)]);
    }
  }
  if (at != entries().size()) {
    std::fprintf(stderr, "%s: ends after %zu kernels of %zu: record again\n", file, at, entries().size());
    return 2;
  }
  std::printf("%zu kernels, %zu differ\n", entries().size(), bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace

Registration::Registration(const char* name, const char* mode, Kind result,
                           void (*kernel)(unsigned long long*), int shared_bytes) {
  entries().push_back({name, mode, result, kernel, shared_bytes});
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "record") return record();
  if (argc == 3 && std::string(argv[1]) == "compare") return compare(argv[2]);
  std::fprintf(stderr, "usage: %s record | compare RECORDING\n", argv[0]);
  return 2;
}
