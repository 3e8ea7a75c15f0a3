#include "judge/labs/written_lab.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "judge/declaration/python_contract.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade {

void WrittenLab::read_file(const std::string& name) {
  const auto file = declaration::declaration_file(name);
  const std::string text = read_text(file);
  const YamlPlace root = YamlPlace::parse(text, file.string());
  root.only({"schema", "name", "summary", "judge", "terms", "baselines", "cases", "python"});
  name_ = declaration::read_lab_name(root, file.parent_path());
  root["judge"].word({"C++"});
  summary_ = root["summary"].text();
  const YamlPlace terms = root["terms"];
  terms.only({"width", "work", "output", "ladder"});
  terms_ = {terms["width"].text_or(""), terms["work"].text(), terms["output"].text(),
            terms["ladder"].text_or("")};
  for (auto& baseline : declaration::read_baselines(root["baselines"], file.parent_path()))
    baselines_.push_back({baseline.name, std::filesystem::path("reference") / name_ / baseline.folder,
                          std::move(baseline.libraries), baseline.every_pair});
  cases_ = read_cases(root["cases"]);
  if (cases_.empty()) root["cases"].fail("at least one case");
  if (root["python"].defined()) declaration::read_python_contract(root, name_);  // tells mistakes
  definition_ = sha256(text);
}

std::string WrittenLab::read_graph(const YamlPlace& place) {
  const std::string name = place.text();
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (!plain) place.fail("the name of a dataset (`warpgrade data list` has them)");
  return name;
}

WrittenLab::Source WrittenLab::read_source(const YamlPlace& item, const std::set<std::string>& patterns) {
  const YamlPlace graph = item["graph"], pattern = item["pattern"];
  if (graph.defined() == pattern.defined())
    item.refuse(fmt::format("expected either `graph`, a dataset, or `pattern`, one of {}",
                            fmt::join(patterns, ", ")));
  if (graph.defined()) return {read_graph(graph), false};
  return {pattern.word(patterns), true};
}

std::vector<int> WrittenLab::read_widths(const YamlPlace& place, int low, int high) {
  std::vector<int> widths;
  if (place.is_list()) {
    for (const YamlPlace& width : place.items("a list of whole numbers"))
      widths.push_back(static_cast<int>(width.whole(low, high)));
    if (widths.empty()) place.fail("at least one number");
  } else {
    widths.push_back(static_cast<int>(place.whole(low, high)));
  }
  return widths;
}

void WrittenLab::require_square(const Case& spec, const std::filesystem::path& file) {
  const auto matrix = datasets::CsrFile::open(file);
  if (matrix.rows() == matrix.cols() && matrix.rows() > 0) return;
  throw UsageError("{}: {} is {} x {}: expected the square matrix of a graph", spec.place, spec.dataset,
                   matrix.rows(), matrix.cols());
}

Case WrittenLab::read_spec(const YamlPlace& item, const std::string& made, std::size_t cases_of_item) {
  if (cases_of_item > 1 && item["id"].defined())
    item["id"].refuse("one id cannot name several cases: leave it out, or give one number instead of a list");
  std::string id = made;
  std::replace(id.begin(), id.end(), '@', '-');  // "ddi@original"
  return declaration::read_case_words(item, id);
}

}  // namespace warpgrade
