#include "judge/labs/declared/changed_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "judge/judging/shared_buffer.h"
#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/run_seeds.h"
#include "judge/measure/random.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::CheckKind;
using declaration::ElementType;
using declaration::Field;
using declaration::LabDeclaration;
using declaration::Scalar;
using CellBytes = std::span<std::byte>;

constexpr std::size_t kTile = 256;  // cells of a dropped tile, at most

void flip_one(const ElementType& type, CellBytes cells, std::uint64_t bits) {
  if (cells.empty()) return;
  const Field& field = type.fields[bits % type.fields.size()];
  std::byte* at = cells.data() + (bits >> 8) % (cells.size() / type.bytes) * type.bytes + field.offset;
  if (!facts(field.type).is_float) {
    *at ^= std::byte{1};
    return;
  }
  const double value = read_real(field.type, at);  // its sign, or 1 where that changes nothing
  write_real(field.type, value == 0 || !std::isfinite(value) ? 1 : -value, at);
}

void scale(const ElementType& type, CellBytes cells, std::uint64_t) {
  for (std::size_t i = 0; i < cells.size() / type.bytes; ++i) {
    for (const Field& field : type.fields) {
      std::byte* at = cells.data() + i * type.bytes + field.offset;
      if (facts(field.type).is_float) write_real(field.type, read_real(field.type, at) * (1 + 0x1p-10), at);
    }
  }
}

void shift(const ElementType& type, CellBytes cells, std::uint64_t) {
  if (cells.size() > type.bytes)
    std::memmove(cells.data() + type.bytes, cells.data(), cells.size() - type.bytes);
}

void drop_last_tile(const ElementType& type, CellBytes cells, std::uint64_t) {
  const std::size_t count = cells.size() / type.bytes, dropped = std::min(kTile, (count + 1) / 2);
  for (std::size_t i = (count - dropped) * type.bytes; i < cells.size(); ++i)
    cells[i] = static_cast<std::byte>(kPoison >> (8 * (i % 4)));
}

struct Way {
  const char* name;
  void (*change)(const ElementType& type, CellBytes cells, std::uint64_t bits);
};
constexpr Way kWays[] = {{"one element flipped", flip_one},
                         {"all scaled by 1 + 2^-10", scale},
                         {"all shifted by one", shift},
                         {"the last tile dropped", drop_last_tile}};

// Whether every number in the output is one that scaling changes by less than the format resolves.
bool holds_only_whole_numbers(const ElementType& type) {
  return std::none_of(type.fields.begin(), type.fields.end(),
                      [](const Field& field) { return facts(field.type).is_float; });
}

bool fits(const LabDeclaration& lab, const Case& c) {
  std::size_t bytes = 0;
  for (const ArrayDeclaration& array : lab.arrays)
    bytes +=
        static_cast<std::size_t>(declaration::cells_in(shape_in(array, c.parameters))) * array.type.bytes;
  return bytes <= kLargestChanged;
}

std::vector<const Case*> fitting(const LabDeclaration& lab) {
  std::vector<const Case*> cases;
  for (const Case& c : lab.cases)
    if (fits(lab, c)) cases.push_back(&c);
  return cases;
}

void change_case(const LabDeclaration& lab, const Case& c, CaseArrays& arrays, std::uint64_t seed,
                 ChangeReport& report) {
  for (const ArrayDeclaration* output : lab.outputs()) {
    const CellBytes result = arrays.result(*output);
    const std::vector<std::byte> right(result.begin(), result.end());
    for (std::size_t way = 0; way < std::size(kWays); ++way) {
      if (kWays[way].change == scale && holds_only_whole_numbers(output->type)) continue;
      kWays[way].change(output->type, result, random_bits(seed, way));
      OutputChange& change = report.changes[way];
      if (!std::equal(right.begin(), right.end(), result.begin())) {
        ++change.tried;
        if (!arrays.check()) change.missed.push_back(fmt::format("case {}, {}", c.id, output->name));
      }
      std::copy(right.begin(), right.end(), result.begin());
    }
  }
}

std::filesystem::path graph_of(const Case& c, const GraphFiles& graphs) {
  return c.graph.empty() ? std::filesystem::path() : graphs(c.graph);
}

// For messages: "case one", "case one with inputs 'far'".
std::string case_with_inputs(const LabDeclaration& lab, const Case& c, int inputs) {
  if (inputs == 0) return "case " + c.id;
  return fmt::format("case {} with inputs '{}'", c.id, lab.hard[static_cast<std::size_t>(inputs) - 1].id);
}

}  // namespace

void write_truth_as_result(CaseArrays& arrays, const ArrayDeclaration& output) {
  const ElementType wide = truth_type(output.type);
  const CellBytes truth = arrays.truth(output), result = arrays.result(output);
  std::fill(result.begin(), result.end(), std::byte{0});
  const std::size_t cells = result.size() / output.type.bytes;
  for (std::size_t i = 0; i < cells; ++i) {
    for (std::size_t f = 0; f < wide.fields.size(); ++f) {
      const std::byte* from = truth.data() + i * wide.bytes + wide.fields[f].offset;
      std::byte* to = result.data() + i * output.type.bytes + output.type.fields[f].offset;
      if (facts(wide.fields[f].type).is_float)
        write_real(output.type.fields[f].type, read_real(Scalar::kFp64, from), to);
      else
        std::memcpy(to, from, facts(wide.fields[f].type).bytes);
    }
  }
}

