// What the programs of a timed pair gave, kept in private memory of the judge's until all have run,
// and compared there.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "judge/judging/array_buffers.h"
#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/cell_work.h"
#include "judge/labs/declared/repetition_truth.h"

namespace warpgrade::declared {

class PairOutputs {
 public:
  // Of the programs in a pair.
  static constexpr int kSubmission = 0, kBaseline = 1;  // the main one; others follow

  // Of a submission and so many baselines. Throws JudgeFault when there is no room.
  PairOutputs(const declaration::LabDeclaration& lab, const Case& declared, ArrayBuffers& buffers,
              CellWork& work, std::size_t baselines);

  // Keeps the private snapshot as the program's.
  void keep(int program) { keep_as(place(program)); }
  bool has(int program) const { return kept_[place(program)]; }
  void clear() { std::fill(kept_.begin(), kept_.end(), false); }
  // Keeps the private snapshot as the magnitudes that bounds grow with: what the baseline gives for inputs
  // without their signs.
  void keep_magnitudes() { keep_as(kMagnitudes); }
  bool wants_magnitudes() const { return wants_magnitudes_; }
  // To where CaseArrays checks an output.
  void copy_out(int program, CaseArrays& arrays) const;

  // What was kept of the program beside what was kept of the main baseline.
  OutputsCompared compare(int program, const Held& held);

 private:
  static constexpr std::size_t kMagnitudes = 0;  // programs have the places behind it
  struct Output {
    const declaration::ArrayDeclaration* array = nullptr;
    std::int64_t cells = 0;
    std::size_t bytes = 0;
    std::vector<std::shared_ptr<std::byte>> kept;  // by place
  };
  static std::size_t place(int program) { return static_cast<std::size_t>(program) + 1; }
  void keep_as(std::size_t place);

  const declaration::LabDeclaration& lab_;
  ArrayBuffers& buffers_;
  CellWork& work_;
  std::vector<Output> outputs_;  // in the order of the buffers'
  std::vector<bool> kept_;       // by place
  bool wants_magnitudes_ = false;
};

// A run's outputs, in the order of the lab's, beside the oracle's answer: `cells` lie where `work` is done.
OutputsCompared compare_with_answer(const declaration::LabDeclaration& lab, const Case& declared,
                                    CellWork& work, const std::vector<const void*>& cells,
                                    const Answer& answer);

}  // namespace warpgrade::declared
