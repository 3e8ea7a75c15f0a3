#include <utility>

#include "base/error.h"
#include "judge/labs/sampling/checks.h"
#include "judge/measure/random.h"

namespace warpgrade::sampling {
namespace {

class HostChecks : public SamplingChecks {
 public:
  HostChecks(ArrayBuffers& buffers, const GraphView& graph, std::int64_t count, unsigned fanout, int threads)
      : buffers_(buffers), graph_(graph), count_(count), fanout_(fanout), threads_(threads) {}

  int threads() const override { return threads_; }

  Found locate_output(std::uint64_t seed) override {
    const std::span nodes(static_cast<const int*>(buffers_.input(kNodes)), static_cast<std::size_t>(count_));
    run_ = locate(graph_, nodes, fanout_, samples(), static_cast<int>(kPoison), seed, threads_);
    Found found{run_.bad_cells, run_.never_written, run_.first, {}};
    count_levels(run_, found.levels);
    return found;
  }

  PairCounts pairs(const Pairing& pairing) override {
    PairCounts counts;
    count_pairs(run_, pairing.earlier_run ? earlier_ : run_, pairing, counts);
    return counts;
  }

  LagCounts lag(const Lag& lag) override {
    LagCounts counts;
    count_lag(run_, earlier_, lag, counts);
    return counts;
  }

  TripleCounts triple(const Triple& triple) override {
    TripleCounts counts;
    count_triple(run_, triple, counts);
    return counts;
  }

  std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) override {
    const auto bits = bits_of(run_, search.plane, seed);
    return search_repeats(bits, search.earlier_run ? bits_of(earlier_, search.plane, ~seed) : bits, search);
  }

  void keep() override { std::swap(run_, earlier_); }

  std::uint64_t fingerprint(std::uint64_t seed) override {
    std::uint64_t sum = 0, cell = 0;
    for (const int sample : samples())
      sum += random_bits(seed ^ mix_bits(cell++), static_cast<unsigned>(sample));
    return sum;
  }

 private:
  std::span<const int> samples() const {
    return {static_cast<const int*>(buffers_.output()), static_cast<std::size_t>(count_) * fanout_};
  }

  ArrayBuffers& buffers_;
  const GraphView& graph_;
  std::int64_t count_;
  unsigned fanout_;
  int threads_;
  Located run_, earlier_;
};

}  // namespace

std::unique_ptr<SamplingChecks> make_host_checks(ArrayBuffers& buffers, const GraphView& graph,
                                                 std::int64_t count, unsigned fanout, int threads) {
  return std::make_unique<HostChecks>(buffers, graph, count, fanout, threads);
}

// Programs without CUDA in them have this one; the judge's own stands in checks_cuda.cu.
[[gnu::weak]] std::unique_ptr<SamplingChecks> make_cuda_checks(ArrayBuffers&, std::int64_t, unsigned) {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::sampling
