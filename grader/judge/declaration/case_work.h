// What a case asks of a device, by its lab's model: for the least time that a device allows
// (course/score/limit.h).
#pragma once

#include <array>
#include <string_view>

namespace warpgrade {

// Units of a multiprocessor, by what lab.yaml calls them (`work: {unit: fp32}`). A lab names the fastest one
// that its accuracy allows.
namespace units {
inline constexpr std::string_view kFp32 = "fp32";
inline constexpr std::string_view kFp64 = "fp64";
inline constexpr std::string_view kFp64Tensor = "fp64 tensor";
// fp32 numbers in two pieces of TF32, three products each: as exact as fp32's own
// (docs.nvidia.com/cutlass, example 27). Where fp32's pipes are faster, those.
inline constexpr std::string_view kTf32x3 = "tf32 x 3";
inline constexpr std::string_view kInteger = "integer";
inline constexpr std::string_view kMinPlus = "min-plus";       // an addition and a minimum in one, 32 bits
inline constexpr std::string_view kMinPlus16 = "min-plus 16";  // two of 16 bits at once
inline constexpr std::array kAll{kFp32, kFp64, kFp64Tensor, kTf32x3, kInteger, kMinPlus, kMinPlus16};
}  // namespace units

struct CaseWork {
  double written_bytes = 0;   // of the compulsory bytes, those that are written: L2 may keep them
  double gathered_bytes = 0;  // that each multiprocessor loads from its own L1, whatever lies there
  double operations = 0;      // of `unit`, a multiply-add being two; zero: none are counted
  std::string_view unit = units::kFp32;
};

}  // namespace warpgrade
