// The judge process: trusted, owns the GPU or the emulated device, decides. Standard input: a JudgeJob.
// Standard output: one JSON line a case. A fault of its own ends a case, not the others; a dead judge is seen
// by the CLI.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/process.h"
#include "judge/cuda_memory.h"
#include "judge/job.h"

namespace warpgrade {
namespace {

void emit(const nlohmann::json& line) {
  // A submission's words may hold bytes that are no UTF-8.
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

nlohmann::json judge_case(const Lab& lab, const JudgeJob& job, const CaseInput& input) {
  try {
    return {{"case", input.spec.id}, {"record", lab.judge(job.context, input)}};
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& fault) {
    return {{"case", input.spec.id}, {"fault", fault.what()}};
  }
}

int judge() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const JudgeJob job = JudgeJob::from_json(nlohmann::json::parse(text));
  const Lab& lab = find_lab(job.lab);
  for (const CaseInput& input : job.cases) {
    emit({{"case", input.spec.id}, {"started", true}});
    const nlohmann::json line = judge_case(lab, job, input);
    emit(line);
    // After a fault the device may be in any state: the rest is for a fresh judge.
    if (line.contains("fault") && job.context.backend == "cuda") return kExitJudgeFault;
  }
  return kExitGraded;
}

// What GPU this machine has, for `auto`: a JSON object, or {} without one.
int probe() {
  int count = 0;
  nlohmann::json device = nlohmann::json::object();
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) device = describe_cuda_device();
  emit(device);
  return kExitGraded;
}

}  // namespace
}  // namespace warpgrade

int main(int argc, char** argv) {
  warpgrade::install_interrupt_handler();
  try {
    if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) return warpgrade::probe();
    return warpgrade::judge();
  } catch (const warpgrade::Interrupted&) {
    return warpgrade::kExitInterrupted;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "warpgrade-judge: %s\n", fault.what());
    return warpgrade::kExitJudgeFault;
  }
}
