// How this program is called here, and texts that tell what to type.
#pragma once

#include <string>

namespace warpgrade {

// How this program was started: "./warpgrade" in an unpacked package, "build/bin/warpgrade" in a checkout,
// "warpgrade" where PATH has it; as a shell takes it. WARPGRADE_COMMAND says it, for programs below as well.
std::string own_command();
// Keeps the first word of a command line as WARPGRADE_COMMAND, where whoever started the program did not say
// a better one.
void started_as(const std::string& first_word);

// A command's name: texts that call it by `warpgrade NAME` mean this program.
void know_command(const std::string& name);
// The text, in which `warpgrade COMMAND` is this program as it is started here. All that say(), tell(),
// main() and --help print passes through this; so messages write `warpgrade COMMAND` and nobody minds
// the place.
std::string with_own_command(const std::string& text);

// A word as a shell takes it, quoted where it must be.
std::string shell_word(const std::string& word);

}  // namespace warpgrade
