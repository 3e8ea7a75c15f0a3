// Runs a lab's solution on one case and prints the CPU time of its kernels alone: bench_levels.py compares
// what the emulator's checks cost.
//
//   timed_solution LIBRARY.so CASE TURNS
//
// The library is a solution with calibration/solution_case.cu. Prints a JSON line: `cpu_ms` of all turns, the
// first of which has the kernels compiled.
#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

double g_began;

double cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

void begin() {
  g_began = cpu_ms();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: timed_solution LIBRARY.so CASE TURNS\n");
    return 2;
  }
  using Run = bool (*)(const char*, int, void (*)(), char*, size_t);
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const auto run = library == nullptr ? nullptr : reinterpret_cast<Run>(dlsym(library, "measured_case"));
  char problem[512] = "it has no measured_case; link solution_case.cu";
  if (run == nullptr || !run(argv[2], std::atoi(argv[3]), begin, problem, sizeof problem)) {
    std::fprintf(stderr, "timed_solution: %s: %s\n", argv[1], library == nullptr ? dlerror() : problem);
    return 1;
  }
  std::printf("{\"cpu_ms\":%.3f}\n", cpu_ms() - g_began);
}
