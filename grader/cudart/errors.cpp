#include "cudart/errors.h"

#include <atomic>
#include <utility>

#include "cudart/backend.h"
#include "cudart/host_functions.h"

namespace warpgrade::cudart {
namespace {

thread_local ThreadState t_state;
std::atomic<bool> g_runtime_was_used{false};

}  // namespace

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) t_state.last_error = error;
  return error;
}

ThreadState exchange_thread_state(const ThreadState& state) {
  return std::exchange(t_state, state);
}

void note_runtime_use() {
  if (t_state.uses_runtime) return;
  t_state.uses_runtime = true;
  g_runtime_was_used.store(true, std::memory_order_relaxed);
}

bool runtime_was_used() {
  return g_runtime_was_used.load(std::memory_order_relaxed);
}

cudaError_t sticky() {
  note_runtime_use();
  return backend().sticky();
}

cudaError_t peek_last_error() {
  record(backend().take_late_error());
  record(take_held_error());
  return t_state.last_error;
}

cudaError_t take_last_error() {
  const cudaError_t error = peek_last_error();
  t_state.last_error = cudaSuccess;
  return error;
}

}  // namespace warpgrade::cudart
