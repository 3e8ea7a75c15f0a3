// The two shared memories of an executor and a host process, how they are handed over, and waiting in them.
#pragma once
#include <cstdint>

#include "judge/executor/wire.h"

namespace warpgrade::executor {

// Descriptors that close with their owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  int release();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The calls' memory and the window, mapped. Both are sealed: nobody can shrink them under a reader.
class SharedMemory {
 public:
  // In the executor. Throws std::runtime_error.
  static SharedMemory create();
  // In the host process, of descriptors that it was given. Throws std::runtime_error.
  static SharedMemory open(Descriptor calls, Descriptor window);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory();

  // In the executor: other memory at the same addresses, for another host process. What the one before still
  // has mapped is nobody's any more. Throws std::runtime_error.
  void renew();

  wire::Control& control() const { return *reinterpret_cast<wire::Control*>(calls_); }
  uint8_t* ring() const { return calls_ + wire::kRingOffset; }
  wire::Slot& slot(size_t k) const {
    return *reinterpret_cast<wire::Slot*>(calls_ + wire::kSlotsOffset + k * wire::kSlotBytes);
  }
  uint8_t* bulk() const { return calls_ + wire::kBulkOffset; }
  uint8_t* calls() const { return calls_; }
  int calls_descriptor() const { return calls_fd_.get(); }
  int window_descriptor() const { return window_fd_.get(); }

 private:
  SharedMemory(Descriptor calls, Descriptor window);

  Descriptor calls_fd_, window_fd_;
  uint8_t* calls_ = nullptr;
  uint8_t* window_ = nullptr;
};

// Over a socket, from the executor to the host process. False when the other side is gone or sent
// something else.
bool send_descriptors(int socket, int calls, int window);
bool receive_descriptors(int socket, Descriptor& calls, Descriptor& window);

// Waits until `word` is no longer `value`, at most for a while; wakes those who wait for it.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t value, unsigned microseconds);
void wake_all(std::atomic<uint32_t>& word);

// Whether the other end of a socket is closed.
bool is_closed(int socket);

}  // namespace warpgrade::executor
