#include "judge/labs/declared/pair_outputs.h"

#include <algorithm>

namespace warpgrade::declared {

using declaration::ArrayDeclaration;
using declaration::Check;
using declaration::Field;

PairOutputs::PairOutputs(const declaration::LabDeclaration& lab, const Case& declared, ArrayBuffers& buffers,
                         CellWork& work, std::size_t baselines)
    : lab_(lab), buffers_(buffers), work_(work), kept_(place(kBaseline) + baselines) {
  for (const ArrayDeclaration* array : lab.outputs()) {
    const bool has_magnitudes = lab.checks.at(array->name).magnitude_of_absolutes;
    wants_magnitudes_ = wants_magnitudes_ || has_magnitudes;
    const std::int64_t cells = declaration::cells_in(shape_in(*array, declared.parameters));
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

namespace {

// The fields of one output, compared by `compare`; what they add up to goes into `sum`.
template <typename Compare>
void compare_fields(const ArrayDeclaration& array, const Check& check, std::int64_t cells,
                    OutputsCompared& sum, const Compare& compare) {
  Comparison errors;
  errors.cells = cells;
  for (std::size_t f = 0; f < array.type.fields.size(); ++f) {
    const Differences found = compare(f, cell_check(check, array.type.fields[f].type));
    if (found.cells > 0) sum.same = false;
    sum.error_over_bound = std::max(sum.error_over_bound, found.most);
    errors.squares += found.squares;
  }
  sum.rms_over_limit = std::max(sum.rms_over_limit, rms_over_limit(check, errors));
}

CellLayout layout_of(const declaration::ElementType& type, std::size_t field) {
  return {type.fields[field].type, type.fields[field].offset, type.bytes};
}

}  // namespace

OutputsCompared PairOutputs::compare(int program, const Held& held) {
  OutputsCompared sum;
  for (const Output& output : outputs_) {
    const void* magnitudes = kept_[kMagnitudes] ? output.kept[kMagnitudes].get() : nullptr;
    compare_fields(*output.array, lab_.checks.at(output.array->name), output.cells, sum,
                   [&](std::size_t field, const CellCheck& check) {
                     const CellLayout layout = layout_of(output.array->type, field);
                     return work_.compare(
                         {check, layout, layout, layout, output.cells, share_left(check, held)},
                         output.kept[place(program)].get(), output.kept[place(kBaseline)].get(), magnitudes);
                   });
  }
  return sum;
}

OutputsCompared compare_with_answer(const declaration::LabDeclaration& lab, const Case& declared,
                                    CellWork& work, const std::vector<const void*>& cells,
                                    const Answer& answer) {
  constexpr CellLayout kMagnitudes{declaration::Scalar::kFp64, 0, sizeof(double)};
  OutputsCompared sum;
  const auto outputs = lab.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const declaration::ElementType &type = outputs[i]->type, truth = truth_type(type);
    const std::int64_t count = declaration::cells_in(shape_in(*outputs[i], declared.parameters));
    compare_fields(*outputs[i], lab.checks.at(outputs[i]->name), count, sum,
                   [&](std::size_t field, const CellCheck& check) {
                     return work.compare_with_host(
                         {check, layout_of(type, field), layout_of(truth, field), kMagnitudes, count, 1},
                         cells[i], answer.truth(i), answer.magnitudes(i));
                   });
  }
  return sum;
}

}  // namespace warpgrade::declared
