#include "judge/labs/declared/declared_lab.h"

#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/yaml_place.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/labs/declared/answers_ahead.h"
#include "judge/labs/declared/declared_judge.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade {
namespace {

using declaration::LabDeclaration;

class DeclaredLab : public Lab {
 public:
  explicit DeclaredLab(LabDeclaration lab) : lab_(std::move(lab)) {}

  std::string name() const override { return lab_.name; }
  std::string summary() const override { return lab_.summary; }
  Terms terms() const override {
    return {lab_.width, lab_.work_name, lab_.outputs().front()->name, lab_.ladder};
  }

  std::vector<Case> cases() const override { return lab_.cases; }

  std::vector<Baseline> baselines() const override {
    std::vector<Baseline> baselines;
    for (const declaration::BaselineDeclaration& declared : lab_.baselines)
      baselines.push_back({declared.name, std::filesystem::path("reference") / lab_.name / declared.folder,
                           declared.libraries, declared.every_pair});
    return baselines;
  }

  std::optional<Baseline> device_truth() const override {
    if (lab_.device_truth.empty()) return std::nullopt;
    return Baseline{
        "device_truth", std::filesystem::path("reference") / lab_.name / lab_.device_truth, {}, true};
  }

  void check_dataset(const Case& spec, const std::filesystem::path& file) const override {
    const auto matrix = datasets::CsrFile::open(file);
    const std::string misfit = csr_misfit(lab_, spec, matrix.rows(), matrix.nnz());
    if (!misfit.empty()) throw UsageError("{}: {}", spec.place, misfit);
  }

  std::string case_on_dataset(const std::string& name, int rows, int, std::int64_t entries) const override {
    return declaration::case_on_graph(lab_, name, rows, entries);
  }

  std::string definition() const override { return declaration::definition_hash(lab_.name); }

  std::optional<CaseWork> work_of(const Case& c) const override {
    const declaration::Values& values = c.parameters;
    for (const declaration::NumberDeclaration& parameter : lab_.parameters)
      if (!values.contains(parameter.name)) return std::nullopt;
    CaseWork work;
    work.unit = lab_.work.unit;
    if (lab_.work.flop) work.operations = lab_.work.flop->real(values);
    for (const declaration::ArrayDeclaration* output : lab_.outputs()) {
      double cells = 1;
      for (const std::int64_t extent : declaration::shape_in(*output, values)) cells *= double(extent);
      work.written_bytes += cells * double(output->type.bytes);
    }
    return work;
  }

  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return declared::judge_declared(lab_, input, oracle_, context);
  }

  void make_ahead(const JudgeContext& context, const Case& input) const override {
    declared::make_answers_ahead(lab_, input, oracle_, context);
  }

 private:
  std::vector<Case> read_item(const YamlPlace& item) const override {
    return declaration::read_case_item(item, lab_);
  }

  std::vector<nlohmann::json> call_numbers(const Case& input) const override {
    return {typed::to_value(input.parameters)};
  }

  LabDeclaration lab_;
  mutable declared::OracleKeeper oracle_;
};

}  // namespace

DeclaredLabs load_declared_labs() {
  DeclaredLabs found;
  for (const std::string& name : declaration::declared_lab_names()) {
    try {
      if (auto lab = declaration::find_declaration(name))
        found.labs.push_back(std::make_unique<DeclaredLab>(std::move(*lab)));
    } catch (const UsageError& error) {
      found.mistakes[name] = error.what();
    }
  }
  return found;
}

}  // namespace warpgrade
