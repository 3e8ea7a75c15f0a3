#include "judge/labs/declared/check_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "judge/labs/declared/run_seeds.h"
#include "judge/measure/interval.h"
#include "judge/measure/random.h"

namespace warpgrade::declared {
namespace {

using declaration::ArrayDeclaration;
using declaration::Check;
using declaration::CheckKind;
using declaration::ElementType;
using declaration::Field;
using declaration::Role;
using declaration::Scalar;

constexpr std::size_t kMostNumbers = 4096;  // of an output, whose spread is taken
constexpr int kParts = 16, kSubstitutes = 3;
constexpr int kTriedAgain = 20;
constexpr double kLargestAllowed = 1.0 / 20, kLargestChance = 1e-6, kConfidence = 0.95;

double magnitude_at(std::span<const std::byte> magnitudes, std::size_t cell) {
  return read_real(Scalar::kFp64, magnitudes.data() + cell * sizeof(double));
}

// ---- how far outputs lie apart ----

// Numbers at even distances in an output, each with its sums over the seeds.
class Spread {
 public:
  Spread(const ArrayDeclaration& output, const Check& check, std::int64_t cells)
      : output_(output), check_(check), truth_(truth_type(output.type)) {
    const std::size_t numbers = static_cast<std::size_t>(cells) * truth_.fields.size();
    sums_.resize(std::min(numbers, kMostNumbers));
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].place = numbers * i / sums_.size();
  }

  void add(std::span<const std::byte> truth, std::span<const std::byte> magnitudes) {
    for (Sums& sums : sums_) {
      const std::size_t cell = sums.place / truth_.fields.size(), f = sums.place % truth_.fields.size();
      const Field& field = truth_.fields[f];
      const double value = read_real_or_whole(field.type, truth.data() + cell * truth_.bytes + field.offset);
      if (!std::isfinite(value)) continue;
      const double allowed = allowed_at(output_.type.fields[f].type, value,
                                        magnitudes.empty() ? 0 : magnitude_at(magnitudes, cell));
      if (sums.count++ == 0) sums.first = value;
      sums.sum += value - sums.first;  // from the first on, so that no digits are lost
      sums.squares += (value - sums.first) * (value - sums.first);
      sums.allowed = std::max(sums.allowed, allowed);
    }
  }

  OutputSpread result() const {
    std::vector<double> ratios;
    std::size_t constant = 0;
    for (const Sums& sums : sums_) {
      const double mean = sums.count == 0 ? 0 : sums.sum / sums.count;
      const double variance = sums.count < 2 ? 0 : (sums.squares - sums.sum * mean) / (sums.count - 1);
      if (variance > 0)
        ratios.push_back(sums.allowed / std::sqrt(variance));
      else
        ++constant;
    }
    OutputSpread result{output_.name, 0, sums_.empty() ? 0 : static_cast<double>(constant) / sums_.size()};
    if (!ratios.empty()) {
      const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
      std::nth_element(ratios.begin(), middle, ratios.end());
      result.allowed_over_spread = *middle;
    }
    return result;
  }

 private:
  struct Sums {
    std::size_t place = 0;
    int count = 0;
    double first = 0, sum = 0, squares = 0, allowed = 0;
  };

  static double read_real_or_whole(Scalar type, const std::byte* at) {
    return facts(type).is_float ? read_real(type, at) : static_cast<double>(read_whole(type, at));
  }
  // What the check allows a number of this value; a script says it of none.
  double allowed_at(Scalar type, double value, double magnitude) const {
    const CellCheck numbers = cell_check(check_, type);
    const double last_place =
        facts(type).is_float ? std::ldexp(std::fabs(value), -facts(type).significand_bits) : 0;
    switch (check_.kind) {
      case CheckKind::kBound:
        return numbers.unit * magnitude;
      case CheckKind::kTolerance:
        return numbers.absolute + numbers.relative * std::fabs(value);
      case CheckKind::kUlps:
        return static_cast<double>(numbers.ulps) * last_place;
      case CheckKind::kExact:
      case CheckKind::kScript:
        break;
    }
    return 0;
  }

