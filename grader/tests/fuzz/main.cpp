// One program with all targets, since most of the build is the code that they share: `fuzz --target=NAME`,
// and libFuzzer's own options and folders.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "targets.h"

namespace warpgrade::fuzz {
namespace {

struct Target {
  const char* name;
  void (*run)(std::string_view);
};

constexpr Target kTargets[] = {
    {"ring", ring},
    {"ptx", ptx},
    {"fat_binary", fat_binary},
    {"object_file", object_file},
    {"report_lines", report_lines},
    {"compiler_log", compiler_log},
    {"lab_yaml", lab_yaml},
    {"policy_yaml", policy_yaml},
    {"expression", expression},
    {"npy", npy},
    {"submission", submission},
    {"archive", archive},
    {"class_export", class_export},
    {"class_table", class_table},
    {"desk_line", desk_line},
    {"graph_file", graph_file},
    {"graph_folder", graph_folder},
};

const Target* g_target = nullptr;

}  // namespace
}  // namespace warpgrade::fuzz

// ASan keeps freed memory for a while: little of it, so that the limit of memory is about what readers take.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=16:detect_leaks=0";
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace warpgrade::fuzz;
  for (int k = 1; k < *argc; ++k) {
    if (std::strcmp((*argv)[k], "--list") == 0) {
      for (const Target& target : kTargets) std::puts(target.name);
      std::exit(0);
    }
    for (const Target& target : kTargets)
      if ((*argv)[k] == "--target=" + std::string(target.name)) g_target = &target;
  }
  if (g_target != nullptr) return 0;
  std::fputs("fuzz: give --target=NAME, one that --list lists\n", stderr);
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  warpgrade::fuzz::g_target->run({reinterpret_cast<const char*>(bytes), count});
  return 0;
}
