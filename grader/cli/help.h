// What every command's --help ends with, and completion for shells: made from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace warpgrade {

// Adds examples and exit codes to the help of every command.
void add_footers(CLI::App& app);

// `warpgrade completion bash|zsh`.
void add_completion_command(CLI::App& app, int& code);

}  // namespace warpgrade