ChangeReport try_changed_outputs(const LabDeclaration& lab, const GraphFiles& graphs, OracleProcess& oracle,
                                 std::uint64_t seed, int threads, const CaseProgress& progress) {
  ChangeReport report;
  for (const Way& way : kWays) report.changes.push_back({way.name, 0, {}});
  const std::vector<const Case*> cases = fitting(lab);
  for (const Case* one : cases) {
    const Case& c = *one;
    progress(report.cases + 1, static_cast<int>(cases.size()), c.id);
    CaseArrays arrays(lab, c, graph_of(c, graphs), oracle, threads);
    const std::uint64_t own = mix_bits(seed + static_cast<std::uint64_t>(++report.cases));
    arrays.draw_for_plan(own);
    // The case's own inputs last: a change of what comes from hard ones may change nothing.
    bool holds = true;
    for (int inputs = static_cast<int>(lab.hard.size()); inputs >= 0; --inputs) {
      arrays.draw_for_run(with_inputs(mix_bits(own), inputs));
      arrays.find_truth(CaseArrays::Ask::kAlways);
      for (const ArrayDeclaration* output : lab.outputs()) write_truth_as_result(arrays, *output);
      const auto finding = arrays.check();
      if (finding) report.refused.push_back(case_with_inputs(lab, c, inputs) + ": " + finding->message);
      holds = holds && !finding;
    }
    if (holds) change_case(lab, c, arrays, own, report);
  }
  return report;
}

std::vector<std::string> disagreements(const LabDeclaration& lab, const GraphFiles& graphs,
                                       OracleProcess& oracle, OracleProcess& second, std::uint64_t seed,
                                       int threads, const CaseProgress& progress) {
  std::vector<std::string> found;
  int number = 0;
  const std::vector<const Case*> cases = fitting(lab);
  for (const Case* one : cases) {
    const Case& c = *one;
    progress(++number, static_cast<int>(cases.size()), c.id);
    const std::filesystem::path graph = graph_of(c, graphs);
    CaseArrays arrays(lab, c, graph, oracle, threads), others(lab, c, graph, second, threads);
    for (int inputs = 0; inputs <= static_cast<int>(lab.hard.size()); ++inputs) {
      for (CaseArrays* either : {&arrays, &others}) {
        either->draw_for_plan(seed);
        either->draw_for_run(with_inputs(mix_bits(seed), inputs));
        either->find_truth(CaseArrays::Ask::kAlways);
      }
      for (const ArrayDeclaration* output : lab.outputs()) {
        write_truth_as_result(others, *output);
        const CellBytes from = others.result(*output);
        std::copy(from.begin(), from.end(), arrays.result(*output).begin());
      }
      if (const auto finding = arrays.check())
        found.push_back(case_with_inputs(lab, c, inputs) + ": " + finding->message);
    }
  }
  return found;
}

std::vector<std::string> other_magnitudes(const LabDeclaration& lab, const GraphFiles& graphs,
                                          OracleProcess& oracle, std::uint64_t seed, int threads,
                                          const CaseProgress& progress) {
  // A measure of errors need not be more precise; the judge counts on no more (repetition_truth.cpp).
  constexpr double kClose = 1e-3;
  std::vector<std::string> found;
  int number = 0;
  const std::vector<const Case*> cases = fitting(lab);
  for (const Case* one : cases) {
    progress(++number, static_cast<int>(cases.size()), one->id);
    CaseArrays arrays(lab, *one, graph_of(*one, graphs), oracle, threads);
    arrays.draw_for_plan(seed);
    arrays.draw_for_run(with_inputs(mix_bits(seed), 0));
    arrays.find_truth(CaseArrays::Ask::kAlways);
    std::vector<std::vector<std::byte>> said;
    for (const ArrayDeclaration* output : lab.outputs())
      said.emplace_back(arrays.magnitudes(*output).begin(), arrays.magnitudes(*output).end());
    arrays.make_inputs_absolute();
    arrays.find_truth(CaseArrays::Ask::kAlways);
    for (std::size_t o = 0; o < said.size(); ++o) {
      const ArrayDeclaration& output = *lab.outputs()[o];
      if (!lab.checks.at(output.name).magnitude_of_absolutes) continue;
      const std::span<const std::byte> truth = arrays.truth(output);
      for (std::size_t at = 0; at < truth.size(); at += sizeof(double)) {
        const double wanted = std::fabs(read_real(declaration::Scalar::kFp64, truth.data() + at));
        const double magnitude = read_real(declaration::Scalar::kFp64, said[o].data() + at);
        if (std::fabs(magnitude - wanted) <= kClose * wanted) continue;
        found.push_back(fmt::format(
            "case {}: cell {} of {}_magnitude is {:.9g}, and the output for inputs without signs {:.9g}",
            one->id, at / sizeof(double), output.name, magnitude, wanted));
        break;
      }
    }
  }
  return found;
}

}  // namespace warpgrade::declared
