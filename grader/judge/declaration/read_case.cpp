// One case of a declared lab, read: every expression of the lab must have a value in it.
#include <limits>
#include <stdexcept>

#include "judge/declaration/lab_words.h"
#include "judge/declaration/npy_file.h"
#include "judge/declaration/read_draw.h"

namespace warpgrade::declaration {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

Value read_value(const YamlPlace& place, const NumberDeclaration& parameter) {
  if (!facts(parameter.type).is_float)
    return Value::of(place.whole(least_of(parameter.type), greatest_of(parameter.type)));
  return Value::of_real(place.number(-1e300, 1e300));
}

void check_permutation(const YamlPlace& place, const ArrayDeclaration& array, const Case& c,
                       const HardInputs* hard, std::int64_t cells) {
  const Draws& draws = draws_in(array, c, hard);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const Scalar type = array.type.fields[i].type;
    const std::int64_t most =
        facts(type).is_float ? std::int64_t{1} << facts(type).significand_bits : greatest_of(type);
    if (draws[i].kind == DrawKind::kPermutation && cells - 1 > most)
      place.refuse(
          fmt::format("{} cannot hold a permutation of {} numbers in case {}", array.name, cells, c.id));
  }
}

// A file's numbers are the array's, of its type and shape in this case.
void check_npy(const YamlPlace& place, const LabDeclaration& lab, const ArrayDeclaration& array,
               const Case& c) {
  if (array.role == Role::kOutput || draws_in(array, c).front().kind != DrawKind::kNpy) return;
  const std::string& name = draws_in(array, c).front().file;
  const Scalar type = array.type.fields.front().type;
  try {
    const NpyHeader header = read_npy_header(lab.folder / name);
    const auto shape = shape_in(array, c.parameters);
    const std::string dtype = type == Scalar::kBf16 ? "<u2" : facts(type).numpy;
    const bool same_type =
        header.dtype == dtype || (facts(type).bytes == 1 && header.dtype.substr(1) == dtype.substr(1));
    if (!same_type || header.shape != shape)
      throw std::invalid_argument(fmt::format("it holds {} of {}, and {} is {} of {} in case {}",
                                              fmt::join(header.shape, " x "), header.dtype, array.name,
                                              fmt::join(shape, " x "), dtype, c.id));
    const std::size_t bytes = static_cast<std::size_t>(cells_in(shape)) * array.type.bytes;
    if (std::filesystem::file_size(lab.folder / name) != header.offset + bytes)
      throw std::invalid_argument("it is shorter or longer than its numbers");
  } catch (const std::invalid_argument& error) {
    place.refuse(fmt::format("{}: {}", (lab.folder / name).string(), error.what()));
  }
}

// Arrays that are drawn from a graph need one, and a graph is for them alone.
void check_graph(const YamlPlace& place, const LabDeclaration& lab, const Case& c) {
  std::string from_graph;
  for (const ArrayDeclaration& array : lab.arrays)
    if (array.role != Role::kOutput && draws_in(array, c).front().kind == DrawKind::kCsr)
      from_graph = array.name;
  if (!from_graph.empty() && c.graph.empty())
    place["graph"].fail(
        fmt::format("a dataset (`warpgrade data list`), since {} is drawn from it", from_graph));
  if (from_graph.empty() && !c.graph.empty())
    place["graph"].refuse("no array of this case is drawn from a graph (`draw: {csr: columns}`)");
  if (!c.graph.empty() && place["dataset"].defined())
    place["dataset"].refuse("the graph is the case's dataset: leave this out");
}

void check_shapes(const YamlPlace& place, const LabDeclaration& lab, const Case& c) {
  std::int64_t bytes = 0;
  for (const ArrayDeclaration& array : lab.arrays) {
    try {
      const std::int64_t cells = cells_in(shape_in(array, c.parameters));
      if (cells > kMostBytes / static_cast<std::int64_t>(array.type.bytes) ||
          (bytes += cells * static_cast<std::int64_t>(array.type.bytes)) > kMostBytes)
        throw std::domain_error("more than 1 TiB");
      check_permutation(place, array, c, nullptr, cells);
      for (const HardInputs& hard : lab.hard) check_permutation(place, array, c, &hard, cells);
      check_npy(place, lab, array, c);
    } catch (const std::domain_error& error) {
      place.refuse(
          fmt::format("the shape of {} cannot be computed in case {}: {}", array.name, c.id, error.what()));
    }
  }
}

void check_work(const YamlPlace& place, const LabDeclaration& lab, const Case& c) {
  if (c.kind == "speed" && !lab.work.bytes)
    place.refuse(
        fmt::format("work.bytes of the lab: expected the bytes that no program can do without moving, since "
                    "{} is a speed case",
                    c.id));
  for (const auto* work : {&lab.work.bytes, &lab.work.flop, &lab.work.items, &lab.work.naive_steps}) {
    if (!*work) continue;
    try {
      (*work)->real(c.parameters);
    } catch (const std::domain_error& error) {
      place.refuse(fmt::format("'{}' has no value in case {}: {}", (*work)->text(), c.id, error.what()));
    }
  }
}

}  // namespace

std::vector<Case> read_case_item(const YamlPlace& place, const LabDeclaration& lab) {
  for (const NumberDeclaration& parameter : lab.parameters) {
    const YamlPlace list = place[parameter.name];
    if (!list.is_list()) continue;
    std::vector<Case> cases;
    for (const YamlPlace& number : list.items("a list of numbers")) {
      YAML::Node one(YAML::NodeType::Map);  // of the file's own nodes, which know their lines
      for (const auto& entry : place.node())
        if (entry.first.Scalar() != "id" && entry.first.Scalar() != parameter.name)
          one[entry.first] = entry.second;
      one["id"] = fmt::format("{}-{}", place["id"].text(), number.text());
      one[parameter.name] = number.node();
      cases.push_back(read_case({one, place.file(), place.key(), place.line()}, lab));
    }
    if (cases.empty()) list.fail("a list of numbers, a case each");
    return cases;
  }
  return {read_case(place, lab)};
}

Case read_case(const YamlPlace& place, const LabDeclaration& lab) {
  std::set<std::string> keys = kCaseWords;
  keys.insert({"dataset", "draw", "graph"});
  for (const NumberDeclaration& parameter : lab.parameters) keys.insert(parameter.name);
  if (!place.is_map()) place.fail("a map, for instance {id: one, n: 1, why: one number}");
  place.only(keys);
  Case c = read_case_words(place);
  c.graph = place["graph"].text_or("");
  if (c.graph.starts_with('.') || c.graph.find('/') != std::string::npos)
    place["graph"].fail("the name of a dataset (`warpgrade data list` has them)");
  c.dataset = place["dataset"].defined() ? read_case_id(place["dataset"]) : c.graph.empty() ? c.id : c.graph;
  for (const NumberDeclaration& parameter : lab.parameters)
    c.parameters[parameter.name] = read_value(place[parameter.name], parameter);
  if (!lab.width.empty() && c.parameters.at(lab.width).whole > std::numeric_limits<int>::max())
    place[lab.width].fail("at most 2147483647, since it is the cases' width (terms.width)");
  c.width = lab.width.empty() ? 1 : static_cast<int>(c.parameters.at(lab.width).whole);
  c.drawn = c.graph.empty();
  c.draws = read_draws_by_array(place["draw"], lab);
  check_graph(place, lab, c);
  check_shapes(place, lab, c);
  check_work(place, lab, c);
  return c;
}

}  // namespace warpgrade::declaration
