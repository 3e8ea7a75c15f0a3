#include "judge/labs/declared/oracle_keeper.h"

#include <utility>

#include "judge/judging/services.h"
#include "judge/labs/declared/answer_files.h"
#include "judge/labs/declared/built_oracle.h"

namespace warpgrade::declared {

using declaration::LabDeclaration;

namespace {

// On the emulator, where cases are small and judges of several submissions share the memory.
constexpr std::size_t kAnswersOnEmulator = std::size_t{256} << 20;

bool on_gpu(const JudgeContext& context) {
  return context.backend == "cuda";
}

}  // namespace

OracleProcess& OracleKeeper::get(const LabDeclaration& lab, const JudgeContext& context, int number) {
  const auto place = static_cast<std::size_t>(number);
  if (processes_.size() <= place) processes_.resize(place + 1);
  std::unique_ptr<OracleProcess>& process = processes_[place];
  if (process != nullptr && process->alive()) return *process;
  const int threads = number == 0 ? context.threads : 1;
  process = std::make_unique<OracleProcess>(oracle_spec(lab, lab.truth, context.submission.sandbox, threads));
  // On the emulator all answers may be kept ones.
  if (on_gpu(context)) process->start();
  return *process;
}

OracleSpec oracle_spec(const LabDeclaration& lab, const std::string& file, SandboxMode sandbox, int threads) {
  OracleSpec spec;
  spec.folder = lab.folder;
  spec.function = lab.name;
  spec.oracle = file;
  if (file.ends_with(".cpp")) spec.program = built_oracle(lab, file);
  spec.check = lab.check_script;
  spec.limit = std::chrono::milliseconds(static_cast<long>(1e3 * lab.oracle_s));
  spec.memory_bytes = lab.oracle_memory_mb << 20;
  spec.sandbox = sandbox;
  spec.threads = threads;
  return spec;
}

CellWork* OracleKeeper::cell_work(const JudgeContext& context) {
  if (work_ == nullptr && on_gpu(context)) work_ = make_cuda_cell_work();
  return work_.get();
}

KeptAnswers OracleKeeper::answers(const LabDeclaration& lab, const Case& spec, const JudgeContext& context) {
  if (most_answer_bytes_ == 0)
    most_answer_bytes_ = on_gpu(context) ? memory_for_prepared_runs() : kAnswersOnEmulator;
  std::shared_ptr<const AnswerFiles> files;
  if (auto found = answer_files(lab, spec, context))
    files = std::make_shared<const AnswerFiles>(std::move(*found));
  return {context.services->kept_data(), lab.name, spec.id, most_answer_bytes_, std::move(files)};
}

std::unique_ptr<PreparedRuns> OracleKeeper::runs(const LabDeclaration& lab, const Case& declared,
                                                 const JudgeContext& context,
                                                 const std::filesystem::path& graph, bool for_program) {
  CellWork* work = cell_work(context);
  const auto oracles = [this, &lab, &context](int number) -> OracleProcess& {
    return get(lab, context, number);
  };
  // On the emulator judges of several submissions share cores and memory, and nothing is timed.
  const std::size_t memory = work != nullptr ? memory_for_prepared_runs() : 0;
  PreparedRuns::Limits limits{context.threads, memory};
  if (!for_program) {
    limits.worth_seconds = -1;
    limits.first_alone = false;
  }
  auto runs = std::make_unique<PreparedRuns>(lab, declared, graph, oracles, limits);
  if (work != nullptr) {
    runs->plan_arrays().draw_by([work](const std::vector<FieldDraw>& fields, std::span<std::byte> cells) {
      work->draw_to_host(fields, cells);
    });
  }
  return runs;
}

}  // namespace warpgrade::declared
