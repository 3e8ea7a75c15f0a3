// The number that the linker computes from a program's whole content and keeps in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

// In hexadecimal, of a 64-bit ELF file of this machine's byte order. Nothing when the file is none, cannot be
// read or was linked without --build-id.
std::optional<std::string> build_id(const std::filesystem::path& file);

}  // namespace warpgrade
