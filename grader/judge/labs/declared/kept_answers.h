// What the oracle answered for the runs of a case, kept by the judge from submission to submission: inputs
// follow from the run's seed and the place (run_seeds.h), so the answers are the same for all. They lie in
// the judge's private memory, where no program of a submission can reach them (judging/kept_data.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "judge/judging/kept_data.h"
#include "judge/labs/declared/oracle_process.h"

namespace warpgrade::declared {

// The oracle's answer for one run: of each output its truth, and what its bounds grow with (empty where it
// has none), laid out as CaseArrays has them.
class Answer {
 public:
  void add(std::span<const std::byte> truth, std::span<const std::byte> magnitudes, int threads);
  // Of output 0, 1, ... in the order of the lab's.
  std::span<const std::byte> truth(std::size_t output) const { return outputs_[output].truth.span(); }
  std::span<const std::byte> magnitudes(std::size_t output) const {
    return outputs_[output].magnitudes.span();
  }
  std::size_t outputs() const { return outputs_.size(); }
  std::size_t bytes() const;

 private:
  // Memory that processes which the judge starts do not inherit: gigabytes of it would make each start slow.
  struct Copy {
    std::unique_ptr<std::byte, UnmapMemory> cells;
    std::size_t bytes = 0;
    std::span<const std::byte> span() const { return {cells.get(), bytes}; }
  };
  struct Output {
    Copy truth, magnitudes;
  };
  static Copy copy_of(std::span<const std::byte> cells, int threads);
  std::vector<Output> outputs_;
};

class AnswerFiles;

class KeptAnswers {
 public:
  // Of one case. `most_bytes`: all that the judge may keep. `files`: those of earlier runs, or null.
  KeptAnswers(KeptData& kept, std::string lab, std::string case_id, std::size_t most_bytes,
              std::shared_ptr<const AnswerFiles> files)
      : kept_(kept),
        of_case_(std::move(lab) + " " + std::move(case_id)),
        most_bytes_(most_bytes),
        files_(std::move(files)) {}

  // `plan`: what the truth depends on besides the run's inputs; 0 where a plan sees no array.
  std::shared_ptr<const Answer> find(std::uint64_t plan, std::uint64_t run) const;
  std::shared_ptr<const Answer> add(std::uint64_t plan, std::uint64_t run, Answer answer) const;

 private:
  std::string name(std::uint64_t plan, std::uint64_t run) const;
  std::shared_ptr<const Answer> keep(const std::string& name, Answer answer) const;

  KeptData& kept_;
  std::string of_case_;
  std::size_t most_bytes_;
  std::shared_ptr<const AnswerFiles> files_;
};

}  // namespace warpgrade::declared
