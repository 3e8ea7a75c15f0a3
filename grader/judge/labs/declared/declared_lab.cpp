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

using declaration::CaseDeclaration;
using declaration::LabDeclaration;

class DeclaredLab : public Lab {
 public:
  explicit DeclaredLab(LabDeclaration lab) : lab_(std::move(lab)) {
    for (const CaseDeclaration& declared : lab_.cases) cases_.push_back(spec_of(declared));
  }

  std::string name() const override { return lab_.name; }
  std::string summary() const override { return lab_.summary; }
  Terms terms() const override {
    return {lab_.width, lab_.work_name, lab_.outputs().front()->name, lab_.ladder};
  }

  std::vector<CaseSpec> cases() const override { return cases_; }

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

  void check_dataset(const CaseSpec& spec, const std::filesystem::path& file) const override {
    const auto matrix = datasets::CsrFile::open(file);
    const std::string misfit = csr_misfit(lab_, case_of(spec), matrix.rows(), matrix.nnz());
    if (!misfit.empty()) throw UsageError("{}: {}", spec.place, misfit);
  }

  std::string case_on_dataset(const std::string& name, int rows, int, std::int64_t entries) const override {
    return declaration::case_on_graph(lab_, name, rows, entries);
  }

  std::string definition() const override { return declaration::definition_hash(lab_.name); }

  std::optional<CaseWork> work_of(const nlohmann::json& described) const override {
    declaration::Values values;
    const nlohmann::json numbers = described.value("parameters", nlohmann::json::object());
    for (const declaration::NumberDeclaration& parameter : lab_.parameters) {
      const auto number = numbers.find(parameter.name);
      if (number == numbers.end() || !number->is_number()) return std::nullopt;
      values[parameter.name] = number->is_number_integer()
                                   ? declaration::Value::of(number->get<std::int64_t>())
                                   : declaration::Value::of_real(number->get<double>());
    }
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

  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return declared::judge_declared(lab_, case_of(input.spec), oracle_, context, input);
  }

  void make_ahead(const JudgeContext& context, const CaseInput& input) const override {
    declared::make_answers_ahead(lab_, case_of(input.spec), oracle_, context, input);
  }

 private:
  std::vector<CaseSpec> read_item(const YamlPlace& item) const override {
    std::vector<CaseSpec> specs;
    for (const CaseDeclaration& declared : declaration::read_case_item(item, lab_)) {
      specs.push_back(spec_of(declared));
      nlohmann::json words = item.to_json();
      words["id"] = declared.id;
      for (auto& [key, word] : words.items()) {
        if (!word.is_array()) continue;
        const declaration::Value& number = declared.values.at(key);
        word = number.is_whole ? nlohmann::json(number.whole) : nlohmann::json(number.real);
      }
      specs.back().details = {{"case", std::move(words)}};
    }
    return specs;
  }

  CaseSpec spec_of(const CaseDeclaration& declared) const {
    CaseSpec spec;
    spec.id = declared.id;
    spec.dataset = declared.dataset;
    spec.k = lab_.width.empty() ? 1 : static_cast<int>(declared.values.at(lab_.width).whole);
    spec.kind = declared.kind;
    spec.set = declared.set;
    spec.why = declared.why;
    spec.drawn = declared.graph.empty();
    return spec;
  }

  std::vector<nlohmann::json> call_numbers(const CaseInput& input) const override {
    nlohmann::json values = nlohmann::json::object();
    for (const auto& [name, value] : case_of(input.spec).values)
      values[name] = value.is_whole ? nlohmann::json(value.whole) : nlohmann::json(value.real);
    return {std::move(values)};
  }

  // One of the file's, or one that came with its own words.
  CaseDeclaration case_of(const CaseSpec& spec) const {
    const auto words = spec.details.find("case");
    if (words == spec.details.end()) return lab_.find_case(spec.id);
    return declaration::read_case(YamlPlace::parse(json_text(*words), "case " + spec.id), lab_);
  }

  LabDeclaration lab_;
  std::vector<CaseSpec> cases_;
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
