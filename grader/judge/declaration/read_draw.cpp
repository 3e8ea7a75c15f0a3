#include "judge/declaration/read_draw.h"

#include <cmath>
#include <limits>

#include "judge/declaration/lab_words.h"

namespace warpgrade::declaration {
namespace {

template <class Kind>
std::set<std::string> words_in() {
  const auto words = words_of(Kind{});
  return {words.begin(), words.end()};
}

bool may_be_thin(DrawKind kind) {
  return kind == DrawKind::kUniform || kind == DrawKind::kNormal || kind == DrawKind::kIntegers;
}

double largest_real(Scalar type) {
  if (type == Scalar::kFp16) return 65504;
  if (type == Scalar::kBf16 || type == Scalar::kFp32) return std::numeric_limits<float>::max();
  return std::numeric_limits<double>::max();
}

double read_real_number(const YamlPlace& place, Scalar type) {
  return place.number(-largest_real(type), largest_real(type));
}

void read_range(const YamlPlace& place, Scalar type, bool whole, Draw& draw) {
  const auto ends = place.items("the least and the greatest number, for instance [0, 1000]");
  if (ends.size() != 2) place.fail("two numbers, the least and the greatest, for instance [0, 1000]");
  if (whole) {
    const bool is_float = facts(type).is_float;  // whole numbers that the type holds exactly
    const std::int64_t most = is_float ? std::int64_t{1} << facts(type).significand_bits : greatest_of(type);
    draw.whole_low = ends[0].whole(is_float ? -most : least_of(type), most);
    draw.whole_high = ends[1].whole(draw.whole_low, most);
  } else {
    draw.low = read_real_number(ends[0], type);
    draw.high = ends[1].number(draw.low, largest_real(type));
  }
}

// `thin_rows: 16` beside the way of drawing.
std::int64_t read_thin_rows(const YamlPlace& place) {
  constexpr std::int64_t kLeast = 2, kMost = 1 << 20;
  return place.defined() ? place.whole(kLeast, kMost) : 0;
}

Draw read_draw(const YamlPlace& place, Scalar type) {
  Draw draw;
  const bool is_float = facts(type).is_float;
  if (!place.defined()) {
    if (!is_float) place.fail("how the numbers are drawn, for instance {uniform: [0, 1000]}");
    return draw;
  }
  std::string name;
  YamlPlace value = place;
  if (place.is_scalar()) {
    name = place.word(words_in<DrawKind>());
    value = YamlPlace(YAML::Node(YAML::NodeType::Undefined), place.file(), place.key(), place.line());
  } else {
    std::set<std::string> keys = words_in<DrawKind>();
    keys.insert("thin_rows");
    place.only(keys);
    auto entries = place.entries();
    std::erase_if(entries, [](const auto& entry) { return entry.first == "thin_rows"; });
    if (entries.size() != 1) place.fail("one way of drawing, for instance {uniform: [0, 1000]}");
    name = entries.front().first;
    value = entries.front().second;
    draw.thin_rows = read_thin_rows(place["thin_rows"]);
  }
  draw.kind = *typed::named<DrawKind>(name);
  if (draw.thin_rows > 0 && !may_be_thin(draw.kind))
    place["thin_rows"].refuse("it stands beside uniform, normal or integers");
  switch (draw.kind) {
    case DrawKind::kUniform:
    case DrawKind::kSorted:
    case DrawKind::kDescending:
      read_range(value, type, !is_float, draw);
      break;
    case DrawKind::kIntegers:
      read_range(value, type, true, draw);
      break;
    case DrawKind::kNormal: {
      if (!is_float) place.fail("uniform, integers or another way of drawing whole numbers");
      const auto numbers = value.items("the mean and the standard deviation, for instance [0, 1]");
      if (numbers.size() != 2) value.fail("two numbers, the mean and the standard deviation");
      draw.mean = read_real_number(numbers[0], type);
      draw.deviation = numbers[1].number(0, largest_real(type));
      break;
    }
    case DrawKind::kConstant:
    case DrawKind::kOneHot:
      if (!value.defined() && draw.kind == DrawKind::kOneHot) {
        draw.low = 1;
        draw.whole_low = 1;
      } else if (is_float) {
        draw.low = read_real_number(value, type);
      } else {
        draw.whole_low = value.whole(least_of(type), greatest_of(type));
      }
      break;
    case DrawKind::kNpy:
    case DrawKind::kCsr:
      place.refuse(name + " draws an array of numbers, no single number and no field of a structure");
    case DrawKind::kPermutation:
      if (value.defined()) value.fail("nothing: a permutation is of 0, 1, ... as many as there are cells");
      break;
  }
  return draw;
}

// `{npy: weights.npy}`: of the lab's folder.
Draw read_npy(const YamlPlace& place, const std::filesystem::path& folder) {
  place.only({"npy"});
  Draw draw;
  draw.kind = DrawKind::kNpy;
  draw.file = place["npy"].text();
  const std::filesystem::path path(draw.file);
  if (path.has_parent_path() || path.extension() != ".npy")
    place["npy"].fail("a file of the lab's folder that ends in .npy");
  read_path_below(place["npy"], folder);
  if (!std::filesystem::is_regular_file(folder / path))
    place["npy"].refuse((folder / path).string() + " is not there");
  return draw;
}

// `{csr: columns}`: of the graph that the case names.
Draw read_csr(const YamlPlace& place, Scalar type) {
  place.only({"csr"});
  Draw draw;
  draw.kind = DrawKind::kCsr;
  draw.part = *typed::named<CsrPart>(place["csr"].word(words_in<CsrPart>()));
  if (facts(type).is_float || facts(type).bytes < sizeof(std::int32_t))
    place["csr"].refuse("the array holds whole numbers of 32 or 64 bits");
  return draw;
}

}  // namespace

std::int64_t least_of(Scalar type) {
  if (!facts(type).is_signed) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * facts(type).bytes);
}

