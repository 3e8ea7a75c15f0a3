#include "cudart/host_functions.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cudart/current_device.h"

namespace warpgrade::cudart {

class HeldPlace {
 public:
  bool is_reached = false;  // under the mutex
};

// What a stream holds. Its thread shares it, and outlives the stream by what is still held.
class HeldWork {
 public:
  struct Item {
    StreamWork work;
    int device = 0;  // of the thread that enqueued it
    std::shared_ptr<HeldPlace> place;
  };

  const StreamId in_backend;
  const bool is_legacy, is_blocking;
  // Under the mutex:
  std::deque<Item> items;
  bool is_running = false;  // the item that was taken out
  bool is_over = false;     // the stream is gone

  explicit HeldWork(const Stream& stream)
      : in_backend(stream.in_backend),
        is_legacy(stream.legacy),
        is_blocking((stream.flags & cudaStreamNonBlocking) == 0) {}
  bool holds_something() const { return is_running || !items.empty(); }
  // Whether work in one of the two waits for what is in the other.
  bool concerns(const Stream& stream) const {
    const bool waits = is_blocking && (stream.flags & cudaStreamNonBlocking) == 0;
    return waits && is_legacy != stream.legacy;
  }
};

namespace {

// Host functions are rare and slow: one mutex serves all streams. Nothing here is ever destroyed, because
// threads still use it while the program ends.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<HeldWork>> holding;  // those that hold something
  std::atomic<size_t> count{0};                    // of them
  std::atomic<cudaError_t> error{cudaSuccess};
};

Shared& shared() {
  static auto* all = new Shared;
  return *all;
}

thread_local bool t_is_host_function = false;

void run_item(HeldWork& held, HeldWork::Item item) {
  cudaError_t error = cudaSuccess;
  {
    const ScopedDevice device(item.device);
    error = item.work(held.in_backend);
  }
  if (error != cudaSuccess) shared().error.store(error);
}

void serve(const std::shared_ptr<HeldWork>& held) {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return !held->items.empty() || held->is_over; });
    if (held->items.empty()) return;
    HeldWork::Item item = std::move(held->items.front());
    held->items.pop_front();
    held->is_running = true;
    const std::shared_ptr<HeldPlace> place = item.place;
    lock.unlock();
    run_item(*held, std::move(item));
    lock.lock();
    held->is_running = false;
    if (place) place->is_reached = true;
    if (!held->holds_something()) {
      std::erase(s.holding, held);
      s.count.store(s.holding.size(), std::memory_order_release);
    }
    s.changed.notify_all();
  }
}

// With the lock.
void push(const std::shared_ptr<HeldWork>& held, StreamWork work, std::shared_ptr<HeldPlace>* place) {
  Shared& s = shared();
  if (place != nullptr) *place = std::make_shared<HeldPlace>();
  if (!held->holds_something()) s.holding.push_back(held);
  s.count.store(s.holding.size(), std::memory_order_release);
  held->items.push_back({std::move(work), current_device(), place != nullptr ? *place : nullptr});
  s.changed.notify_all();
}

// False: there is no thread to be had.
bool has_thread(Stream& stream) {
  std::lock_guard lock(shared().mutex);
  if (stream.held) return true;
  auto held = std::make_shared<HeldWork>(stream);
  try {
    std::thread(serve, held).detach();
  } catch (const std::system_error&) {
    return false;
  }
  stream.held = std::move(held);
  return true;
}

template <class Condition>
cudaError_t wait_until(const Condition& condition) {
  if (nothing_is_held()) return cudaSuccess;
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  if (condition()) return cudaSuccess;
  if (t_is_host_function) return cudaErrorNotPermitted;
  s.changed.wait(lock, condition);
  return backend().sticky();  // held work may have faulted since the call began
}

bool holds_something(const Stream& stream) {
  return stream.held && stream.held->holds_something();
}

bool is_concerned(const Stream& stream) {
  const auto& holding = shared().holding;
  return std::any_of(holding.begin(), holding.end(),
                     [&](const auto& held) { return held->concerns(stream); });
}

// Others that work in this stream waits for.
cudaError_t wait_for_others(const Stream& stream) {
  return wait_until([&] { return !is_concerned(stream); });
}

}  // namespace

bool nothing_is_held() {
  return shared().count.load(std::memory_order_acquire) == 0;
}

bool is_held(const Stream& stream) {
  if (nothing_is_held()) return false;
  std::lock_guard lock(shared().mutex);
  return holds_something(stream);
}

bool is_reached(const std::shared_ptr<HeldPlace>& place) {
  if (!place) return true;
  std::lock_guard lock(shared().mutex);
  return place->is_reached;
}

cudaError_t run_beside(Stream& stream, StreamWork work, std::shared_ptr<HeldPlace>* place) {
  if (const cudaError_t error = wait_for_others(stream); error != cudaSuccess) return error;
  if (!has_thread(stream)) return work(stream.in_backend);
  std::lock_guard lock(shared().mutex);
  push(stream.held, std::move(work), place);
  return cudaSuccess;
}

std::optional<cudaError_t> hold(Stream& stream, const std::function<StreamWork()>& work,
                                std::shared_ptr<HeldPlace>* place) {
  if (nothing_is_held()) return std::nullopt;
  if (const cudaError_t error = wait_for_others(stream); error != cudaSuccess) return error;
  if (!is_held(stream)) return std::nullopt;
  StreamWork kept = work();
  std::lock_guard lock(shared().mutex);
  push(stream.held, std::move(kept), place);
  return cudaSuccess;
}

cudaError_t run_in_order(Stream& stream, const StreamWork& work, std::shared_ptr<HeldPlace>* place) {
  if (const auto kept = hold(
          stream, [&] { return work; }, place))
    return *kept;
  return work(stream.in_backend);
}

cudaError_t wait_for_held(const Stream& stream) {
  return wait_until([&] { return !holds_something(stream); });
}

cudaError_t wait_to_enqueue(const Stream& stream) {
  return wait_until([&] { return !holds_something(stream) && !is_concerned(stream); });
}

cudaError_t wait_for_all_held() {
  return wait_until([] { return shared().holding.empty(); });
}

cudaError_t wait_for(const std::shared_ptr<HeldPlace>& place) {
  if (!place) return cudaSuccess;
  return wait_until([&] { return place->is_reached; });
}

void call_host_function(const std::function<void()>& function) {
  t_is_host_function = true;
  function();
  t_is_host_function = false;
}

cudaError_t take_held_error() {
  return shared().error.exchange(cudaSuccess);
}

void end_held_work(const std::shared_ptr<HeldWork>& held) {
  if (!held) return;
  std::lock_guard lock(shared().mutex);
  held->is_over = true;
  shared().changed.notify_all();
}

Stream::~Stream() {
  end_held_work(held);
}

}  // namespace warpgrade::cudart
