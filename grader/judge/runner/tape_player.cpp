#include "tape_player.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_memory.h"
#include "judge/protocol/call_tape.h"
#include "runner_lab.h"
#include "submission_calls.h"

// Their header, cuda_profiler_api.h, is a package of its own, which a machine that compiles need not have;
// the runtime has them.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

namespace warpgrade::runner {
namespace {

void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error) + ": " +
                           cudaGetErrorString(error));
}

class Tape {
 public:
  explicit Tape(const char* path) : file_(std::fopen(path, "rb"), &std::fclose) {
    if (!file_) throw std::runtime_error("the case's inputs cannot be opened");
    read(&head_, sizeof head_);
    if (head_.magic != protocol::kTapeMagic)
      throw std::runtime_error("the case's inputs are of another version");
  }

  // Each buffer in memory of its own.
  Buffers buffers() {
    Buffers all;
    for (std::uint32_t i = 0; i < head_.buffers; ++i) {
      protocol::TapeBuffer about;
      read(&about, sizeof about);
      std::vector<char> bytes(about.bytes);
      read(bytes.data(), bytes.size());
      void* memory = nullptr;
      if (about.bytes != 0) {
        need(cudaMalloc(&memory, about.bytes), about.name);
        need(cudaMemcpy(memory, bytes.data(), about.bytes, cudaMemcpyHostToDevice), about.name);
      }
      all[about.name] = memory;
    }
    return all;
  }

  protocol::Command command(protocol::Op op) const {
    protocol::Command command;
    command.op = op;
    const std::int64_t(&arguments)[8] = op == protocol::Op::kRun ? head_.run : head_.plan;
    std::memcpy(command.arguments, arguments, sizeof arguments);
    return command;
  }

 private:
  void read(void* into, std::size_t bytes) {
    if (bytes != 0 && std::fread(into, 1, bytes, file_.get()) != bytes)
      throw std::runtime_error("the case's inputs end early");
  }

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  protocol::TapeHead head_;
};

// What the emulator has counted, for a profiler that stands in ncu's place there.
void print_emulators_counters() {
  if (!on_emulator()) return;
  constexpr int kCounters = 1;
  std::string text(1 << 20, '\0');
  text.resize(drain_report(kCounters, text.data(), text.size()));
  std::fputs(text.c_str(), stdout);
}

void play(const char* path) {
  need(cudaFree(nullptr), "no CUDA device");
  Tape tape(path);
  const Buffers buffers = tape.buffers();
  const std::unique_ptr<LabRunner> lab = make_lab_runner();
  // A blocking stream, as with a judge: a kernel launched without the stream argument is still ordered
  // with it.
  cudaStream_t stream = nullptr;
  need(cudaStreamCreate(&stream), "cudaStreamCreate");
  need(cudaDeviceSynchronize(), "copying the inputs");
  need(cudaProfilerStart(), "cudaProfilerStart");
  for (const auto& [op, name] :
       {std::pair{protocol::Op::kPlan, "plan"}, {protocol::Op::kRun, "run"}, {protocol::Op::kFree, "free"}}) {
    const CallResult result = call_submission(*lab, tape.command(op), buffers, stream);
    if (result.summary.threw) throw std::runtime_error(std::string(name) + " threw " + result.message);
    need(static_cast<cudaError_t>(result.summary.returned), name);
    need(cudaDeviceSynchronize(), name);
  }
  need(cudaProfilerStop(), "cudaProfilerStop");
  print_emulators_counters();
}

}  // namespace

int play_tape(const char* path) {
  try {
    play(path);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace warpgrade::runner
