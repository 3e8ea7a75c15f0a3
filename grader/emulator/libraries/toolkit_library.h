// A library of the toolkit's that the emulator hands work to, since it needs no GPU.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace warpgrade::libraries {

// Of the toolkit that the emulator was built with, or of this machine's (NVIDIA's wheels have lib in the place of
// lib64); nullptr where there is none. `own_folder` is the build's.
inline void* open_toolkits(const char* own_folder, const char* soname) {
  std::vector<std::string> folders{own_folder};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr) continue;
    folders.push_back(std::string(root) + "/lib64");
    folders.push_back(std::string(root) + "/lib");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  for (const std::string& folder : folders) {
    if (void* library = dlopen((folder + "/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace warpgrade::libraries