  const ArrayDeclaration& output_;
  const Check& check_;
  ElementType truth_;
  std::vector<Sums> sums_;
};

// ---- inputs of which a part is not read ----

enum class Substitute { kZero, kMean, kOtherDraw };

struct Part {
  int number = 0;
  Substitute by = Substitute::kZero;
};

std::string text_of(const Part& part) {
  const char* by = part.by == Substitute::kZero   ? "0"
                   : part.by == Substitute::kMean ? "its mean"
                                                  : "another draw";
  return fmt::format("sixteenth {} by {}", part.number + 1, by);
}

std::span<std::byte> cells_of_part(std::span<std::byte> cells, std::size_t element, int part) {
  const std::size_t count = cells.size() / element;
  const std::size_t begin = count * static_cast<std::size_t>(part) / kParts;
  const std::size_t end = count * static_cast<std::size_t>(part + 1) / kParts;
  return cells.subspan(begin * element, (end - begin) * element);
}

double mean_of(std::span<const std::byte> cells, const ElementType& type, const Field& field) {
  double sum = 0;
  for (std::size_t at = field.offset; at < cells.size(); at += type.bytes)
    sum += facts(field.type).is_float ? read_real(field.type, cells.data() + at)
                                      : static_cast<double>(read_whole(field.type, cells.data() + at));
  return sum / (static_cast<double>(cells.size()) / static_cast<double>(type.bytes));
}

void write_mean(std::span<const std::byte> all, const ElementType& type, std::span<std::byte> part) {
  for (const Field& field : type.fields) {
    const double mean = mean_of(all, type, field);
    for (std::size_t at = field.offset; at < part.size(); at += type.bytes) {
      if (facts(field.type).is_float)
        write_real(field.type, mean, part.data() + at);
      else
        write_whole(field.type, std::llround(mean), part.data() + at);
    }
  }
}

// The parts of an input that have cells in them, in an order that the seed draws.
std::vector<Part> parts_of(std::span<std::byte> cells, std::size_t element, std::uint64_t seed) {
  std::vector<Part> parts;
  for (int number = 0; number < kParts; ++number)
    for (int by = 0; by < kSubstitutes; ++by)
      if (!cells_of_part(cells, element, number).empty())
        parts.push_back({number, static_cast<Substitute>(by)});
  std::shuffle(parts.begin(), parts.end(), std::mt19937_64(seed));
  return parts;
}

class PowerTrial {
 public:
  PowerTrial(const declaration::LabDeclaration& lab, CaseArrays& arrays, std::uint64_t seed)
      : lab_(lab), arrays_(arrays), seed_(seed) {
    for (const ArrayDeclaration* output : lab.outputs())
      spreads_.emplace_back(*output, lab.checks.at(output->name), arrays.cells_of(*output));
    for (const ArrayDeclaration& array : lab.arrays) {
      if (array.role == Role::kOutput || !arrays.fixed(array).empty()) continue;
      Input input{&array,
                  parts_of(arrays.contents(array), array.type.bytes, mix_bits(seed + inputs_.size())),
                  {},
                  {}};
      input.result.input = array.name;
      if (!input.parts.empty()) inputs_.push_back(std::move(input));
    }
  }

  // One seed: the truth, and one part of each input replaced.
  void add(int number) {
    begin(number);
    const std::vector<const ArrayDeclaration*> outputs = lab_.outputs();
    for (std::size_t o = 0; o < outputs.size(); ++o)
      spreads_[o].add(arrays_.truth(*outputs[o]), arrays_.magnitudes(*outputs[o]));
    for (Input& input : inputs_) {
      const Part part = input.parts[static_cast<std::size_t>(number) % input.parts.size()];
      const Outcome outcome = replace(*input.array, part, number);
      input.result.tried += outcome == Outcome::kUnchanged ? 0 : 1;
      input.result.passed += outcome == Outcome::kPassed ? 1 : 0;
      if (outcome == Outcome::kPassed) input.doubtful.push_back(part);
    }
  }

  // Those that passed, under more seeds.
  void add_doubtful(int first_seed) {
    for (int i = 0; i < kTriedAgain; ++i) {
      if (std::all_of(inputs_.begin(), inputs_.end(),
                      [](const Input& input) { return input.doubtful.empty(); }))
        return;
      begin(first_seed + i);
      for (Input& input : inputs_) {
        input.again.resize(input.doubtful.size());
        for (std::size_t d = 0; d < input.doubtful.size(); ++d) {
          const Outcome outcome = replace(*input.array, input.doubtful[d], first_seed + i);
          input.again[d].tried += outcome == Outcome::kUnchanged ? 0 : 1;
          input.again[d].passed += outcome == Outcome::kPassed ? 1 : 0;
        }
      }
    }
  }

