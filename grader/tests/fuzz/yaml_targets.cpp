// What staff write: lab.yaml, policies; NumPy's files beside them.
#include "base/yaml_place.h"
#include "course/score/policy.h"
#include "judge/declaration/contract.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/lab_words.h"
#include "judge/declaration/npy_file.h"
#include "npy.h"
#include "support.h"
#include "targets.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::fuzz {

void lab_yaml(std::string_view input) {
  using namespace declaration;
  const std::string text(input);
  if (has_written_judge(text)) return;
  reads([&] {
    const LabDeclaration lab = parse_lab(text, "/reference/softmax/lab.yaml");
    contract_header(lab);
    runner_source(lab);
    student_stub(lab);
    oracle_program(lab);
    with_case_table("# A page\n", lab);
    for (const Case& c : lab.cases) {
      csr_misfit(lab, c, 10, 20);
      for (const ArrayDeclaration& array : lab.arrays)
        reads<std::domain_error>([&] { cells_in(shape_in(array, c.parameters)); });
    }
    case_on_graph(lab, "cora", 10, 20);
  });
}

void policy_yaml(std::string_view input) {
  PolicyVocabulary known{.datasets = {"cora", "arxiv"},
                         .cases = {"cora-k32", "tiny"},
                         .sets = {"public", "hidden"},
                         .baselines = {"naive", "cusparse_default"},
                         .gpus = {"H100", "H200"},
                         .width = "K"};
  known.read_cases = [](const YamlPlace& list) {
    std::vector<Case> cases;
    for (const YamlPlace& item : list.items("a list of cases")) {
      Case spec = declaration::read_case_words(item);
      spec.dataset = item["graph"].text();
      cases.push_back(spec);
    }
    return cases;
  };
  const std::string text(input);
  reads([&] {
    const Policy policy = parse_policy(text, "spmm.yaml", known);
    policy.thresholds_for("NVIDIA H100 80GB HBM3")
        .of(nlohmann::json({{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}}));
    policy.thresholds_note("NVIDIA H100 80GB HBM3");
  });
}

void npy(std::string_view input) {
  reads<std::invalid_argument>([&] { declaration::read_npy_header(only_file(input, "a.npy")); });
  using namespace datasets;
  const auto bytes = std::as_bytes(std::span(input));
  reads<DatasetError>([&] {
    const NpyArray array = parse_npy(bytes, "a.npy");
    expect(array.data.empty() || (array.data.data() >= bytes.data() &&
                                  array.data.data() + array.data.size() <= bytes.data() + bytes.size()),
           "numbers beyond the file");
  });
  if (bytes.size() >= 12) reads<DatasetError>([&] { npy_header_bytes(bytes, "a.npy"); });
}

}  // namespace warpgrade::fuzz
