// nvJitLink's numbers, as NVIDIA documents them (docs.nvidia.com/cuda/nvjitlink); the header is not in every toolkit.
#pragma once
#include <string>

namespace warpgrade::nvjitlink {

enum Result : int {
  success = 0,
  unrecognized_option = 1,
  missing_arch = 2,
  invalid_input = 3,
  ptx_compile = 4,
  nvvm_compile = 5,
  internal = 6,
  unrecognized_input = 8,
  null_input = 10,
  incompatible_options = 11,
  incorrect_input_type = 12,
  unrecognized_arch = 16,
  unsupported_arch = 17,
  lto_not_enabled = 18,
};

enum InputType : int {
  cubin = 1,
  ptx = 2,
  ltoir = 3,
  fatbin = 4,
  object = 5,
  library = 6,
  index = 7,
  any = 10
};

// What the options say that matters here; the others change what machine code is made.
struct Options {
  int arch = 0;  // 80 of -arch=sm_80
  bool is_virtual = false, lto = false, ptx = false;
};

// As NVIDIA's library reads them; `log` says what it refuses.
Result read_options(unsigned count, const char* const* texts, Options& options, std::string& log);

}  // namespace warpgrade::nvjitlink
