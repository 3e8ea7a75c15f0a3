// The judge process: trusted, owns the GPU or the emulated device, decides. Standard input: JudgeJobs, a line
// each. Standard output: one JSON line a case, and one when the job is done. A fault of its own ends a case,
// not the others; a dead judge is seen by the CLI.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "judge/judging/cause_search.h"
#include "judge/judging/cuda_memory.h"
#include "judge/judging/job.h"
#include "judge/judging/phases.h"
#include "judge/judging/services.h"
#include "judge/labs/registry.h"
#include "record/outcome.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade {
namespace {

void emit(const nlohmann::json& line) {
  const std::string text = json_text(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

nlohmann::json judge_case(const Lab& lab, const JudgeJob& job, const Case& input) {
  try {
    nlohmann::json record = lab.judge(job.context, input);
    if (!job.context.first_refusal_ends) look_for_cause(lab, job.context, input, record);
    return {{"case", input.id}, {"record", std::move(record)}};
  } catch (const Interrupted&) {
    throw;
  } catch (const MemoryShort& fault) {
    return {{"case", input.id}, {"fault", fault.what()}, {"memory_short", true}};
  } catch (const std::exception& fault) {
    return {{"case", input.id}, {"fault", fault.what()}};
  } catch (...) {
    return {{"case", input.id}, {"fault", "an exception of an unknown type"}};
  }
}

bool is_refused(const nlohmann::json& record) {
  return !outcome_of(record).accepted();
}

// Whether the GPU still does what it is told: memory, a kernel, an answer.
int check_device() {
  unsigned* word = nullptr;
  unsigned answer = 0;
  WARPGRADE_CUDA(cudaMalloc(&word, sizeof *word));
  WARPGRADE_CUDA(cudaMemset(word, 0x5a, sizeof *word));
  WARPGRADE_CUDA(cudaMemcpy(&answer, word, sizeof answer, cudaMemcpyDeviceToHost));
  WARPGRADE_CUDA(cudaFree(word));
  if (answer != 0x5a5a5a5a) throw JudgeFault("a word of memory came back as {:#x}", answer);
  return kExitGraded;
}

// What is kept while the lease stays the same one. On the emulator nobody shares anything.
JudgeServices& services_for(const JudgeJob& job, std::unique_ptr<JudgeServices>& kept, std::string& lease) {
  if (kept == nullptr || lease != job.context.gpu_lease) {
    lease = job.context.gpu_lease;
    kept = std::make_unique<JudgeServices>(lease.empty() ? GpuLease() : GpuLease(lease));
  }
  return *kept;
}

// Checks the content of the job's files against their hashes, several at a time, in the order of the cases.
// A file is checked once a process: a case waits for its own, believes it from then on, or says what is
// wrong with it.
class FileChecks {
 public:
  FileChecks(const JudgeJob& job, int most_threads) {
    for (const Case& input : job.cases) {
      const bool listed = std::find(files_.begin(), files_.end(), input.file) != files_.end();
      if (!input.file.empty() && !listed) files_.push_back(input.file);
    }
    const size_t threads = std::min(files_.size(), static_cast<size_t>(std::max(1, most_threads)));
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~FileChecks() { next_ = files_.size(); }
  FileChecks(const FileChecks&) = delete;
  FileChecks& operator=(const FileChecks&) = delete;

  void wait() { threads_.clear(); }

 private:
  void work() {
    for (size_t i; (i = next_++) < files_.size() && !interrupted();) {
      try {
        datasets::CsrFile::open_verified(files_[i]);
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  std::vector<std::filesystem::path> files_;
  std::atomic<size_t> next_{0};
  std::vector<std::jthread> threads_;
};

// Before the first case: this judge's turn on the GPU, and the files. Says how long that took. Reading takes
// cores: a judge that has the GPU to itself and cores to spare lets it go on beside the first cases; where
// judges share the GPU, another one may be timing then.
std::unique_ptr<FileChecks> open_job(const JudgeJob& job, JudgeServices& services, double ahead_s) {
  constexpr int kFewestCores = 4;  // of which a quarter reads
  const int cores = job.context.threads;
  const bool aside = job.context.alone && cores >= kFewestCores;
  Phases phases;
  phases.enter("lease_wait");
  job.context.alone ? services.lease().own() : services.lease().share();
  phases.enter("open");
  auto checks = std::make_unique<FileChecks>(job, aside ? cores / kFewestCores : cores);
  if (!aside) checks->wait();
  nlohmann::json opened = phases.seconds();
  if (ahead_s > 0) opened["ahead"] = ahead_s;
  emit({{"opened", std::move(opened)}});
  return checks;
}

// `ahead_s`: spent on it before, in warm_up.
int judge_job(JudgeJob& job, JudgeServices& services, double ahead_s) {
  const Lab& lab = find_lab(job.lab);
  job.context.services = &services;
  const auto is_timed = [](const Case& input) { return input.kind == "speed"; };
  job.context.measure_speed &= std::any_of(job.cases.begin(), job.cases.end(), is_timed);
  const auto checks = open_job(job, services, ahead_s);
  for (size_t i = 0; i < job.cases.size(); ++i) {
    const Case& input = job.cases[i];
    job.context.cases_after = static_cast<int>(job.cases.size() - i) - 1;
    emit({{"case", input.id}, {"started", true}});
    const nlohmann::json line = judge_case(lab, job, input);
    throw_if_interrupted();  // the runner may have been ended by the signal that ends this process
    emit(line);
    // After a fault this process and the device may be in any state: the rest is for a fresh judge.
    if (line.contains("fault")) return kExitJudgeFault;
    if (job.context.first_refusal_ends && is_refused(line.at("record"))) break;
  }
  services.forget_prepared();
  services.settle();
  if (job.context.backend == "cuda") check_device();  // throws: the caller asks a fresh process what is wrong
  services.lease().release();
  emit({{"done", true}});
  return kExitGraded;
}

// Brings up what every job needs, before there is one: this process's context, an executor, the baselines;
// and makes what its cases need and no submission changes. What does not come up is told by the first job,
// which tries anew. Returns the seconds of the second part.
double warm_up(JudgeJob outline, JudgeServices& services) {
  outline.context.services = &services;
  services.lease().share();
  double ahead_s = 0;
  try {
    (void)cudaFree(nullptr);
    const bool spreads = outline.context.measure_speed && services.has_room();
    const int processes = spreads ? outline.context.process_pairs : 1;
    services.prepare_executors(outline.context.submission, processes);
    for (const auto& baseline : outline.context.baselines) {
      if (outline.context.measure_speed) services.keep_ready(baseline.spec, processes);
    }
    const auto start = std::chrono::steady_clock::now();
    for (const Case& input : outline.cases) {
      throw_if_interrupted();
      find_lab(outline.lab).make_ahead(outline.context, input);
    }
    ahead_s = seconds_since(start);
    services.settle();
  } catch (const JudgeFault&) {
  }
  services.lease().release();
  return ahead_s;
}

// A line a request, until there are no more.
int judge() {
  std::unique_ptr<JudgeServices> kept;
  std::string lease;
  double ahead_s = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json request = nlohmann::json::parse(line);
    if (request.contains("hello")) {
      emit({{"hello", true}});
      continue;
    }
    if (request.contains("warm_up")) {
      const JudgeJob outline = JudgeJob::from_json(request["warm_up"]);
      ahead_s += warm_up(outline, services_for(outline, kept, lease));
      continue;
    }
    JudgeJob job = JudgeJob::from_json(request);
    if (const int code = judge_job(job, services_for(job, kept, lease), std::exchange(ahead_s, 0));
        code != kExitGraded)
      return code;
  }
  return kExitGraded;
}

// What GPU this machine has, for `auto`: a JSON object, or {} without one.
int probe() {
  int count = 0;
  nlohmann::json device = nlohmann::json::object();
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) {
#ifdef WARPGRADE_WITHOUT_GPU_SIDE
    emit({{"without_gpu_side", true}});
    return kExitGraded;
#endif
    device = describe_cuda_device();
  }
  emit(device);
  return kExitGraded;
}

}  // namespace
}  // namespace warpgrade

int main(int argc, char** argv) {
  // A CUDA runtime that finds no GPU unloads the driver's library, in which the driver's own threads may
  // still run (seen with CUDA 12.0 and a driver of CUDA 12.4): so it stays.
  dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE);
  warpgrade::install_interrupt_handler();
  try {
    if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) return warpgrade::probe();
    if (argc == 2 && std::strcmp(argv[1], "--check-device") == 0) return warpgrade::check_device();
    return warpgrade::judge();
  } catch (const warpgrade::Interrupted&) {
    return warpgrade::kExitInterrupted;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "warpgrade-judge: %s\n", fault.what());
    return warpgrade::kExitJudgeFault;
  }
}
