#include "cli/profile_elsewhere.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/own_command.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/student_remote.h"
#include "course/hardware/hardware_profile.h"

namespace warpgrade {
namespace fs = std::filesystem;

int profile_on_hardware(const ElsewhereOptions& options) {
  if (const std::string why = hardware::refusal(); !why.empty())
    throw UsageError("no counters of a GPU: {}. Without --hardware the emulator counts", why);
  hardware::HardwareOptions asked;
  asked.submission = options.submission;
  asked.lab = options.lab;
  asked.test_case = options.test_case;
  asked.policy = options.policy;
  asked.allow_unsandboxed = options.allow_unsandboxed;
  const hardware::HardwareProfile profile = hardware::hardware_profile(asked);
  if (options.output) hardware::write_profile(profile, *options.output);
  if (options.as_json)
    fmt::print("{}\n", json_text(profile.summary, 1));
  else
    tell("{}", profile.text);
  if (options.output && !options.as_json) tell("\nwritten: {}\n", options.output->string());
  return kExitGraded;
}

namespace {

// A desk that does not count says so in one of these ways; one of earlier versions does not know
// the question.
bool gives_no_counters(const desk::Refused& refused) {
  return refused.reason == "no_counters" || refused.reason == "counters_ended" ||
         refused.reason == "protocol";
}

}  // namespace

std::optional<int> profile_remotely(const ElsewhereOptions& options) {
  if (options.policy) throw UsageError("--policy: the desk has its own; leave it out with --remote");
  RemoteRunOptions asked;
  asked.remote = remote_host(options.remote);
  asked.lab = options.lab;
  asked.case_pattern = options.test_case;
  asked.folder = options.submission;
  asked.ask = "profile";
  RemoteLabRun run(std::move(asked));
  try {
    run.start();
    while (run.next()) continue;
  } catch (const desk::Refused& refused) {
    if (!gives_no_counters(refused)) throw UsageError("{} refuses: {}", options.remote, refused.what());
    say("{} gives no counters of its GPU ({}); the emulator's follow\n", options.remote, refused.what());
    return std::nullopt;
  }
  if (const std::string text = run.profile_text(); !text.empty()) tell("{}\n", text);
  tell("{}\n", run.final_message());
  return run.profile_text().empty() ? kExitNotAccepted : kExitGraded;
}

}  // namespace warpgrade
