// The commands below `warpgrade data`, a file each: add_data_X adds the command X to `data`. Callbacks print,
// and throw DatasetError. `context` must outlive the app.
#pragma once

#include "warpgrade/datasets/cli.h"

namespace warpgrade::datasets {

void add_data_list(CLI::App& data, DataCommandContext& context);
void add_data_info(CLI::App& data, DataCommandContext& context);
void add_data_import(CLI::App& data, DataCommandContext& context);
void add_data_fit(CLI::App& data, DataCommandContext& context);
void add_data_stats(CLI::App& data, DataCommandContext& context);
void add_data_plot(CLI::App& data, DataCommandContext& context);
void add_data_synth(CLI::App& data, DataCommandContext& context);
void add_data_fetch(CLI::App& data, DataCommandContext& context);
void add_data_verify(CLI::App& data, DataCommandContext& context);
void add_data_cache(CLI::App& data, DataCommandContext& context);

}  // namespace warpgrade::datasets
