// mistakes NAME: runs one program of the corpus ("NAME:fixed" without its mistake), then prints what the
// emulator found as JSON lines. `mistakes` alone lists the names.
#include "program.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

std::map<std::string, int (*)()>& programs() {
  static std::map<std::string, int (*)()> table;
  return table;
}

void print_findings() {
  using Drain = std::size_t (*)(char*, std::size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_diagnostics"));
  if (drain == nullptr) return;  // on a GPU
  std::vector<char> text(1 << 20);
  drain(text.data(), text.size());
  std::printf("%s", text.data());
}

}  // namespace

Program::Program(const char* name, int (*run)()) {
  programs()[name] = run;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    for (const auto& [name, run] : programs()) std::printf("%s\n", name.c_str());
    return 0;
  }
  const auto found = programs().find(argv[1]);
  if (found == programs().end()) {
    std::fprintf(stderr, "no program %s; without an argument all are listed\n", argv[1]);
    return 2;
  }
  std::atexit(print_findings);  // registered first, called last: leaks are found at the end
  found->second();
  return 0;
}
