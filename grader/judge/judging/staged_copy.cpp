#include "judge/judging/staged_copy.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "judge/judging/cuda_memory.h"

namespace warpgrade {
namespace {

constexpr std::size_t kPiece = std::size_t{32} << 20;
constexpr std::size_t kLarge =
    2 * kPiece;  // less is copied by CUDA itself: pinning memory takes milliseconds
constexpr int kMostThreads = 8;

std::size_t threads_for(std::size_t bytes) {
  constexpr std::size_t kWorthAThread = std::size_t{4} << 20;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency() / 2);
  return std::clamp<std::size_t>(bytes / kWorthAThread, 1, std::min<std::size_t>(cores, kMostThreads));
}

void copy(void* to, const void* from, std::size_t bytes) {
  copy_by_threads(to, from, bytes, threads_for(bytes));
}

}  // namespace

void copy_by_threads(void* to, const void* from, std::size_t bytes, std::size_t threads) {
  constexpr std::size_t kLine = 64;
  const std::size_t fair = (bytes + threads - 1) / threads, each = (fair + kLine - 1) / kLine * kLine;
  const auto part = [&](std::size_t i) {
    const std::size_t begin = std::min(bytes, i * each), end = std::min(bytes, begin + each);
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(part, i);
  part(0);
}

struct StagedCopy::Pieces {
  void* memory[2] = {};
  cudaEvent_t moved[2] = {};
  ~Pieces() {
    for (const cudaEvent_t event : moved)
      if (event != nullptr) cudaEventDestroy(event);
    for (void* piece : memory) cudaFreeHost(piece);
  }
};

StagedCopy::StagedCopy() = default;
StagedCopy::~StagedCopy() = default;

void StagedCopy::open() {
  if (pieces_ != nullptr) return;
  auto pieces = std::make_unique<Pieces>();
  for (int i = 0; i < 2; ++i) {
    WARPGRADE_CUDA(cudaHostAlloc(&pieces->memory[i], kPiece, cudaHostAllocDefault));
    WARPGRADE_CUDA(cudaEventCreateWithFlags(&pieces->moved[i], cudaEventDisableTiming));
  }
  pieces_ = std::move(pieces);
}

void StagedCopy::to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes < kLarge) {
    WARPGRADE_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return;
  }
  open();
  int turn = 0;
  for (std::size_t at = 0; at < bytes; at += kPiece, turn ^= 1) {
    const std::size_t size = std::min(kPiece, bytes - at);
    WARPGRADE_CUDA(cudaEventSynchronize(pieces_->moved[turn]));  // of an event never recorded: at once
    copy(pieces_->memory[turn], static_cast<const char*>(host) + at, size);
    WARPGRADE_CUDA(cudaMemcpyAsync(static_cast<char*>(device) + at, pieces_->memory[turn], size,
                                   cudaMemcpyHostToDevice));
    WARPGRADE_CUDA(cudaEventRecord(pieces_->moved[turn]));
  }
  WARPGRADE_CUDA(cudaDeviceSynchronize());
}

void StagedCopy::to_host(void* host, const void* device, std::size_t bytes) {
  if (bytes < kLarge) {
    WARPGRADE_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
    return;
  }
  open();
  const auto send = [&](std::size_t at, int turn) {
    WARPGRADE_CUDA(cudaMemcpyAsync(pieces_->memory[turn], static_cast<const char*>(device) + at,
                                   std::min(kPiece, bytes - at), cudaMemcpyDeviceToHost));
    WARPGRADE_CUDA(cudaEventRecord(pieces_->moved[turn]));
  };
  send(0, 0);
  int turn = 0;
  for (std::size_t at = 0; at < bytes; at += kPiece, turn ^= 1) {
    if (at + kPiece < bytes) send(at + kPiece, turn ^ 1);
    WARPGRADE_CUDA(cudaEventSynchronize(pieces_->moved[turn]));
    copy(static_cast<char*>(host) + at, pieces_->memory[turn], std::min(kPiece, bytes - at));
  }
}

}  // namespace warpgrade
