#include "curand/generator.h"

#include <unordered_map>

#include "curand/engines.h"
#include "curand/poisson.h"

namespace warpgrade::curand {
namespace {

constexpr double kToUnit = 2.3283064365386963e-10;

// Threads take turns; each turn is one result, or a pair of normal ones.
template <class Engine>
class Ring final : public Generator {
 public:
  Ring(uint64_t seed, uint64_t offset, uint32_t threads)
      : next_new_(seed), threads_(threads), next_(offset % threads), further_(next_) {
    engines_.reserve(threads);
    if (offset == 0) return;
    jump_ = std::make_unique<typename Engine::Jump>(offset / threads);
    jump_further_ = std::make_unique<typename Engine::Jump>(offset / threads + 1);
  }

  void bits(uint32_t* out, size_t n) override {
    for (size_t k = 0; k < n; ++k) out[k] = turn().bits();
  }
  void uniform(float* out, size_t n) override {
    for (size_t k = 0; k < n; ++k) out[k] = turn().uniform();
  }
  void uniform(double* out, size_t n) override {
    for (size_t k = 0; k < n; ++k) out[k] = turn().uniform_double();
  }
  void normal(float* out, size_t n) override {
    for (size_t k = 0; k + 1 < n; k += 2) {
      const auto pair = turn().normals();
      out[k] = pair[0];
      out[k + 1] = pair[1];
    }
  }
  void normal(double* out, size_t n) override {
    for (size_t k = 0; k + 1 < n; k += 2) {
      const auto pair = turn().normals_double();
      out[k] = pair[0];
      out[k + 1] = pair[1];
    }
  }
  void poisson(uint32_t* out, size_t n, double lambda) override {
    if (lambda >= kNormalFrom) {
      for (size_t k = 0; k < n; ++k) out[k] = poisson_of_normal(single_normal(), lambda);
      return;
    }
    table_.prepare(lambda);
    for (size_t k = 0; k < n; ++k) out[k] = table_.number(turn().bits() * kToUnit + kToUnit);
  }
  bool wants_pairs() const override { return true; }

 private:
  // A thread keeps the second of a pair for its next turn.
  float single_normal() {
    const auto spare = spare_.find(next_);
    if (spare != spare_.end()) {
      const float value = spare->second;
      spare_.erase(spare);
      pass();
      return value;
    }
    const uint64_t thread = next_;
    const auto pair = turn().normals();
    spare_[thread] = pair[1];
    return pair[0];
  }

  void pass() {
    if (++next_ == threads_) next_ = 0;
  }

  // A thread's engine is made when its first turn comes: most programs draw few numbers.
  Engine& turn() {
    while (engines_.size() <= next_) {
      engines_.push_back(next_new_);
      if (jump_) engines_.back().skip(engines_.size() <= further_ ? *jump_further_ : *jump_);
      next_new_.skip_subsequence();
    }
    Engine& engine = engines_[next_];
    pass();
    return engine;
  }

  std::vector<Engine> engines_;
  Engine next_new_;
  uint32_t threads_;
  uint64_t next_;
  // What an offset passes over: of the first threads one turn more than of the rest.
  uint64_t further_;
  std::unique_ptr<typename Engine::Jump> jump_, jump_further_;
  std::unordered_map<uint64_t, float> spare_;  // by thread: the second of a pair of normal values
  PoissonTable table_;
};

// Threads take turns of four results; a kind of result takes one draw of four for them, or two.
class PhiloxRing final : public Generator {
 public:
  PhiloxRing(uint64_t seed, uint64_t offset)
      : engine_(seed),
        thread_(offset / 4 % Philox::kThreads),
        within_(offset % 4),
        positions_(Philox::kThreads) {
    const uint64_t turns = offset / 4 / Philox::kThreads;
    for (uint32_t t = 0; t < Philox::kThreads; ++t) positions_[t] = turns + (t < thread_ ? 1 : 0);
  }

