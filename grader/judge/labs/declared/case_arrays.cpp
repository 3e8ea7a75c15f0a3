#include "judge/labs/declared/case_arrays.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "judge/declaration/npy_file.h"
#include "judge/labs/declared/run_seeds.h"
#include "judge/measure/random.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::Check;
using declaration::CheckKind;
using declaration::DrawKind;
using declaration::ElementType;
using declaration::LabDeclaration;
using declaration::NumberDeclaration;
using declaration::Role;
using declaration::Scalar;
using nlohmann::json;

constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kScalars = 0x736361c1a5ull;  // the scalars' own stream of a run's seed

std::size_t place(std::size_t& total, std::size_t bytes) {
  const std::size_t at = total;
  total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

// The type as NumPy names it; bf16 as its bits.
json numpy_type(const ElementType& type) {
  const auto name = [](Scalar scalar) { return scalar == Scalar::kBf16 ? "<u2" : facts(scalar).numpy; };
  if (!type.is_structure) return name(type.fields.front().type);
  json names = json::array(), formats = json::array(), offsets = json::array();
  for (const declaration::Field& field : type.fields) {
    names.push_back(field.name);
    formats.push_back(name(field.type));
    offsets.push_back(field.offset);
  }
  return {{"names", names}, {"formats", formats}, {"offsets", offsets}, {"itemsize", type.bytes}};
}

bool is_bf16(const ElementType& type) {
  return !type.is_structure && type.fields.front().type == Scalar::kBf16;
}

json number_json(const NumberDeclaration& number, std::int64_t argument) {
  if (facts(number.type).is_float) return std::bit_cast<double>(argument);
  if (number.type == Scalar::kUint64) return static_cast<std::uint64_t>(argument);
  return argument;
}

}  // namespace

std::vector<std::int64_t> absolute_scalars(const LabDeclaration& lab, std::vector<std::int64_t> scalars) {
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (is_floating(lab.scalars[i].type))
      scalars[i] = std::bit_cast<std::int64_t>(std::fabs(std::bit_cast<double>(scalars[i])));
  return scalars;
}

const declaration::HardInputs* hard_inputs(const LabDeclaration& lab, std::uint64_t run_seed) {
  const auto number = static_cast<std::size_t>(inputs_of(run_seed));
  return number == 0 || number > lab.hard.size() ? nullptr : &lab.hard[number - 1];
}

CaseArrays::CaseArrays(const declaration::LabDeclaration& lab, const Case& declared,
                       const std::filesystem::path& graph, OracleProcess& oracle, int threads)
    : lab_(lab), case_(declared), oracle_(oracle), threads_(threads), scalars_(lab.scalars.size()) {
  std::size_t total = 0;
  for (const ArrayDeclaration& array : lab_.arrays) {
    Slot slot;
    slot.array = &array;
    slot.shape = shape_in(array, case_.parameters);
    slot.cells = declaration::cells_in(slot.shape);
    const auto cells = static_cast<std::size_t>(slot.cells);
    if (array.role != Role::kOutput) slot.contents = place(total, cells * array.type.bytes);
    if (array.role != Role::kInput) {
      const Check& check = lab_.checks.at(array.name);
      slot.result = place(total, cells * array.type.bytes);
      slot.truth = place(total, cells * truth_type(array.type).bytes);
      slot.has_magnitude = check.kind == CheckKind::kBound;
      if (slot.has_magnitude) slot.magnitude = place(total, cells * sizeof(double));
    }
    read_fixed(slot, graph);
    slots_.push_back(std::move(slot));
  }
  shared_bytes_ = total;
  oracle_.set_memory(total);
}

CaseArrays::CaseArrays(const CaseArrays& other, OracleProcess& oracle)
    : lab_(other.lab_),
      case_(other.case_),
      oracle_(oracle),
      threads_(other.threads_),
      drawer_(other.drawer_),
      shared_bytes_(other.shared_bytes_),
      slots_(other.slots_),
      scalars_(other.scalars_.size()) {
  oracle_.set_memory(shared_bytes_);
}

