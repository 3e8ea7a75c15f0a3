#include "commands.h"

namespace warpgrade::datasets {

void add_data_commands(CLI::App& app, DataCommandContext& context) {
  CLI::App* data =
      app.add_subcommand("data", "the datasets: list, describe, import, fetch, generate, verify");
  data->require_subcommand(1);
  for (const auto add : {add_data_list, add_data_info, add_data_import, add_data_fetch, add_data_verify,
                         add_data_cache, add_data_fit, add_data_stats, add_data_plot, add_data_synth})
    add(*data, context);
}

}  // namespace warpgrade::datasets
