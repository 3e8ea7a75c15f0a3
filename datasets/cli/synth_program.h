// warpgrade-synth, the program that generates on a GPU, run by the commands.
#pragma once

#include <filesystem>
#include <optional>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/standin.h"

namespace warpgrade::datasets {

// Beside this program; nothing where it was not built.
std::optional<std::filesystem::path> synth_program();

// A GPU of NVIDIA is on this machine.
bool has_gpu();

// Writes `output`; prints its figures. False when it said that it could not.
bool run_synth_program(const std::filesystem::path& program, const StandInSpec& spec, const Origin& origin,
                       const std::filesystem::path& output);

}  // namespace warpgrade::datasets