bool CaseArrays::plan_sees_arrays(const LabDeclaration& lab) {
  return std::any_of(lab.arrays.begin(), lab.arrays.end(),
                     [](const ArrayDeclaration& array) { return array.seen_by_plan; });
}

const CaseArrays::Slot& CaseArrays::slot(const ArrayDeclaration& array) const {
  for (const Slot& candidate : slots_)
    if (candidate.array == &array) return candidate;
  throw JudgeFault("lab {} has no array {}", lab_.name, array.name);
}

std::span<std::byte> CaseArrays::part(std::size_t at, std::size_t bytes) const {
  return oracle_.memory().subspan(at, bytes);
}

std::size_t CaseArrays::bytes_of(const ArrayDeclaration& array) const {
  return static_cast<std::size_t>(slot(array).cells) * array.type.bytes;
}

std::span<std::byte> CaseArrays::contents(const ArrayDeclaration& array) {
  return part(slot(array).contents, bytes_of(array));
}

std::span<std::byte> CaseArrays::result(const ArrayDeclaration& output) {
  return part(slot(output).result, bytes_of(output));
}

std::span<std::byte> CaseArrays::truth(const ArrayDeclaration& output) const {
  return part(slot(output).truth,
              static_cast<std::size_t>(slot(output).cells) * truth_type(output.type).bytes);
}

std::span<const std::byte> CaseArrays::magnitudes(const ArrayDeclaration& output) const {
  const Slot& here = slot(output);
  if (!here.has_magnitude) return {};
  return part(here.magnitude, static_cast<std::size_t>(here.cells) * sizeof(double));
}

Answer CaseArrays::copy_answer() const {
  Answer answer;
  for (const ArrayDeclaration* output : lab_.outputs())
    answer.add(truth(*output), magnitudes(*output), threads_);
  return answer;
}

void CaseArrays::put_answer(const Answer& answer) {
  const auto outputs = lab_.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (answer.truth(i).size() != truth(*outputs[i]).size() ||
        answer.magnitudes(i).size() != magnitudes(*outputs[i]).size())
      throw JudgeFault("an answer that was kept for {} is of another size", case_.id);
    std::ranges::copy(answer.truth(i), truth(*outputs[i]).begin());
    const Slot& here = slot(*outputs[i]);
    if (here.has_magnitude)
      std::ranges::copy(answer.magnitudes(i), part(here.magnitude, answer.magnitudes(i).size()).begin());
  }
}

void CaseArrays::make_inputs_absolute() {
  for (const Slot& one : slots_) {
    if (one.array->role == Role::kOutput) continue;
    const std::span<std::byte> cells = part(one.contents, bytes_of(*one.array));
    for (const declaration::Field& field : one.array->type.fields) {
      if (!is_floating(field.type)) continue;
      for (std::size_t at = field.offset; at < cells.size(); at += one.array->type.bytes)
        write_real(field.type, std::fabs(read_real(field.type, cells.data() + at)), cells.data() + at);
    }
  }
  scalars_ = absolute_scalars(lab_, scalars_);
}

void CaseArrays::read_fixed(Slot& slot, const std::filesystem::path& graph) const {
  const ArrayDeclaration& array = *slot.array;
  if (array.role == Role::kOutput) return;
  const declaration::Draw& draw = draws_in(array, case_).front();
  if (draw.kind == DrawKind::kNpy) {
    const std::string text = read_text(lab_.folder / draw.file);
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    slot.fixed = std::make_shared<const std::vector<std::byte>>(
        bytes + declaration::read_npy_header(lab_.folder / draw.file).offset, bytes + text.size());
  }
  if (draw.kind != DrawKind::kCsr) return;
  const auto matrix = datasets::CsrFile::open(graph);
  const std::string misfit = csr_misfit(lab_, case_, matrix.rows(), matrix.nnz());
  if (!misfit.empty()) throw JudgeFault("{}", misfit);
  const Scalar type = array.type.fields.front().type;
  const auto fixed =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(slot.cells) * array.type.bytes);
  slot.fixed = fixed;
  std::byte* at = fixed->data();
  const auto append = [&](std::int64_t number) {
    write_whole(type, number, at);
    at += array.type.bytes;
  };
  if (draw.part == declaration::CsrPart::kRowOffsets)
    for (const int offset : matrix.row_offsets()) append(offset);
  if (draw.part == declaration::CsrPart::kColumns)
    for (const int column : matrix.columns()) append(column);
  if (draw.part == declaration::CsrPart::kRows)
    for (int row = 0; row < matrix.rows(); ++row)
      for (int e = matrix.row_offsets()[row]; e < matrix.row_offsets()[row + 1]; ++e) append(row);
}

