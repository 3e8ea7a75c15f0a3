// A worker: takes the desk's runs one after the other and judges each as `warpgrade batch` judges a class of
// one: the same intake, compiler, sandbox, judge, lease of the GPU and records.
#pragma once

#include <filesystem>
#include <string>

namespace warpgrade::desk {

struct WorkerOptions {
  std::filesystem::path desk;
  std::string name;   // this worker's own, which a new one takes over where it died
  std::string gpu;    // empty: the first, or the emulator
  double idle_s = 0;  // ends after so long without work; 0: never
};

// Returns the exit code when it was idle for long enough; throws Interrupted after SIGTERM.
int work(const WorkerOptions& options);

}  // namespace warpgrade::desk
