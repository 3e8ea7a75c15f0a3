#include "judge/declaration/lab_declaration.h"

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/toolchain.h"
#include "judge/declaration/lab_words.h"

namespace warpgrade::declaration {
namespace fs = std::filesystem;

const ArrayDeclaration* LabDeclaration::array(const std::string& wanted) const {
  for (const ArrayDeclaration& candidate : arrays)
    if (candidate.name == wanted) return &candidate;
  return nullptr;
}

std::vector<const ArrayDeclaration*> LabDeclaration::outputs() const {
  std::vector<const ArrayDeclaration*> list;
  for (const ArrayDeclaration& array : arrays)
    if (array.role != Role::kInput) list.push_back(&array);
  return list;
}

std::vector<const ArrayDeclaration*> LabDeclaration::inputs() const {
  std::vector<const ArrayDeclaration*> list;
  for (const ArrayDeclaration& array : arrays)
    if (array.role == Role::kInput) list.push_back(&array);
  return list;
}

const Draws& draws_in(const ArrayDeclaration& array, const Case& c, const HardInputs* hard) {
  if (hard != nullptr)
    if (const auto other = hard->draws.find(array.name); other != hard->draws.end()) return other->second;
  const auto own = c.draws.find(array.name);
  return own == c.draws.end() ? array.draws : own->second;
}

std::int64_t cells_of(CsrPart part, std::int64_t rows, std::int64_t entries) {
  return part == CsrPart::kRowOffsets ? rows + 1 : entries;
}

std::string csr_misfit(const LabDeclaration& lab, const Case& c, std::int64_t rows, std::int64_t entries) {
  for (const ArrayDeclaration& array : lab.arrays) {
    if (array.role == Role::kOutput) continue;
    const Draw& draw = draws_in(array, c).front();
    if (draw.kind != DrawKind::kCsr) continue;
    const std::int64_t cells = cells_in(shape_in(array, c.parameters)),
                       has = cells_of(draw.part, rows, entries);
    if (cells != has)
      return fmt::format(
          "{} has {} cells in case {}, and the {} of {} are {} numbers: it has {} rows and {} entries",
          array.name, cells, c.id, typed::word_of(draw.part), c.graph, has, rows, entries);
  }
  return "";
}

namespace {

// The parameter that an extent of this many cells decides: of `n` and `n + 1` alike.
void solve(const Expression& extent, std::int64_t cells, Values& values) {
  if (extent.names().size() != 1) return;
  const std::string& parameter = *extent.names().begin();
  for (const std::int64_t guess : {cells, cells - 1, cells + 1}) {
    try {
      if (extent.whole({{parameter, Value::of(guess)}}) != cells) continue;
    } catch (const std::domain_error&) {
      continue;
    }
    values[parameter] = Value::of(guess);
    return;
  }
}

}  // namespace

std::string case_on_graph(const LabDeclaration& lab, const std::string& graph, std::int64_t rows,
                          std::int64_t entries) {
  Case c;
  c.id = c.graph = graph;
  if (!lab.cases.empty()) c.parameters = lab.cases.front().parameters;
  bool is_of_graphs = false;
  for (const ArrayDeclaration& array : lab.arrays) {
    if (array.draws.empty() || array.draws.front().kind != DrawKind::kCsr) continue;
    is_of_graphs = true;
    if (array.shape.size() == 1)
      solve(array.shape.front(), cells_of(array.draws.front().part, rows, entries), c.parameters);
  }
  if (!is_of_graphs) return "";
  std::string words = "graph: " + graph;
  try {
    if (!csr_misfit(lab, c, rows, entries).empty()) return "";
  } catch (const std::domain_error&) {
    return "";
  }
  for (const NumberDeclaration& parameter : lab.parameters) {
    const Value& value = c.parameters[parameter.name];
    words += value.is_whole ? fmt::format(", {}: {}", parameter.name, value.whole)
                            : fmt::format(", {}: {}", parameter.name, value.real);
  }
  return words;
}

std::vector<std::int64_t> shape_in(const ArrayDeclaration& array, const Values& values) {
  std::vector<std::int64_t> shape;
  for (const Expression& extent : array.shape) {
    shape.push_back(extent.whole(values));
    if (shape.back() < 0) throw std::domain_error(fmt::format("{} is {}", extent.text(), shape.back()));
  }
  return shape;
}

std::int64_t cells_in(const std::vector<std::int64_t>& shape) {
  std::int64_t cells = 1;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(cells, extent, &cells))
      throw std::domain_error("more cells than 64 bits count");
  return cells;
}

fs::path declaration_file(const std::string& lab) {
  return project_root() / "reference" / lab / "lab.yaml";
}

std::vector<std::string> declared_lab_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project_root() / "reference", error)) {
    const fs::path file = entry.path() / "lab.yaml";
    if (fs::is_regular_file(file) && !has_written_judge(read_text(file)))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<LabDeclaration> find_declaration(const std::string& lab) {
  const fs::path file = declaration_file(lab);
  if (!fs::is_regular_file(file)) return std::nullopt;
  const std::string text = read_text(file);
  if (has_written_judge(text)) return std::nullopt;
  return parse_lab(text, file);
}

std::string definition_hash(const std::string& lab) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(declaration_file(lab).parent_path())) {
    const std::string extension = entry.path().extension().string();
    const bool counts = extension == ".yaml" || extension == ".py" || extension == ".npy" ||
                        extension == ".cpp" || extension == ".h";
    if (counts && entry.is_regular_file()) files.insert(entry.path());
  }
  Sha256 hash;
  for (const fs::path& file : files) hash.part(file.filename().string()).part(read_text(file));
  return hash.hex();
}

}  // namespace warpgrade::declaration
