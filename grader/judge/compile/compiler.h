// Turns a submission into a runner executable: nvcc inside the sandbox, with limits, cached by content.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/toolchain.h"
#include "judge/compile/submission.h"
#include "judge/sandbox/sandbox.h"
#include "record/verdict.h"

namespace warpgrade {

// CPU time decides, as in the sandbox of programming contests (ioi/isolate, isolate.1: "--time as the main
// limit, but set --wall-time to a much higher value as a precaution against sleeping programs"; with
// --cg-timing of all processes of the control group). On the clock a compilation may take so many times that.
inline constexpr int kWallOverCpu = 5;

struct CompileOptions {
  std::string lab;
  std::string architecture;  // "90": PTX and machine code for it
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  std::chrono::milliseconds limit{120'000};             // CPU time of all processes, all sources together
  std::function<void(const std::string&)> notify = {};  // of a wait for other compilations; standard error
  std::set<std::string> forbidden_flags = {};           // kinds of flags: the policy's
  std::vector<std::string> libraries;                   // for baselines only: "cusparse"
  std::vector<std::filesystem::path> extra_includes;    // for trusted code only
  std::filesystem::path
      contract;  // folder of the contract that was made for a declared lab; the compiler's own
  // Of submissions in Python. Triton's own assembler makes code for a GPU; the emulator reads PTX.
  bool for_gpu = true;
  nlohmann::json dry_run_cases = nlohmann::json::array();  // Lab::dry_run_cases
};

// What ptxas said of one kernel.
struct KernelResources {
  std::string name;  // demangled
  std::string architecture;
  int registers = 0;
  size_t shared_bytes = 0, constant_bytes = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  nlohmann::json to_json() const;
  static KernelResources from_json(const nlohmann::json& json);  // of what to_json() gave
};

// Of a log in which a program may have printed anything.
std::vector<KernelResources> parse_ptxas(const std::string& log);

struct CompileResult {
  std::string status;                // compiled, compile_error, not_found, judge_fault
  Reason reason = Reason::kNone;     // of an error
  std::string message;               // one line
  std::string log;                   // the compiler's words
  std::filesystem::path executable;  // of Python a folder (judge/runner/triton)
  double seconds = 0;
  double cpu_seconds = 0;  // of all its processes
  bool busy = false;       // out_of_time while others had the cores: another time it may not be
  bool cached = false;
  std::vector<std::string> flags;
  std::vector<KernelResources> kernels;
  int warnings = 0;
  bool ok() const { return status == "compiled"; }
  nlohmann::json to_json() const;
};

class Compiler {
 public:
  Compiler(Toolchain toolchain, std::filesystem::path cache);

  // Never throws for what the submission does; JudgeFault and UsageError for what the machine lacks.
  CompileResult compile(const Submission& submission, CompileOptions options);

  const Toolchain& toolchain() const { return toolchain_; }

 private:
  struct Built {
    CompileResult result;
    std::function<void(const std::filesystem::path& program)> write;
  };
  CompileResult compile_python(const Submission& submission, const CompileOptions& options);
  CompileResult cached(const std::string& key, const CompileOptions& options,
                       const std::function<Built()>& build);
  std::vector<std::filesystem::path> runner_objects(CompileOptions& options);
  std::vector<std::filesystem::path> own_objects(const CompileOptions& options, const std::string& name,
                                                 const std::vector<std::string>& sources,
                                                 const std::vector<std::filesystem::path>& others = {});
  void compile_own(const CompileOptions& options, const std::string& source,
                   const std::filesystem::path& embedded, const std::filesystem::path& objects) const;
  std::filesystem::path embed(const std::filesystem::path& source,
                              const std::filesystem::path& scratch) const;
  void run_own(std::vector<std::string> command, const std::string& source) const;

  Toolchain toolchain_;
  std::filesystem::path cache_;
};

}  // namespace warpgrade
