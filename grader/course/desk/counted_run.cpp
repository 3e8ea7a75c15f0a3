#include "course/desk/counted_run.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "course/batch/class_run.h"
#include "course/desk/page.h"
#include "course/desk/protocol.h"
#include "course/hardware/hardware_profile.h"
#include "course/ingest/snapshot.h"
#include "judge/labs/registry.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kInstead =
    "the emulator counts as well: warpgrade profile FOLDER --lab LAB --case CASE";

// As a line can carry it; the whole text is in the files.
std::string short_enough(const std::string& text) {
  constexpr std::size_t kMost = kMostTellBytes / 4;  // escapes make it longer
  return text.size() <= kMost ? text
                              : text.substr(0, text.rfind('\n', kMost) + 1) + "... (more in hardware.md)\n";
}

}  // namespace

std::vector<std::string> public_cases(const std::string& lab, const Policy& policy, const std::string& id) {
  std::vector<std::string> ids;
  if (!policy.visibility.open_sets.contains("public")) return ids;
  for (const Case& spec : select_cases(find_lab(lab), policy, {"public"}, "emulator"))
    if (spec.set == "public" && spec.id == id) ids.push_back(spec.id);
  return ids;
}

CountedRun::CountedRun(Queue& queue, const Config& config, const Request& request, std::string gpu)
    : queue_(queue), config_(config), request_(request), gpu_(std::move(gpu)), log_(queue.desk()) {}

fs::path CountedRun::unpacked() const {
  const fs::path folder = queue_.folder_of(request_.id) / "run";
  make_directories(folder);
  remove_staged(folder / "snapshots");
  RawAttempt raw;
  raw.origin = fmt::format("run {}", request_.id);
  raw.files = {{queue_.folder_of(request_.id) / "submission.tar.gz", "submission.tar.gz"}};
  const auto taken = take_snapshot(raw, folder / "snapshots", {});
  if (const auto* refusal = std::get_if<Refusal>(&taken)) throw UsageError("{}", refusal->message);
  return std::get<Snapshot>(taken).folder;
}

Ending CountedRun::count() {
  hardware::HardwareOptions options;
  options.submission = unpacked();
  options.lab = request_.lab;
  options.test_case = request_.cases.at(0);
  options.policy = config_.policy_file(request_.lab);
  options.gpu = gpu_;
  options.limit = std::chrono::seconds(config_.counters.value_or(Config::Counters()).seconds);
  options.allow_unsandboxed = config_.allow_unsandboxed;
  const hardware::HardwareProfile profile = hardware::hardware_profile(options);
  const TemporaryDirectory scratch("warpgrade-counted");
  hardware::write_profile(profile, scratch.path() / "feedback");
  pack_feedback(scratch.path(), queue_.folder_of(request_.id));
  // `warpgrade journey` finds it there.
  write_text(queue_.folder_of(request_.id) / "hardware.json", json_text(profile.summary, 1) + "\n");
  queue_.add_event(request_, "profile",
                   {{"tell", "profile"}, {"case", options.test_case}, {"text", short_enough(profile.text)}});
  return {"judged", "", fmt::format("counted {}; nothing of it is judged", options.test_case)};
}

Ending CountedRun::execute() {
  if (const std::string why = hardware::refusal(); !why.empty()) {
    log_.add("no_counters", {{"run", request_.id}, {"why", why}});
    return {
        "failed", "",
        fmt::format("the desk cannot count on its GPU now, and your instructor can see why; {}", kInstead)};
  }
  try {
    return count();
  } catch (const GpuWedged& error) {
    queue_.end_counters("the GPU did not answer after a run", now_s());
    log_.add("counters_ended", {{"run", request_.id}, {"student", request_.student}, {"why", error.what()}});
    return {"failed", "",
            fmt::format("the GPU did not answer after your run; the desk counts no more. {}", kInstead)};
  } catch (const UsageError& error) {
    return {"judged", "", fmt::format("nothing was counted: {}", error.what())};
  }
}

}  // namespace warpgrade::desk
