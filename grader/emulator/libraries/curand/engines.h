// The generators of cuRAND that programs mostly use, and how cuRAND splits a sequence among its threads:
// thread i draws from subsequence i. XORWOW: G. Marsaglia, "Xorshift RNGs", 2003; MRG32k3a: P. L'Ecuyer,
// "Good Parameters and Implementations for Combined Multiple Recursive Random Number Generators", 1999;
// Philox: J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011. Seeding and distances of
// subsequences are those of curand_kernel.h.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace warpgrade::curand {

class Xorwow {
 public:
  static constexpr uint32_t kThreads = 4096;
  // So many draws passed over, worked out once for all engines.
  class Jump {
   public:
    explicit Jump(uint64_t draws);

   private:
    friend Xorwow;
    std::array<std::array<uint32_t, 5>, 160> steps_;
    uint32_t draws_;
  };

  explicit Xorwow(uint64_t seed);
  void skip(const Jump& jump);
  void skip_subsequence();  // 2^67 draws

  uint32_t bits();
  float uniform();
  double uniform_double();
  std::array<float, 2> normals();
  std::array<double, 2> normals_double();

 private:
  std::array<uint32_t, 5> v_;
  uint32_t d_;
};

class Mrg32k3a {
 public:
  static constexpr uint32_t kThreads = 81920, kLegacyThreads = 4096;
  class Jump {
   public:
    explicit Jump(uint64_t draws);

   private:
    friend Mrg32k3a;
    std::array<std::array<uint64_t, 3>, 3> first_, second_;
  };

  explicit Mrg32k3a(uint64_t seed);
  void skip(const Jump& jump);
  void skip_subsequence();  // 2^76 draws

  uint32_t bits();
  float uniform();
  double uniform_double();
  std::array<float, 2> normals();
  std::array<double, 2> normals_double();

 private:
  double next();  // 1 to m1
  std::array<uint64_t, 3> first_, second_;
};

// Draws four numbers at a time, named by thread and by how many fours came before.
class Philox {
 public:
  static constexpr uint32_t kThreads = 65536;
  explicit Philox(uint64_t seed) : seed_(seed) {}
  std::array<uint32_t, 4> bits(uint32_t thread, uint64_t position) const;

 private:
  uint64_t seed_;
};

// From bits to values, as curand_uniform.h and curand_normal.h do on the host.
float uniform_of(uint32_t bits);
double uniform_of(uint32_t low, uint32_t high);
std::array<float, 2> normals_of(uint32_t a, uint32_t b);
std::array<double, 2> normals_of(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1);

}  // namespace warpgrade::curand
