#include "judge/labs/declared/pair_outputs.h"

#include <algorithm>

namespace warpgrade::declared {

using declaration::ArrayDeclaration;
using declaration::Check;
using declaration::Field;

PairOutputs::PairOutputs(const declaration::LabDeclaration& lab, const declaration::CaseDeclaration& declared,
                         ArrayBuffers& buffers, CellWork& work, std::size_t baselines)
    : lab_(lab), buffers_(buffers), work_(work), kept_(place(kBaseline) + baselines) {
  for (const ArrayDeclaration* array : lab.outputs()) {
    const bool has_magnitudes = lab.checks.at(array->name).magnitude_of_absolutes;
    wants_magnitudes_ = wants_magnitudes_ || has_magnitudes;
    const std::int64_t cells = declaration::cells_in(shape_in(*array, declared.values));
    Output output{array, cells, static_cast<std::size_t>(cells) * array->type.bytes, {}};
    for (std::size_t place = 0; place < kept_.size(); ++place)
      output.kept.push_back(place != kMagnitudes || has_magnitudes ? work.allocate(output.bytes) : nullptr);
    outputs_.push_back(std::move(output));
  }
}

void PairOutputs::keep_as(std::size_t place) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.kept[place] != nullptr)
      work_.copy(output.kept[place].get(), buffers_.output(static_cast<int>(i)), output.bytes);
  }
  kept_[place] = true;
}

void PairOutputs::copy_out(int program, CaseArrays& arrays) const {
  for (const Output& output : outputs_) {
    const std::span<std::byte> cells = arrays.result(*output.array);
    buffers_.copy_out(cells.data(), output.kept[place(program)].get(), cells.size());
  }
}

OutputsCompared PairOutputs::compare(int program, const Held& held) {
  OutputsCompared sum;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const Check& check = lab_.checks.at(output.array->name);
    const void* got = output.kept[place(program)].get();
    const void* wanted = output.kept[place(kBaseline)].get();
    const void* magnitudes = kept_[kMagnitudes] ? output.kept[kMagnitudes].get() : nullptr;
    Comparison errors;
    errors.cells = output.cells;
    for (const Field& field : output.array->type.fields) {
      const CellCheck cell = cell_check(check, field.type);
      const Differences found = work_.compare(
          {cell, field.type, field.offset, output.array->type.bytes, output.cells, share_left(cell, held)},
          got, wanted, magnitudes);
      if (found.cells > 0) sum.same = false;
      errors.squares += found.squares;
    }
    sum.rms_over_limit = std::max(sum.rms_over_limit, rms_over_limit(check, errors));
  }
  return sum;
}

}  // namespace warpgrade::declared
