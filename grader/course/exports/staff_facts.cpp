#include "course/exports/staff_facts.h"

#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "course/ingest/times.h"
#include "record/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr double kNear = 0.03;

bool is_near(const ScoredCase& line, double threshold, double median) {
  if (line.threshold_status == "within_noise") return true;
  return threshold > 0 && median > 0 && std::abs(median / threshold - 1) <= kNear;
}

void add_scored_facts(const json& scored, json& facts) {
  if (const auto journey = scored.find("journey"); journey != scored.end()) facts["journey"] = *journey;
  for (const ScoredCase line : scored.at("cases")) {
    // Where the host wrote the outputs, nobody asks how many kernels there were.
    if (line.no_kernel)
      facts["no_kernel"].push_back(line.id);
    else if (line.cpu_only)
      facts["cpu_only"].push_back(line.id);
    const double threshold = line.threshold.value_or(0), median = line.ratio ? line.ratio->median : 0;
    if (is_near(line, threshold, median))
      facts["near"].push_back(fmt::format("{}: {:.3g} of {:.3g}", line.id, median, threshold));
  }
}

std::string missing_source(const RunParts& parts, const std::string& submission) {
  const fs::path file = parts.folder / "submissions" / submission / "compile.json";
  if (!fs::exists(file)) return "";
  const json compiled = json::parse(read_text(file), nullptr, false);
  if (!compiled.is_object() || compiled.value("status", "") != "not_found") return "";
  return compiled.value("message", "no source file");
}

}  // namespace

StaffFacts::StaffFacts(const RunParts& parts, const Policy& policy)
    : parts_(parts), zone_(TimeZone::named(policy.timezone)) {
  for (const json& scored : parts.scores.at("submissions")) scored_.emplace(scored.at("id"), &scored);
  for (const json& handed_in : parts.run.at("submissions"))
    handed_in_.emplace(handed_in.at("id"), &handed_in);
}

json StaffFacts::of(const std::string& submission) const {
  json facts = json::object();
  if (const auto scored = scored_.find(submission); scored != scored_.end())
    add_scored_facts(*scored->second, facts);
  if (const auto found = handed_in_.find(submission); found != handed_in_.end()) {
    const json& handed_in = *found->second;
    const std::string why = missing_source(parts_, submission);
    if (!why.empty() && !handed_in.contains("refused")) facts["no_source"] = why;
    const auto at = parse_time(handed_in.value("submitted_at", ""));
    if (at && handed_in.value("time_is_claimed", false)) facts["claimed_time"] = zone_.text(*at);
  }
  return facts;
}

}  // namespace warpgrade
