// The runs of one case, prepared before they are needed: inputs drawn and the oracle asked, several at once.
// A repetition's inputs and truth are made by one thread and one oracle, and a timed phase wants dozens; on
// many cores their preparation would take far longer than all that is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "judge/labs/declared/case_arrays.h"

namespace warpgrade::declared {

// What all prepared runs of a judge may take of the host's memory: a quarter of what the machine and the
// process's control group have left, and at most kMostPreparedBytes.
inline constexpr std::size_t kMostPreparedBytes = std::size_t{32} << 30;
std::size_t memory_for_prepared_runs();

class PreparedRuns {
 public:
  struct Limits {
    int threads = 1;               // of the judge; as many runs at once at most
    std::size_t memory_bytes = 0;  // for all runs that are prepared at once; one there is always
    // Several at once only where that saves so much: their oracles must start. Below 0: wherever they can be.
    double worth_seconds = 0.3;
    // A program may fail at once, and then nothing more is wanted.
    bool first_alone = true;
  };
  // Oracle 0 uses all threads by itself, each other one has one; started when first asked for.
  using Oracles = std::function<OracleProcess&(int number)>;

  // Throws JudgeFault as CaseArrays does. Lab and case outlive it.
  PreparedRuns(const declaration::LabDeclaration& lab, const Case& declared,
               const std::filesystem::path& graph, Oracles oracles, Limits limits);
  // The oracles keep running, without the case's memory.
  ~PreparedRuns();
  PreparedRuns(const PreparedRuns&) = delete;
  PreparedRuns& operator=(const PreparedRuns&) = delete;

  // Draws what the plan sees, the same for all runs that follow. Runs that are prepared keep their inputs;
  // the truth of each is asked for again.
  void draw_for_plan(std::uint64_t seed);
  // Draws a run's inputs for a plan to look at; no run has them.
  void draw_for_show(std::uint64_t seed);

  // The run of the first seed: inputs drawn, truth found. The other seeds are those of runs that may come
  // later, in any order: some are prepared at once with it, and what was prepared and is not among them is
  // given up. A run follows from its seed alone, whatever is prepared beside it. Throws JudgeFault with the
  // oracle's words; then no run is left that was prepared.
  using Seeds = std::vector<std::uint64_t>;
  CaseArrays& take(const Seeds& seeds);
  // The run of this seed with an answer that was kept of it: the oracle is not asked.
  CaseArrays& restore(std::uint64_t seed, const Answer& answer);
  // The run that take() or restore() gave; before that, what draw_for_show() and draw_for_plan() drew.
  CaseArrays& current() { return *current_->arrays; }
  // Where the arrays lie that the plan sees: the same in all runs.
  CaseArrays& plan_arrays() const { return *first_.arrays; }

  // Runs that the last preparation made at once.
  int at_once() const { return at_once_; }

 private:
  struct Slot {
    OracleProcess* oracle = nullptr;
    std::unique_ptr<CaseArrays> arrays;
    std::uint64_t seed = 0;
    bool drawn = false;
    int plan = -1;  // the plan whose arrays it holds, and its truth is for
  };
  int how_many(int may_come) const;
  CaseArrays& take_alone(std::uint64_t seed);
  void prepare_several(const Seeds& seeds, int count);
  void prepare_at_once(std::size_t count);
  Slot* find_ready(std::uint64_t seed) const;
  Slot& free_slot();
  double prepare(Slot& slot, int threads) const;
  bool is_stale(const Slot& slot) const { return plan_sees_ && slot.plan != plan_; }

  Oracles oracles_;
  Limits limits_;
  bool plan_sees_;
  Slot first_;  // of oracle 0: single runs
  std::vector<std::unique_ptr<Slot>> others_;
  std::vector<Slot*> ready_;  // prepared
  Slot* current_ = &first_;
  int plan_ = 0, at_once_ = 0;
  std::uint64_t plan_seed_ = 0;
  // What the last run that was prepared by itself took, on all threads; and would have taken on one.
  double single_s_ = 0, single_thread_s_ = 0;
  bool one_passed_ = false;
};

}  // namespace warpgrade::declared
