#include "judge/compile/build_steps.h"

#include <signal.h>

#include <chrono>
#include <string_view>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/sandbox/usable_cores.h"

namespace warpgrade {
using Seconds = std::chrono::duration<double>;

namespace {

constexpr std::size_t kMostLogBytes = 1 << 20;

}  // namespace

bool BuildSteps::fail(Reason reason, std::string message) {
  result_.status = word_of(Verdict::kCompileError);
  result_.reason = reason;
  result_.message = std::move(message);
  return false;
}

bool BuildSteps::take(const Step& step, const char* name, std::size_t most_bytes, std::string& bytes) {
  UntrustedFile file = step.output.read(name, most_bytes);
  if (!file.ok())
    return fail(Reason::kBadOutput, fmt::format("the compiler's output is not usable: {}",
                                                describe(file.state, name, most_bytes)));
  bytes = std::move(file.bytes);
  return true;
}

std::string BuildSteps::listen(const Step& step, const std::filesystem::path& runner) {
  std::string words = sandbox_.in_shown_names(step.words(), runner);
  result_.log += words;
  if (result_.log.size() > kMostLogBytes)
    result_.log = valid_utf8(std::string_view(result_.log).substr(0, kMostLogBytes - 100)) + "\n(cut here)\n";
  return words;
}

bool BuildSteps::fail_in_time(const Step& step, const char* name) {
  const ProcessResult& process = step.process;
  const bool out_of_cpu = process.out_of_cpu || process.signal == SIGXCPU;
  if (!process.timed_out && !out_of_cpu) return true;
  result_.busy = is_busy(process.load);
  const double limit_s = Seconds(options_.limit).count(), used_s = Seconds(sandbox_.cpu_time()).count();
  const std::string what =
      out_of_cpu
          ? fmt::format("used {:.3g} s of CPU time, the limit is {:g} s", used_s, limit_s)
          : fmt::format(
                "did not end within {:g} s; it had used {:.3g} s of CPU time, the limit of which is {:g} s",
                kWallOverCpu * limit_s, used_s, limit_s);
  return fail(Reason::kOutOfTime, fmt::format("{} {} ({})", name, what, load_text(process.load)));
}

}  // namespace warpgrade
