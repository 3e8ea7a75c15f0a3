#include "native/kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostCompilations = 12;  // of one kernel

}  // namespace

const NativeCode* NativeKernel::code_for(const Program& program, const NativeMode& mode, uint64_t warps) {
  const std::lock_guard lock(mutex_);
  warps_ += warps;
  if (warps_ < kHotWarps && native_use() != NativeUse::always) return nullptr;
  const uint32_t key = mode.key();
  const auto same =
      std::find_if(versions_.rbegin(), versions_.rend(), [&](const Version& v) { return v.key == key; });
  const bool known = same != versions_.rend();
  if (known && (same->doubts == doubted_.size() || compiled_ >= kMostCompilations)) return same->code.get();
  if (compiled_ >= kMostCompilations) return nullptr;
  ++compiled_;
  const auto begin = std::chrono::steady_clock::now();
  versions_.push_back({key, doubted_.size(), compile_native(program, mode, doubted_)});
  const NativeCode* code = versions_.back().code.get();
  if (settings().dump_native) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr,
                 "emulator: %s: %zu instructions, %zu bytes of native code, %.1f ms, %zu facts doubted\n",
                 program.title.c_str(), program.code.size(), code != nullptr ? code->memory.bytes() : 0,
                 took.count(), doubted_.size());
  }
  return code;
}

void NativeKernel::doubt(const NativeBlock& block, const std::vector<uint32_t>& units) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t u : units) doubted_.insert({block.begin, u});
}

}  // namespace warpgrade::emu
