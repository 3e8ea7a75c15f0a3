// A lab whose judge is C++ (grader/judge/labs/<lab>/): name, words, baselines and cases stand in
// reference/<lab>/lab.yaml all the same, which says `judge: C++`.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/yaml_place.h"
#include "judge/declaration/lab_words.h"
#include "judge/labs/registry.h"

namespace warpgrade {

class WrittenLab : public Lab {
 public:
  // Reads the lab's file. Throws UsageError naming file, line, key and what was expected.
  void read_file(const std::string& name);

  std::string name() const override { return name_; }
  std::string summary() const override { return summary_; }
  Terms terms() const override { return terms_; }
  std::vector<Case> cases() const override { return cases_; }
  std::vector<Baseline> baselines() const override { return baselines_; }
  std::string definition() const override { return definition_; }

 protected:
  // Where a case's input comes from: `graph: cora`, a dataset, or `pattern: ring`, which is drawn.
  struct Source {
    std::string name;
    bool drawn = false;
  };
  static Source read_source(const YamlPlace& item, const std::set<std::string>& patterns);
  static std::string read_graph(const YamlPlace& place);
  // `k: 32` or `k: [32, 256]`.
  static std::vector<int> read_widths(const YamlPlace& place, int low, int high);
  // For check_dataset() of labs that want a graph: as many columns as rows, and one at least.
  static void require_square(const Case& spec, const std::filesystem::path& file);
  // A case's id: what the item says, else `made`. Refuses one id for several cases.
  static Case read_spec(const YamlPlace& item, const std::string& made, std::size_t cases_of_item);

 private:
  std::string name_, summary_, definition_;
  Terms terms_;
  std::vector<Baseline> baselines_;
  std::vector<Case> cases_;
};

template <class L>
std::unique_ptr<Lab> make_written_lab(const std::string& name) {
  auto lab = std::make_unique<L>();
  lab->read_file(name);
  return lab;
}

// The words of a map, for YamlPlace::word.
template <class T>
std::set<std::string> words_of(const std::map<std::string, T>& names) {
  std::set<std::string> words;
  for (const auto& [word, value] : names) words.insert(word);
  return words;
}

}  // namespace warpgrade