  CasePower result(const std::string& case_id, int seeds) const {
    CasePower power{case_id, seeds, {}, {}};
    for (const Spread& spread : spreads_) power.outputs.push_back(spread.result());
    for (const Input& input : inputs_) {
      power.inputs.push_back(input.result);
      InputReplaced& one = power.inputs.back();
      for (std::size_t d = 0; d < input.again.size(); ++d) {
        if (!one.worst.empty() && input.again[d].passed <= one.worst_passed) continue;
        one.worst = text_of(input.doubtful[d]);
        one.worst_tried = input.again[d].tried;
        one.worst_passed = input.again[d].passed;
      }
    }
    return power;
  }

 private:
  struct Tries {
    int tried = 0, passed = 0;
  };
  struct Input {
    const ArrayDeclaration* array;
    std::vector<Part> parts, doubtful;
    std::vector<Tries> again;  // of the doubtful ones
    InputReplaced result{};
  };
  enum class Outcome { kUnchanged, kRefused, kPassed };

  // The case's own inputs.
  void draw(std::uint64_t number) {
    const std::uint64_t seed = with_inputs(mix_bits(seed_ + number), 0);
    arrays_.draw_for_plan(seed);
    arrays_.draw_for_run(seed);
  }

  void begin(int number) {
    draw(static_cast<std::uint64_t>(number));
    arrays_.find_truth(CaseArrays::Ask::kAlways);
    truth_ = arrays_.copy_answer();
  }

  // Leaves the inputs as they were.
  Outcome replace(const ArrayDeclaration& array, const Part& part, int number) {
    const std::span<std::byte> cells = arrays_.contents(array);
    const std::span<std::byte> replaced = cells_of_part(cells, array.type.bytes, part.number);
    const std::vector<std::byte> before(replaced.begin(), replaced.end());
    if (part.by == Substitute::kZero) {
      std::fill(replaced.begin(), replaced.end(), std::byte{0});
    } else if (part.by == Substitute::kMean) {
      write_mean(cells, array.type, replaced);
    } else {
      draw(~static_cast<std::uint64_t>(number));
      const std::vector<std::byte> other(replaced.begin(), replaced.end());
      draw(static_cast<std::uint64_t>(number));
      std::copy(other.begin(), other.end(), replaced.begin());
    }
    if (std::equal(before.begin(), before.end(), replaced.begin())) return Outcome::kUnchanged;
    const bool passed = is_taken(before, replaced);
    std::copy(before.begin(), before.end(), replaced.begin());
    return passed ? Outcome::kPassed : Outcome::kRefused;
  }

  // Whether the check takes the outputs for what was replaced; for inputs that the oracle does not answer
  // (an order that is none, say) no program has an output.
  bool is_taken(const std::vector<std::byte>& before, std::span<std::byte> replaced) {
    try {
      arrays_.find_truth(CaseArrays::Ask::kAlways);
    } catch (const JudgeFault&) {
      return false;
    }
    if (differs_somewhere()) return false;
    for (const ArrayDeclaration* output : lab_.outputs()) write_truth_as_result(arrays_, *output);
    std::copy(before.begin(), before.end(), replaced.begin());
    arrays_.put_answer(truth_);
    return !arrays_.check();
  }

  // Whether a cell at one of many even distances is wrong by the check's own measure: then it refuses, and
  // the whole of an output need not be written and compared.
  bool differs_somewhere() const {
    constexpr std::size_t kLooked = 1 << 16;
    const std::vector<const ArrayDeclaration*> outputs = lab_.outputs();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const Check& check = lab_.checks.at(outputs[o]->name);
      if (outputs[o]->type.is_structure || check.kind == CheckKind::kScript) continue;
      const Scalar type = outputs[o]->type.fields.front().type;
      const ElementType wide = truth_type(outputs[o]->type);
      const CellCheck numbers = cell_check(check, type);
      const std::span<const std::byte> now = arrays_.truth(*outputs[o]), wanted = truth_.truth(o);
      const std::span<const std::byte> magnitudes = truth_.magnitudes(o);
      const std::size_t cells = now.size() / wide.bytes, looked = std::min(cells, kLooked);
      for (std::size_t i = 0; i < looked; ++i) {
        const std::size_t at = cells * i / looked;
        if (is_wrong(numbers, type, now.subspan(at * wide.bytes), wanted.subspan(at * wide.bytes),
                     magnitudes.empty() ? 0 : magnitude_at(magnitudes, at)))
          return true;
      }
    }
    return false;
  }