  void bits(uint32_t* out, size_t n) override {
    each<1>(out, n, [](const Draws& d, uint32_t(&four)[4]) {
      for (int k = 0; k < 4; ++k) four[k] = d[0][k];
    });
  }
  void uniform(float* out, size_t n) override {
    each<1>(out, n, [](const Draws& d, float(&four)[4]) {
      for (int k = 0; k < 4; ++k) four[k] = uniform_of(d[0][k]);
    });
  }
  void uniform(double* out, size_t n) override {
    each<2>(out, n, [](const Draws& d, double(&four)[4]) {
      for (int k = 0; k < 4; ++k) four[k] = uniform_of(d[k / 2][k % 2 * 2], d[k / 2][k % 2 * 2 + 1]);
    });
  }
  void normal(float* out, size_t n) override {
    each<1>(out, n, [](const Draws& d, float(&four)[4]) {
      for (int k = 0; k < 4; k += 2) {
        const auto pair = normals_of(d[0][k], d[0][k + 1]);
        four[k] = pair[0];
        four[k + 1] = pair[1];
      }
    });
  }
  void normal(double* out, size_t n) override {
    each<2>(out, n, [](const Draws& d, double(&four)[4]) {
      for (int k = 0; k < 2; ++k) {
        const auto pair = normals_of(d[k][0], d[k][1], d[k][2], d[k][3]);
        four[2 * k] = pair[0];
        four[2 * k + 1] = pair[1];
      }
    });
  }
  void poisson(uint32_t* out, size_t n, double lambda) override {
    if (lambda >= kNormalFrom) {
      return each<1>(out, n, [lambda](const Draws& d, uint32_t(&four)[4]) {
        for (int k = 0; k < 4; ++k)
          four[k] = poisson_of_normal(normals_of(d[0][k / 2 * 2], d[0][k / 2 * 2 + 1])[k % 2], lambda);
      });
    }
    table_.prepare(lambda);
    each<1>(out, n, [this](const Draws& d, uint32_t(&four)[4]) {
      for (int k = 0; k < 4; ++k) four[k] = table_.number(d[0][k] * kToUnit + kToUnit);
    });
  }
  bool wants_pairs() const override { return false; }

 private:
  using Draws = std::array<std::array<uint32_t, 4>, 2>;

  // `make` turns a thread's draws into four results. What is left of a turn's results is the next call's.
  template <int kDraws, class T, class Make>
  void each(T* out, size_t n, Make make) {
    for (size_t k = 0; k < n;) {
      Draws draws{};
      for (int d = 0; d < kDraws; ++d) draws[d] = engine_.bits(thread_, positions_[thread_] + d);
      T four[4];
      make(draws, four);
      for (; within_ < 4 && k < n; ++k, ++within_) out[k] = four[within_];
      if (within_ < 4) return;
      within_ = 0;
      positions_[thread_] += kDraws;
      if (++thread_ == Philox::kThreads) thread_ = 0;
    }
  }

  Philox engine_;
  uint32_t thread_;
  uint32_t within_;  // results of the turn that were taken
  std::vector<uint64_t> positions_;
  PoissonTable table_;
};

}  // namespace

std::unique_ptr<Generator> xorwow(uint64_t seed, uint64_t offset) {
  return std::make_unique<Ring<Xorwow>>(seed, offset, Xorwow::kThreads);
}
std::unique_ptr<Generator> mrg32k3a(uint64_t seed, uint64_t offset, bool legacy) {
  return std::make_unique<Ring<Mrg32k3a>>(seed, offset,
                                          legacy ? Mrg32k3a::kLegacyThreads : Mrg32k3a::kThreads);
}
std::unique_ptr<Generator> philox(uint64_t seed, uint64_t offset) {
  return std::make_unique<PhiloxRing>(seed, offset);
}

}  // namespace warpgrade::curand
