// What compiled objects depend on beside their own sources, as hashes for the names that the cache keeps them
// under: the tools, and folders of headers. An object of other tools or other contracts is another object.
#pragma once

#include <filesystem>
#include <string>

#include "base/hash.h"
#include "base/toolchain.h"

namespace warpgrade {

// PATH of every command that compiles, in the box and outside, so that nvcc picks the same host compiler.
inline constexpr const char* kCompilersPath = "/usr/bin:/bin";

// nvcc's version, and of the host compiler that nvcc starts its path and what it says of its version. Asked
// once a process.
std::string tools_key(const Toolchain& toolchain);

// Every file below the folder, by its place there and its content.
void add_folder(Sha256& hash, const std::filesystem::path& folder);

// The headers of ours that the runner includes: the contracts and the runner's own.
void add_runner_headers(Sha256& hash);

}  // namespace warpgrade
