// A case's calls, kept in a file: the buffers with their bytes, what plan and run are given. A program that
// is started with WARPGRADE_TAPE plays it alone, without a judge: for a profiler, which wants a program of
// its own. No verdict comes of it. The file: a TapeHead, then for each buffer a TapeBuffer and its bytes.
#pragma once

#include <cstdint>

namespace warpgrade::protocol {

constexpr std::uint32_t kTapeMagic = 0x54504757;  // "WGPT"
constexpr const char* kTapeVariable = "WARPGRADE_TAPE";

struct TapeHead {
  std::uint32_t magic = kTapeMagic;
  std::uint32_t buffers = 0;
  std::int64_t plan[8] = {};  // the arguments of kPlan
  std::int64_t run[8] = {};   // those of kRun
};

struct TapeBuffer {
  char name[32] = {};
  std::uint64_t bytes = 0;
};

}  // namespace warpgrade::protocol
