// The least time that a device allows for a case, and how near a submission comes to it. A model of the
// hardware's rates and of the lab's work (Williams, Waterman, Patterson: Roofline, CACM 2009). It gives
// points where a policy wants, and never refuses a submission.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "judge/declaration/case_work.h"
#include "record/record.h"

namespace warpgrade {

struct LimitRates {
  std::string device;                                                   // "NVIDIA H100 80GB HBM3"
  std::string source;                                                   // "measured on this device"
  double dram_bytes_per_s = 0, l2_bytes_per_s = 0, l1_bytes_per_s = 0;  // l1: all multiprocessors together
  double l2_bytes = 0;
  double launch_us = 0;                                         // of a kernel that does nothing
  std::map<std::string, double, std::less<>> operations_per_s;  // by unit

  nlohmann::json to_json() const;
};

// Of a record's `device`: its own rates where they were measured on it (`device.rates`), else those of its
// model. Nothing for a device of which not all rates are known, as part of a GPU or a model that is not here.
std::optional<LimitRates> limit_rates(const nlohmann::json& device);

// The rates of the devices that records name: few, and asked for once a record.
class KnownRates {
 public:
  const std::optional<LimitRates>& of(const Record& record);
  // Of the first device of which there are any, for those who draw them; null: there is none.
  const nlohmann::json& first() const { return first_; }

 private:
  std::map<std::string, std::optional<LimitRates>> by_device_;
  nlohmann::json first_;
};

struct Limit {
  double us = 0;
  std::string bound_by;  // "DRAM", "L2", "L1", "launch" or a unit
};

// The largest of what each part of the device needs for its share of the work. The judge empties L2 before a
// timed run: what is read comes from DRAM, what is written may stay in L2, as far as it has room.
Limit limit_of(const CaseWork& work, double compulsory_bytes, const LimitRates& rates);

// Of a timed record on a GPU: {us, bound_by, share, low, high, bytes, operations, unit, gathered_bytes}.
// `share` is the limit over the median time; `low` and `high` are those of the time's interval. Nothing where
// the record was not timed, is of a lab that is not here, or of a device without rates.
std::optional<nlohmann::json> limit_of_record(const Record& record, const std::optional<LimitRates>& rates);

}  // namespace warpgrade
