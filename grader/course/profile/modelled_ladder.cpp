#include "course/profile/modelled_ladder.h"

#include <map>

#include "base/error.h"
#include "course/profile/estimate_json.h"
#include "judge/judging/figures.h"
#include "record/outcome.h"

namespace warpgrade {

using nlohmann::json;

std::vector<json> modelled_records(const std::vector<json>& records, const std::string& baseline,
                                   const std::string& ratios_key, const DeviceRates& device) {
  std::string refusal =
      "no case was counted as the model needs it: judge again with --backend emulator --checks "
      "counters,levels";
  std::map<std::string, double> of_baseline;  // microseconds, by case
  const auto time_of = [&](const json& record) {
    const json counters = record.value("counters", json::object());
    if (!outcome_of(record).accepted() || !counters.contains("launch_groups")) return 0.0;
    const json estimate = estimate_json(counters, record.value("kernels", json::array()), device);
    if (estimate.contains("refusal"))
      refusal = record.at("case").at("id").get<std::string>() + ": " + word(estimate, "refusal");
    return figure(estimate, "us");
  };
  for (const json& record : records) {
    if (record.at("submission").at("id") == baseline)
      of_baseline[record.at("case").at("id")] = time_of(record);
  }
  if (of_baseline.empty())
    throw UsageError(
        "the run has no records of '{}', whose counters the model needs; a vendor's library has none: give "
        "--baseline naive",
        baseline);
  std::vector<json> modelled;
  bool any = false;
  for (json record : records) {
    record.erase(ratios_key);
    const double theirs = of_baseline[record.at("case").at("id")], ours = theirs > 0 ? time_of(record) : 0;
    if (ours > 0) record[ratios_key][baseline]["median"] = theirs / ours;
    any = any || ours > 0;
    modelled.push_back(std::move(record));
  }
  if (!any) throw UsageError("the model says nothing of this run: {}", refusal);
  return modelled;
}

}  // namespace warpgrade