std::int64_t greatest_of(Scalar type) {
  const std::size_t bits = 8 * facts(type).bytes - (facts(type).is_signed ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
}

Draw read_number_draw(const YamlPlace& place, Scalar type) {
  const Draw draw = read_draw(place, type);
  if (draw.kind == DrawKind::kPermutation || draw.kind == DrawKind::kOneHot)
    place.fail("uniform, normal, integers or constant: a scalar is one number");
  if (draw.thin_rows > 0) place["thin_rows"].refuse("a scalar has no rows");
  return draw;
}

std::map<std::string, Draws> read_draws_by_array(const YamlPlace& place, const LabDeclaration& lab) {
  std::map<std::string, Draws> draws;
  if (!place.defined()) return draws;
  std::set<std::string> names;
  for (const ArrayDeclaration& array : lab.arrays) names.insert(array.name);
  for (const auto& [name, draw] : place.entries()) {
    const ArrayDeclaration* array = lab.array(name);
    if (array == nullptr || array->role == Role::kOutput)
      draw.refuse("expected the name of an array that is drawn" + YamlPlace::meant(name, names));
    draws[name] = read_draws(draw, array->type, lab.folder);
  }
  return draws;
}

Draws read_draws(const YamlPlace& place, const ElementType& type, const std::filesystem::path& folder) {
  if (!type.is_structure) {
    const Scalar scalar = type.fields.front().type;
    if (place.is_map() && place["npy"].defined()) return {read_npy(place, folder)};
    if (place.is_map() && place["csr"].defined()) return {read_csr(place, scalar)};
    return {read_draw(place, scalar)};
  }
  Draws draws;
  std::set<std::string> names;
  for (const Field& field : type.fields) names.insert(field.name);
  if (place.defined() && !place.is_map())
    place.fail("a way of drawing for each field, for instance {" + type.fields.front().name +
               ": {uniform: [0, 1]}}");
  place.only(names);
  for (const Field& field : type.fields) draws.push_back(read_draw(place[field.name], field.type));
  return draws;
}

}  // namespace warpgrade::declaration
