#include "course/profile/modelled_ladder.h"

#include <map>

#include "base/error.h"
#include "course/profile/estimate_json.h"
#include "judge/judging/figures.h"

namespace warpgrade {

using nlohmann::json;

std::vector<Record> modelled_records(std::vector<Record> records, const std::string& baseline,
                                     const std::string& ratios_key, const DeviceRates& device) {
  std::string refusal =
      "no case was counted as the model needs it: judge again with --backend emulator --checks "
      "counters,levels";
  std::map<std::string, double> of_baseline;  // microseconds, by case
  const auto time_of = [&](const Record& record) {
    if (!record.outcome.accepted() || !record.counters.contains("launch_groups")) return 0.0;
    const json estimate = estimate_json(record.counters, record.kernels, device);
    if (estimate.contains("refusal")) refusal = record.test_case.id + ": " + word(estimate, "refusal");
    return figure(estimate, "us");
  };
  for (const Record& record : records)
    if (record.submission.id == baseline) of_baseline[record.test_case.id] = time_of(record);
  if (of_baseline.empty())
    throw UsageError(
        "the run has no records of '{}', whose counters the model needs; a vendor's library has none: give "
        "--baseline naive",
        baseline);
  bool any = false;
  for (Record& record : records) {
    const double theirs = of_baseline[record.test_case.id], ours = theirs > 0 ? time_of(record) : 0;
    auto& ratios = ratios_key == "ratios" ? record.ratios : record.ratios_with_host;
    ratios.clear();
    if (ours > 0) ratios[baseline].median = theirs / ours;
    any = any || ours > 0;
  }
  if (!any) throw UsageError("the model says nothing of this run: {}", refusal);
  return records;
}

}  // namespace warpgrade
