#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "nvjitlink/nvjitlink.h"

namespace warpgrade::nvjitlink {
namespace {

constexpr std::string_view kSwitches[] = {"-time",
                                          "-verbose",
                                          "-lto",
                                          "-ptx",
                                          "-g",
                                          "-lineinfo",
                                          "-no-cache",
                                          "-optimize-unused-variables",
                                          "-device-stack-protector"};
constexpr std::string_view kWithValue[] = {"-maxrregcount=",
                                           "-ftz=",
                                           "-prec-div=",
                                           "-prec-sqrt=",
                                           "-fma=",
                                           "-kernels-used=",
                                           "-variables-used=",
                                           "-Xptxas=",
                                           "-split-compile=",
                                           "-split-compile-extended=",
                                           "-jump-table-density="};
constexpr int kArchitectures[] = {50, 52, 53, 60, 61,  62,  70,  72,  75,  80, 86,
                                  87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
constexpr int kOldest = NVJITLINK_MAJOR >= 13 ? 75 : 50;

Result read_arch(const std::string& value, Options& options, std::string& log) {
  const bool is_virtual = value.rfind("compute_", 0) == 0;
  const std::string digits = value.substr(std::min(value.size(), value.find('_')));
  const bool is_one = is_virtual || value.rfind("sm_", 0) == 0;
  if (!is_one || digits.size() < 2 || std::isdigit(static_cast<unsigned char>(digits[1])) == 0) {
    log += "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=" + value + ")\n";
    return unrecognized_option;
  }
  options.arch = std::atoi(digits.c_str() + 1);
  options.is_virtual = is_virtual;
  const std::string named = "architecture (compute" + digits + ")\n";
  if (options.arch < kOldest) {
    log += "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported " + named;
    return unsupported_arch;
  }
  if (std::find(std::begin(kArchitectures), std::end(kArchitectures), options.arch) ==
      std::end(kArchitectures)) {
    log += "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized " + named;
    return unrecognized_arch;
  }
  return success;
}

Result read_option(const std::string& text, Options& options, std::string& log) {
  if (text.rfind("-arch=", 0) == 0) return read_arch(text.substr(6), options, log);
  if (text.rfind("-O", 0) == 0 && text.size() > 2) {
    if (text == "-O0" || text == "-O3") return success;
    log += "unsupported value of -O: " + text.substr(2) + ". Only 0 and 3 are supported.\n";
    return unrecognized_option;
  }
  options.lto = options.lto || text == "-lto";
  options.ptx = options.ptx || text == "-ptx";
  const bool is_switch = std::find(std::begin(kSwitches), std::end(kSwitches), text) != std::end(kSwitches);
  const bool has_value = std::any_of(std::begin(kWithValue), std::end(kWithValue),
                                     [&](std::string_view name) { return text.rfind(name, 0) == 0; });
  if (is_switch || has_value) return success;
  log += "unrecognized option: " + text + "\n";
  return unrecognized_option;
}

}  // namespace

Result read_options(unsigned count, const char* const* texts, Options& options, std::string& log) {
  for (unsigned k = 0; k < count; ++k) {
    if (texts[k] == nullptr) return null_input;
    if (const Result result = read_option(texts[k], options, log); result != success) return result;
  }
  if (options.arch == 0) return missing_arch;
  if (options.ptx && !options.lto) {
    log += "ERROR: -ptx requires -lto\n";
    return incompatible_options;
  }
  if (options.is_virtual && !options.ptx) {
    log += "ERROR: virtual arch requires -ptx\n";
    return incompatible_options;
  }
  return success;
}

}  // namespace warpgrade::nvjitlink