void CaseArrays::draw(const Slot& slot, std::uint64_t seed, int threads) {
  const ArrayDeclaration& array = *slot.array;
  if (slot.fixed != nullptr) {
    std::copy(slot.fixed->begin(), slot.fixed->end(), part(slot.contents, bytes_of(array)).begin());
    return;
  }
  if (drawer_) return drawer_(drawn_fields(array, seed), part(slot.contents, bytes_of(array)));
  draw_cells(draws_of(array, seed), array.type, row_of(slot), seed_of(slot, seed), threads,
             part(slot.contents, bytes_of(array)));
}

std::uint64_t CaseArrays::seed_of(const Slot& slot, std::uint64_t seed) const {
  return mix_bits(seed + static_cast<std::uint64_t>(&slot - slots_.data()));
}

const declaration::Draws& CaseArrays::draws_of(const ArrayDeclaration& array, std::uint64_t seed) const {
  return draws_in(array, case_, hard_inputs(lab_, seed));
}

std::int64_t CaseArrays::row_of(const Slot& slot) {
  return slot.shape.empty() ? 1 : std::max<std::int64_t>(slot.shape.back(), 1);
}

std::vector<FieldDraw> CaseArrays::drawn_fields(const ArrayDeclaration& array, std::uint64_t seed) const {
  const Slot& here = slot(array);
  if (here.fixed != nullptr) return {};
  return field_draws(draws_of(array, seed), array.type, row_of(here), seed_of(here, seed), here.cells);
}

std::span<const std::byte> CaseArrays::fixed(const ArrayDeclaration& array) const {
  const Slot& here = slot(array);
  if (here.fixed == nullptr) return {};
  return *here.fixed;
}

std::vector<std::int64_t> CaseArrays::drawn_scalars(std::uint64_t seed) const {
  std::vector<std::int64_t> drawn;
  for (std::size_t i = 0; i < lab_.scalars.size(); ++i)
    drawn.push_back(draw_scalar(lab_.scalars[i], mix_bits((seed ^ kScalars) + i)));
  return drawn;
}

void CaseArrays::draw_for_run(std::uint64_t seed, int threads) {
  for (const Slot& slot : slots_)
    if (slot.array->role != Role::kOutput && !slot.array->seen_by_plan) draw(slot, seed, threads);
  scalars_ = drawn_scalars(seed);
}

void CaseArrays::draw_for_plan(std::uint64_t seed, int threads) {
  for (const Slot& slot : slots_)
    if (slot.array->seen_by_plan) draw(slot, seed, threads);
}

json CaseArrays::values_json() const {
  json values = json::object();
  for (const NumberDeclaration& parameter : lab_.parameters)
    values[parameter.name] =
        number_json(parameter, argument_of(parameter, case_.parameters.at(parameter.name)));
  for (std::size_t i = 0; i < scalars_.size(); ++i)
    values[lab_.scalars[i].name] = number_json(lab_.scalars[i], scalars_[i]);
  return values;
}

json CaseArrays::entry(const Slot& slot, std::size_t at, bool as_truth, const std::string& name) const {
  const ElementType type = as_truth ? truth_type(slot.array->type) : slot.array->type;
  json described{{"name", name}, {"dtype", numpy_type(type)}, {"shape", slot.shape}, {"at", at}};
  if (is_bf16(type)) described["bf16"] = true;
  return described;
}

json CaseArrays::inputs_json() const {
  json inputs = json::array();
  for (const Slot& slot : slots_)
    if (slot.array->role != Role::kOutput)
      inputs.push_back(entry(slot, slot.contents, false, slot.array->name));
  return inputs;
}

