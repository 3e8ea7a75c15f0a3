// The ladder's speed-ups on a GPU that is not here: the model's, from counters of a run on the emulator.
#pragma once

#include <string>
#include <vector>

#include "course/profile/device_rates.h"
#include "record/record.h"

namespace warpgrade {

// The records with the model's ratios in the place of measured ones, under `ratios_key`: how many times as
// fast as the submission called `baseline` each other one is, case by case. Records of which the model says
// nothing have none. Throws UsageError that says why where none has.
std::vector<Record> modelled_records(std::vector<Record> records, const std::string& baseline,
                                     const std::string& ratios_key, const DeviceRates& device);

}  // namespace warpgrade
