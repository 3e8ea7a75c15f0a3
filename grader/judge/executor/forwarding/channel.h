// The host process's end of the calls' memory: records go into the ring, replies come back in a slot of
// the thread.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cudart/host_place.h"
#include "judge/executor/shared_memory.h"

namespace warpgrade::executor {

// What a reply says; `data` is the slot's and holds until the thread's next call.
struct Reply {
  cudaError_t error = cudaSuccess;
  uint64_t values[4] = {};
  std::span<const uint8_t> data{};
};

class Channel {
 public:
  // The executor that WARPGRADE_EXECUTOR (a socket's number) leads to; nullptr, with a message on stderr,
  // when there is none.
  static std::unique_ptr<Channel> open();

  using Arguments = std::initializer_list<uint64_t>;

  // Sends a record without waiting. `write` fills its data in place.
  cudaError_t post(wire::Op op, Arguments arguments, size_t data_bytes = 0,
                   const std::function<void(uint8_t*)>& write = {});
  cudaError_t post(wire::Op op, Arguments arguments, std::span<const uint8_t> data);
  // Sends a record and waits for the reply.
  cudaError_t call(wire::Op op, Arguments arguments, Reply& reply, std::span<const uint8_t> data = {});
  cudaError_t call(wire::Op op, Arguments arguments);
  cudaError_t call(wire::Op op, Arguments arguments, Reply& reply, size_t data_bytes,
                   const std::function<void(uint8_t*)>& write);

  // While it lives, this thread's calls launch the kernel of this mangled name: its stub is no place of
  // the user's.
  class Launching {
   public:
    explicit Launching(std::string kernel);
    ~Launching();
    Launching(const Launching&) = delete;
    Launching& operator=(const Launching&) = delete;
  };
  // Of a call that the executor may ask for; empty when it is not kept any more.
  cudart::HostPlace place_of(uint64_t number);

  // Called before each call, and before the command that is at hand is done.
  void before_calls(void (*hook)(Channel&)) { before_call_ = hook; }
  // The host's code touched memory that a command may still use.
  void post_touch(uint64_t address, bool is_write, const cudart::HostPlace& place);

  wire::Control& control() { return memory_.control(); }
  // The area of large copies: one at a time.
  std::mutex& bulk_mutex() { return bulk_mutex_; }
  uint8_t* bulk() { return memory_.bulk(); }
  // Exchanges pages for those of the window that lie at `window`.
  bool map_window(void* pages, uint64_t bytes, uint64_t window);
  // Looks whether the executor lives; says once on stderr that it has ended.
  bool check_executor();
  // The executor is gone: every call fails.
  bool is_lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  Channel(Descriptor socket, SharedMemory memory);

  void append(wire::Op op, Arguments arguments, uint16_t slot, uint32_t sequence, size_t data_bytes,
              const std::function<void(uint8_t*)>& write);
  uint8_t* make_room(size_t bytes);
  void send_place(uint64_t earlier);
  void post_place(const cudart::HostPlace& place, bool is_earlier);
  bool wait_for_reply(wire::Slot& slot, uint32_t sequence);

  friend class SlotOfThread;
  uint16_t take_slot();
  void give_slot(uint16_t slot);

  Descriptor socket_;
  SharedMemory memory_;
  std::mutex ring_mutex_, bulk_mutex_, slot_mutex_;
  uint32_t free_slots_ = ~uint32_t{0};
  uint32_t sequences_[wire::kSlots] = {};
  // Where calls were made that the executor may ask for later, the last ones; by number.
  static constexpr size_t kMostKept = 1024;
  std::mutex kept_mutex_;
  struct Kept {
    uint64_t number;
    std::vector<void*> stack;
    std::string kernel;
  };
  std::deque<Kept> kept_;
  std::atomic<bool> lost_{false};
  void (*before_call_)(Channel&) = nullptr;
};

}  // namespace warpgrade::executor
