#include "findings/python_words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace warpgrade::emu {
namespace {

struct Name {
  std::string_view cuda, triton, numba;
};
constexpr std::array kNames{Name{"atomicAdd", "tl.atomic_add", "cuda.atomic.add"},
                            Name{"atomicMin", "tl.atomic_min", "cuda.atomic.min"},
                            Name{"atomicMax", "tl.atomic_max", "cuda.atomic.max"},
                            Name{"atomicAnd", "tl.atomic_and", "cuda.atomic.and_"},
                            Name{"atomicOr", "tl.atomic_or", "cuda.atomic.or_"},
                            Name{"atomicXor", "tl.atomic_xor", "cuda.atomic.xor"},
                            Name{"atomicExch", "tl.atomic_xchg", "cuda.atomic.exch"},
                            Name{"atomicCAS", "tl.atomic_cas", "cuda.atomic.cas"},
                            Name{"__syncthreads()", "tl.debug_barrier()", "cuda.syncthreads()"},
                            Name{"__syncwarp()", "tl.debug_barrier()", "cuda.syncwarp()"},
                            Name{"__threadfence()", "tl.debug_barrier()", "cuda.threadfence()"}};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

// "block (1,0,0) thread (32,0,0)" is "program (1,0,0)"; "thread (32,0,0)" alone is one of the same program.
void name_programs(std::string& text) {
  constexpr std::string_view kBlock = "block (", kThread = "thread (";
  for (std::size_t at = text.find(kThread); at != std::string::npos; at = text.find(kThread, at)) {
    const std::size_t end = text.find(')', at);
    if (end == std::string::npos) return;
    const std::size_t block = text.rfind(kBlock, at);
    const bool has_block = block != std::string::npos && text.find(')', block) + 2 == at;
    if (has_block) {
      text.erase(at - 1, end + 1 - (at - 1));
      text.replace(block, kBlock.size(), "program (");
      at = block + 1;
    } else {
      const std::string_view with = "another thread of the same program";
      text.replace(at, end + 1 - at, with);
      at += with.size();
    }
  }
}

// Python counts in elements.
void name_element(Diagnostic& diagnostic) {
  const std::optional<DiagnosedAllocation>& array = diagnostic.allocation;
  if (diagnostic.kind != Finding::out_of_bounds || !array || array->element_bytes == 0) return;
  const auto bytes = static_cast<int64_t>(array->bytes), size = static_cast<int64_t>(array->element_bytes);
  // An access of several elements may begin inside.
  const int64_t first = array->offset < 0 ? array->offset - size + 1 : std::max(array->offset, bytes);
  diagnostic.message += "; element " + std::to_string(first / size) + " of " + array->name + ", which has " +
                        std::to_string(bytes / size);
}

const char* advice_for_triton(const Diagnostic& d) {
  switch (d.kind) {
    case Finding::out_of_bounds:
      return "Elements past the end need a mask: tl.load(pointer, mask=index < n, other=...) and "
             "tl.store(pointer, value, mask=index < n). Does the mask at this line name the dimension that "
             "the index goes along?";
    case Finding::global_race:
      return "Programs run in any order, and several at once. Let each program write elements of its own, "
             "add up with tl.atomic_add, or let a second kernel read what the first one wrote. Within one "
             "program tl.debug_barrier() orders what it stores and loads.";
    case Finding::uninitialized_read:
      return "Nothing was stored there before. Is other= missing where the mask is false, or a buffer that "
             "has to be zero at the beginning?";
    case Finding::misaligned:
      return "An index of elements is multiplied by their size by itself: is the pointer a part of an array "
             "(a[1:]), was it changed as a number, or does tl.multiple_of promise what does not hold?";
    case Finding::invalid_launch:
      return "kernel[(x, y, z)]: x is below 2^31, y and z are at most 65535. Let the largest number be x and "
             "find "
             "row and column by // and %, or let each program do more elements.";
    default:
      return nullptr;
  }
}

bool is_in_python(const Diagnostic& diagnostic) {
  return diagnostic.path.ends_with(".py") && !diagnostic.kernel.empty();
}

// Its kernels are the functions of a module, `__main__::add`; Triton's have plain names.
bool is_in_numba(const Diagnostic& diagnostic) {
  return is_in_python(diagnostic) && diagnostic.kernel.find("::") != std::string::npos;
}

}  // namespace

bool is_in_triton(const Diagnostic& diagnostic) {
  return is_in_python(diagnostic) && !is_in_numba(diagnostic);
}

void say_in_words_of_python(Diagnostic& diagnostic) {
  if (!is_in_python(diagnostic)) return;
  name_element(diagnostic);
  const bool in_triton = is_in_triton(diagnostic);
  for (std::string* text : {&diagnostic.message, &diagnostic.advice}) {
    for (const Name& name : kNames) replace_all(*text, name.cuda, in_triton ? name.triton : name.numba);
    if (in_triton) name_programs(*text);
  }
  if (!in_triton) return;
  if (const char* advice = advice_for_triton(diagnostic)) diagnostic.advice = advice;
}

}  // namespace warpgrade::emu
