// What every command's --help ends with, and completion for shells: made from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace warpgrade {

// Adds examples and exit codes to the help of every command.
void add_footers(CLI::App& app);

// A text for people, in which `warpgrade COMMAND` is this program: as it is started here (own_command()).
// All that main() and --help say passes through this; so messages write `warpgrade COMMAND` and nobody
// minds the place.
std::string with_own_command(const std::string& text);

// `warpgrade completion bash|zsh`.
void add_completion_command(CLI::App& app, int& code);

}  // namespace warpgrade