double CaseArrays::find_truth(Ask ask) {
  const bool all_by_script = std::all_of(lab_.checks.begin(), lab_.checks.end(), [](const auto& check) {
    return check.second.kind == CheckKind::kScript;
  });
  if (all_by_script && ask == Ask::kWhereCompared) return 0;  // the script finds out by itself what is right
  json outputs = json::array();
  for (const Slot& slot : slots_)
    if (slot.array->role != Role::kInput) outputs.push_back(entry(slot, slot.truth, true, slot.array->name));
  for (const Slot& slot : slots_) {
    if (!slot.has_magnitude) continue;
    outputs.push_back({{"name", slot.array->name + "_magnitude"},
                       {"dtype", "<f8"},
                       {"shape", slot.shape},
                       {"at", slot.magnitude}});
  }
  const auto begun = std::chrono::steady_clock::now();
  const json answer = oracle_.ask(
      {{"op", "truth"}, {"values", values_json()}, {"inputs", inputs_json()}, {"outputs", outputs}});
  // A program of C++ has one thread and says nothing.
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
  return answer.value("cpu_s", waited.count());
}

std::optional<CaseArrays::Finding> CaseArrays::check() {
  max_error_over_bound_ = max_rms_over_limit_ = 0;
  for (const Slot& slot : slots_) {
    if (slot.array->role == Role::kInput) continue;
    if (lab_.checks.at(slot.array->name).kind == CheckKind::kScript) continue;
    if (auto finding = compare_output(slot)) return finding;
  }
  return lab_.check_script.empty() ? std::nullopt : ask_script();
}

std::optional<CaseArrays::Finding> CaseArrays::compare_output(const Slot& slot) {
  const ArrayDeclaration& array = *slot.array;
  OutputView view{&array, &lab_.checks.at(array.name), slot.shape, result(array), truth(array), {}, {}};
  if (slot.has_magnitude)
    view.magnitude = part(slot.magnitude, static_cast<std::size_t>(slot.cells) * sizeof(double));
  if (array.role == Role::kInPlace) view.initial = contents(array);
  const Comparison comparison = compare(view, threads_);
  cells_checked_ = slot.cells;
  method_ = method_name(view.check->kind);
  max_error_over_bound_ = std::max(max_error_over_bound_, comparison.max_error_over_bound);
  const double rms = rms_over_limit(*view.check, comparison);
  max_rms_over_limit_ = std::max(max_rms_over_limit_, rms);
  if (comparison.wrong == 0 && rms <= 1) return std::nullopt;
  Finding finding;
  if (comparison.wrong == 0) {
    finding.message = fmt::format(
        "each cell of {} is within its bound, but the errors of all are {:.2f} times as large as they may be "
        "(root mean square): are numbers rounded to fewer bits on the way?",
        array.name, rms);
    return finding;
  }
  finding.pattern = pattern_of(view, comparison);
  finding.message = message_of(view, comparison);
  finding.mismatches = mismatches_of(view, comparison);
  finding.unwritten = comparison.unwritten == comparison.wrong && array.type.bytes > 1;
  return finding;
}

std::optional<CaseArrays::Finding> CaseArrays::ask_script() {
  json outputs = json::array(), before = json::array();
  for (const Slot& slot : slots_) {
    if (slot.array->role == Role::kInput) continue;
    outputs.push_back(entry(slot, slot.result, false, slot.array->name));
    cells_checked_ = slot.cells;
    if (slot.array->role != Role::kInPlace) continue;
    before.push_back(entry(slot, slot.contents, false, slot.array->name));
    before.back()["as"] = slot.array->name + "_before";
  }
  method_ = method_name(CheckKind::kScript);
  const json answer = oracle_.ask({{"op", "check"},
                                   {"values", values_json()},
                                   {"inputs", inputs_json()},
                                   {"outputs", outputs},
                                   {"before", before}});
  if (answer.at("wrong").is_null()) return std::nullopt;
  Finding finding;
  finding.message = answer.at("wrong").get<std::string>();
  return finding;
}

}  // namespace warpgrade::declared
