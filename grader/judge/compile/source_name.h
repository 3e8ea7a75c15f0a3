// Which names sources and headers may have. Such names are written into #include lines, dependency files,
// messages and records, and tools hand names to a shell: so only characters that mean nothing to any of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

bool is_source(const std::filesystem::path& file);  // is compiled: .cu .cpp .cc .cxx .c
bool is_header(const std::filesystem::path& file);  // may be included: .h .hpp .hxx .cuh .inl .inc

// Why a source or header of this relative path is refused, nothing where it is not. Each part: letters,
// digits and . _ + - of ASCII, no . or - in front, at most 100 bytes; the whole at most 240 bytes.
struct NameProblem {
  std::string what;       // "a space in the name of a source"
  std::string next_step;  // "rename it to spmm_copy.cu"
};
std::optional<NameProblem> source_name_problem(const std::filesystem::path& file);

}  // namespace warpgrade
