// What libstdc++.a of a newer compiler wants of a C library of 2022, for one of 2020: linked into
// each portable program.
#include <sys/random.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// glibc 2.32 tells by it whether a process has one thread only; 0: it may have more.
extern __attribute__((visibility("hidden"))) const char __libc_single_threaded;
const char __libc_single_threaded = 0;

// glibc 2.36 has it; std::random_device calls it.
__attribute__((visibility("hidden"))) std::uint32_t arc4random() {
  std::uint32_t value = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  std::size_t have = 0;
  while (have < sizeof value) {
    const ssize_t got = getrandom(bytes + have, sizeof value - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return value;
}
}
