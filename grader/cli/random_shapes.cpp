#include "cli/random_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr int kWarp = 32;

std::optional<std::int64_t> whole_number(const json& word) {
  if (!word.is_string()) return std::nullopt;
  const auto& text = word.get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `k: 32` or `k: [32, 256]`.
std::vector<std::int64_t> whole_numbers(const json& value) {
  std::vector<std::int64_t> numbers;
  for (const json& word : value.is_array() ? value : json::array({value})) {
    const auto number = whole_number(word);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// What the numbers of a key may be.
struct Span {
  std::int64_t low = 0, high = 0, step = 0;

  void add(std::int64_t number) {
    low = step == 0 ? number : std::min(low, number);
    high = step == 0 ? number : std::max(high, number);
    step = std::gcd(step, number);
  }
};

class Shapes {
 public:
  Shapes(const Lab& lab, const std::vector<Case>& cases, std::uint64_t seed) : lab_(lab), random_(seed) {
    std::set<std::string> here;
    for (const Case& input : cases) {
      here.insert(input.id);
      if (!input.drawn) files_.try_emplace(input.dataset, input.file);
    }
    const auto file = project_root() / "reference" / lab.name() / "lab.yaml";
    const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
    const bool declared = root["judge"].text_or("") != "C++";
    for (const YamlPlace& place : root["cases"].items("a list of cases")) {
      const json item = place.to_json();
      if (declared && item.contains("graph")) continue;  // its numbers are the graph's
      const bool is_usual = item.value("kind", "") != "speed" && item.value("set", "") != "large";
      if (is_usual) items_.push_back(item);
      // What a written lab's numbers multiply to is not its work: none is larger than in a case that is judged here.
      if (!declared && !is_usual) continue;
      for (const auto& [key, value] : item.items())
        for (const std::int64_t number : whole_numbers(value)) spans_[key].add(number);
    }
    for (const json& item : items_) sizes_.push_back(size_of(item));
    std::sort(sizes_.begin(), sizes_.end());
  }

  std::vector<Case> draw(std::size_t count) {
    std::vector<Case> found;
    std::set<std::string> known;
    for (const json& item : items_) known.insert(words_of(item));
    constexpr std::size_t kTries = 50;
    for (std::size_t tries = 0; !items_.empty() && found.size() < count && tries < kTries * count; ++tries) {
      json item = draw_item();
      if (!known.insert(words_of(item)).second) continue;
      item["id"] = fmt::format("shape-{}", found.size() + 1);
      if (auto input = case_of(item)) found.push_back(std::move(*input));
    }
    return found;
  }

 private:
  // What tells shapes apart.
  static std::string words_of(json item) {
    item.erase("id");
    item.erase("why");
    item.erase("set");
    return item.dump();
  }

  static double size_of(const json& item) {
    double size = 1;
    for (const auto& [key, value] : item.items()) {
      const auto numbers = whole_numbers(value);
      if (!numbers.empty()) size *= static_cast<double>(std::max<std::int64_t>(1, numbers.front()));
    }
    return size;
  }

  json draw_item() {
    // Most are no larger than half of the cases are, so that hundreds of them take seconds.
    const double most = random_() % 4 == 0 ? std::max(2 * sizes_[sizes_.size() * 2 / 3], sizes_.back())
                                           : sizes_[sizes_.size() / 2];
    json item;
    do {
      const json& of = items_[random_() % items_.size()];
      item = of;
      for (const auto& [key, value] : of.items()) {
        const auto numbers = whole_numbers(value);
        // `nodes: all` of a large graph would take long: so many as other cases name do as well.
        if (numbers.empty() && (value != "all" || !spans_.contains(key))) continue;
        Span span = spans_.at(key);
        if (of.contains("draw")) span.high = numbers.front();
        item[key] = std::to_string(draw_number(span));
      }
    } while (size_of(item) > most);
    return item;
  }

  // As many of each magnitude; every second one beside a multiple of a warp.
  std::int64_t draw_number(const Span& span) {
    if (span.step == 0 || span.low == span.high) return span.low;
    const std::int64_t first = span.low / span.step, last = span.high / span.step;
    const double low = static_cast<double>(first) + 1, high = static_cast<double>(last) + 1;
    const double share = std::uniform_real_distribution<double>(0, 1)(random_);
    auto number = static_cast<std::int64_t>(low * std::pow((high + 1) / low, share)) - 1;
    if (number > kWarp && random_() % 2 == 0)
      number = number / kWarp * kWarp + static_cast<std::int64_t>(random_() % 3) - 1;
    return std::clamp(number * span.step, span.low, span.high);
  }

  // Nothing where the lab refuses it, or its dataset is not on this machine.
  std::optional<Case> case_of(const json& item) const {
    try {
      const std::string text = json_text(json::array({item}));
      std::vector<Case> specs = lab_.read_cases(YamlPlace::parse(text, "shape"));
      Case& spec = specs.front();
      if (spec.drawn) return std::move(spec);
      const auto file = files_.find(spec.dataset);
      if (file == files_.end()) return std::nullopt;
      spec.file = file->second;
      return std::move(spec);
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  const Lab& lab_;
  std::mt19937_64 random_;
  std::map<std::string, std::filesystem::path> files_;  // of datasets
  std::vector<json> items_;
  std::map<std::string, Span> spans_;  // by key
  std::vector<double> sizes_;
};

}  // namespace

std::vector<Case> random_shapes(const Lab& lab, const std::vector<Case>& cases, std::uint64_t seed,
                                std::size_t count) {
  return Shapes(lab, cases, seed).draw(count);
}

namespace {

// What its numbers multiply to.
double size_of(const Case& spec) {
  const json words = spec.parameters.empty() ? spec.details : typed::to_value(spec.parameters);
  double size = std::max(1, spec.width);
  for (const auto& [key, value] : words.items()) {
    const auto number =
        value.is_number_integer() ? value.get<std::int64_t>() : whole_number(value).value_or(1);
    size *= static_cast<double>(std::max<std::int64_t>(1, number));
  }
  return size;
}

}  // namespace

double expected_seconds(const Case& shape, const std::vector<Case>& cases,
                        const std::map<std::string, double>& wall_s) {
  const auto is_alike = [&](const Case& input) { return !shape.drawn && input.dataset == shape.dataset; };
  const double size = size_of(shape);
  const auto ratio = [&](const Case& input) { return size / size_of(input); };
  const auto nearest = std::min_element(cases.begin(), cases.end(), [&](const Case& x, const Case& y) {
    return std::pair(!is_alike(x), std::abs(std::log(ratio(x)))) <
           std::pair(!is_alike(y), std::abs(std::log(ratio(y))));
  });
  return nearest == cases.end() ? 0 : wall_s.at(nearest->id) * std::max(1.0, ratio(*nearest));
}

std::string shape_words(const Case& shape) {
  const bool declared = !shape.parameters.empty();
  const json words = declared ? typed::to_value(shape.parameters) : shape.details;
  std::string text = declared ? "" : fmt::format("{}, width {}", shape.dataset, shape.width);
  for (const auto& [key, value] : words.items())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

}  // namespace warpgrade
