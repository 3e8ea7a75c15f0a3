// What the stubs of a library that is left out call. Plain code: the library needs no other one.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Whether the name holds one of the words, which commas part.
bool holds_one_of(const char* name, const char* words) {
  while (*words != '\0') {
    const size_t length = std::strcspn(words, ",");
    for (const char* at = name; length != 0 && *at != '\0'; ++at) {
      if (std::strncmp(at, words, length) == 0) return true;
    }
    words += length + (words[length] == ',' ? 1 : 0);
  }
  return false;
}

}  // namespace

extern "C" long left_out_call(const char* name, char* said) {
  static char advised = 0;
  if (!LEFT_OUT_IS_QUIET && __atomic_exchange_n(said, 1, __ATOMIC_RELAXED) == 0) {
    std::fprintf(stderr, "emulator: unsupported call of %s (" LEFT_OUT_TITLE "): it needs a GPU\n", name);
    if (__atomic_exchange_n(&advised, 1, __ATOMIC_RELAXED) == 0)
      std::fputs("  " LEFT_OUT_ADVICE "\n", stderr);
  }
  if (LEFT_OUT_ENDS) std::exit(1);
  if (holds_one_of(name, LEFT_OUT_TEXTS)) return reinterpret_cast<long>("not supported by the emulator");
  return holds_one_of(name, LEFT_OUT_ZEROS) ? 0 : LEFT_OUT_STATUS;
}
