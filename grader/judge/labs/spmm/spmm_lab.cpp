#include "judge/labs/spmm/spmm_lab.h"

#include "judge/labs/spmm/far_columns.h"
#include "judge/labs/written_lab.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::spmm {
namespace {

constexpr int kWidths = 32, kMostWidth = 65536;  // K is a multiple of the former

// The older class interface knows only num_v, a square matrix, and its courses measured two widths. Matrices
// are made square for it (spmm_judge.cpp); other widths are cases of the contract alone.
std::string beyond_older(const Case& spec) {
  if (spec.drawn) return "n * K beyond 2^31";
  if (spec.width == 32 || spec.width == 256) return "";
  return "K = " + std::to_string(spec.width) + ", where it was promised 32 and 256";
}

class SpmmLab : public WrittenLab {
 public:
  nlohmann::json judge(const JudgeContext& context, const Case& input) const override {
    return judge_spmm(context, input);
  }
  std::string case_on_dataset(const std::string& name, int, int, std::int64_t) const override {
    return fmt::format("graph: {}, k: [32, 256]", name);
  }
  // Each entry loads a row of B; a multiply-add a term.
  std::optional<CaseWork> work_of(const Case& c) const override {
    const double k = c.width, terms = double(c.nnz.value_or(0)) * k;
    return CaseWork{.written_bytes = 4 * double(c.rows.value_or(0)) * k,
                    .gathered_bytes = 4 * terms,
                    .operations = 2 * terms,
                    .unit = units::kFp32};
  }

 private:
  std::vector<nlohmann::json> call_numbers(const Case& input) const override {
    const auto numbers = [&](int rows, int cols, std::int64_t nnz) -> std::vector<nlohmann::json> {
      return {{{"rows", rows}, {"cols", cols}, {"nnz", nnz}, {"k", input.width}}};
    };
    if (input.drawn) {
      const datasets::Csr matrix = far_columns_matrix();
      return numbers(matrix.rows, matrix.cols, matrix.nnz());
    }
    if (input.file.empty()) return {};
    const auto matrix = datasets::CsrFile::open(input.file);
    return numbers(matrix.rows(), matrix.cols(), matrix.nnz());
  }

  // {graph: cora, k: [32, 256]}; `variant: true`: under other names; {pattern: far-columns}: of its
  // own width.
  std::vector<Case> read_item(const YamlPlace& item) const override {
    std::set<std::string> keys = declaration::kCaseWords;
    keys.insert({"graph", "pattern", "k", "variant"});
    item.only(keys);
    const Source source = read_source(item, {kFarColumns});
    const bool variant = item["variant"].truth_or(false);
    if (source.drawn && variant) item["variant"].refuse("only a graph can be judged under other names");
    std::vector<Case> cases;
    const std::vector<int> widths = read_multiples(item["k"]);
    for (const int k : widths) {
      if (source.drawn && k != kFarColumnsK)
        item["k"].fail(fmt::format("{}, for which {} is drawn", kFarColumnsK, kFarColumns));
      Case spec =
          read_spec(item, fmt::format("{}{}-k{}", source.name, variant ? "-variant" : "", k), widths.size());
      spec.dataset = source.name;
      spec.width = k;
      spec.drawn = spec.emulator_only = source.drawn;
      spec.beyond_older = beyond_older(spec);
      if (variant) spec.details["variant"] = true;
      cases.push_back(std::move(spec));
    }
    return cases;
  }

  static std::vector<int> read_multiples(const YamlPlace& place) {
    const std::vector<int> widths = read_widths(place, kWidths, kMostWidth);
    for (const int k : widths)
      if (k % kWidths != 0) place.refuse(fmt::format("K is a multiple of {}, and {} is not", kWidths, k));
    return widths;
  }
};

const LabRegistration kRegistration("spmm", [] { return make_written_lab<SpmmLab>("spmm"); });

}  // namespace

bool is_variant(const Case& spec) {
  return spec.details.value("variant", false);
}

}  // namespace warpgrade::spmm
