#include "labs/spmm/spmm_lab.h"

namespace warpgrade::spmm {
namespace {

class SpmmLab : public Lab {
 public:
  std::string name() const override { return "spmm"; }
  std::string summary() const override { return "C = A * B: sparse (CSR) times dense, fp32"; }
  Terms terms() const override { return {"K", "nnz", "c"}; }
  std::vector<CaseSpec> cases() const override { return spmm_cases(); }
  std::vector<Baseline> baselines() const override {
    return {{"cusparse_default", "reference/spmm/vendor/cusparse_default", {"cusparse"}, true},
            {"cusparse_best", "reference/spmm/vendor/cusparse_best", {"cusparse"}, true},
            {"naive", "reference/spmm/naive", {}, false}};
  }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return judge_spmm(context, input);
  }
};

const LabRegistration kRegistration(std::make_unique<SpmmLab>());

}  // namespace
}  // namespace warpgrade::spmm
