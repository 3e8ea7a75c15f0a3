// Vendors' libraries, which a submission does without: what counts as one, and where a source leans on it.
//
// To name a library costs nothing: an #include that nothing uses leaves no trace in the object, and what a
// build file links is not linked here. So both are told, and only a call is an error, with its line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/compile/tidied_sources.h"

namespace warpgrade {

// A function, a type or a header of a library for linear algebra and the like: "cublasSgemm_v2",
// "cublas_v2.h".
bool is_vendor_name(std::string_view name);

// Of a library whose kernels stand in its headers: to include it is to use it.
bool is_header_library(std::string_view name);

// "-lcublas", "cublas" or "CUDA::cublas" of a build file is "cublas".
std::optional<std::string> linked_library(std::string_view word);

// A sentence for each of these headers that the sources include: it costs nothing.
std::vector<std::string> notes_on_includes(const std::vector<SubmittedFile>& files);

// "spmm.cu:9", where the linker's words tell the line of a reference to the symbol in one of these files;
// else where the files' text names it (a weak reference, which the linker does not miss); else empty.
// `words`: of a link of the object alone, in the student's names.
std::string place_of_call(std::string_view symbol, std::string_view words,
                          const std::vector<SubmittedFile>& files);

// The line of a file that includes a header of this name or below a folder of this name; else empty.
std::string place_of_include(std::string_view header, const std::vector<SubmittedFile>& files);

}  // namespace warpgrade