  // One number of an output; `now` and `wanted` begin with it, laid out as truths are.
  static bool is_wrong(const CellCheck& check, Scalar type, std::span<const std::byte> now,
                       std::span<const std::byte> wanted, double magnitude) {
    if (!facts(type).is_float) return std::memcmp(now.data(), wanted.data(), facts(type).bytes) != 0;
    alignas(8) std::byte rounded[8];
    write_real(type, read_real(Scalar::kFp64, now.data()), rounded);
    return !(error_over_bound(check, type, rounded, read_real(Scalar::kFp64, wanted.data()), magnitude) <= 1);
  }

  const declaration::LabDeclaration& lab_;
  CaseArrays& arrays_;
  std::uint64_t seed_;
  Answer truth_;
  std::vector<Spread> spreads_;
  std::vector<Input> inputs_;
};

}  // namespace

CasePower measure_power(const declaration::LabDeclaration& lab, const Case& declared,
                        const std::filesystem::path& graph, OracleProcess& oracle, std::uint64_t seed,
                        int seeds, int threads, const SeedProgress& progress) {
  CaseArrays arrays(lab, declared, graph, oracle, threads);
  PowerTrial trial(lab, arrays, seed);
  for (int number = 1; number <= seeds; ++number) {
    progress(number, seeds);
    trial.add(number);
  }
  trial.add_doubtful(seeds + 1);
  return trial.result(declared.id, seeds);
}

std::vector<std::string> weaknesses(const CasePower& power, int compared_runs) {
  std::vector<std::string> found;
  for (const OutputSpread& one : power.outputs) {
    if (one.constant == 1)
      found.push_back(
          fmt::format("case {}: {} is the same under each of {} seeds: draw inputs that change it",
                      power.case_id, one.output, power.seeds));
    else if (one.allowed_over_spread > kLargestAllowed)
      found.push_back(
          fmt::format("case {}: the check allows {} errors of {:.2g} of its spread over the seeds, and {} at "
                      "most: make the bound smaller, or draw inputs of mean 0 and larger values",
                      power.case_id, one.output, one.allowed_over_spread, kLargestAllowed));
  }
  for (const InputReplaced& one : power.inputs) {
    if (one.worst.empty()) continue;
    const double share = largest_share(one.worst_passed, one.worst_tried, kConfidence);
    if (std::pow(share, compared_runs) < kLargestChance) continue;
    found.push_back(fmt::format(
        "case {}: {} of {} times the check took the outputs where {}'s {} was replaced: draw other inputs, "
        "so that each part of {} changes an output",
        power.case_id, one.worst_passed, one.worst_tried, one.input, one.worst, one.input));
  }
  return found;
}

nlohmann::json json_of(const CasePower& power) {
  nlohmann::json json{{"id", power.case_id}, {"seeds", power.seeds}};
  for (const OutputSpread& one : power.outputs)
    json["outputs"].push_back(
        {{"name", one.output}, {"allowed_over_spread", one.allowed_over_spread}, {"constant", one.constant}});
  json["inputs"] = nlohmann::json::array();
  for (const InputReplaced& one : power.inputs)
    json["inputs"].push_back({{"name", one.input},
                              {"tried", one.tried},
                              {"passed", one.passed},
                              {"worst", one.worst},
                              {"worst_tried", one.worst_tried},
                              {"worst_passed", one.worst_passed}});
  return json;
}

CasePower power_from_json(const nlohmann::json& json) {
  CasePower power{json.at("id"), json.at("seeds"), {}, {}};
  for (const nlohmann::json& one : json.at("outputs"))
    power.outputs.push_back({one.at("name"), one.at("allowed_over_spread"), one.at("constant")});
  for (const nlohmann::json& one : json.at("inputs"))
    power.inputs.push_back({one.at("name"), one.at("tried"), one.at("passed"), one.at("worst"),
                            one.at("worst_tried"), one.at("worst_passed")});
  return power;
}

}  // namespace warpgrade::declared
