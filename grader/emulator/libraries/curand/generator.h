// A generator as cuRAND's host API has it: an engine of each thread, in the order in which cuRAND puts
// their draws.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace warpgrade::curand {

// Results follow each other as if one call had asked for all of them.
class Generator {
 public:
  virtual ~Generator() = default;
  virtual void bits(uint32_t* out, size_t n) = 0;
  virtual void uniform(float* out, size_t n) = 0;
  virtual void uniform(double* out, size_t n) = 0;
  // Means of 0, deviations of 1.
  virtual void normal(float* out, size_t n) = 0;
  virtual void normal(double* out, size_t n) = 0;
  virtual void poisson(uint32_t* out, size_t n, double lambda) = 0;
  // Normal values come in pairs.
  virtual bool wants_pairs() const = 0;
};

// `offset`: results that are passed over. `legacy`: fewer threads, where cuRAND's legacy ordering has fewer.
std::unique_ptr<Generator> xorwow(uint64_t seed, uint64_t offset);
std::unique_ptr<Generator> mrg32k3a(uint64_t seed, uint64_t offset, bool legacy);
std::unique_ptr<Generator> philox(uint64_t seed, uint64_t offset);

}  // namespace warpgrade::curand
