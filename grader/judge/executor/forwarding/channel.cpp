#include "judge/executor/forwarding/channel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/processor.h"

namespace warpgrade::executor {
namespace {

using wire::Op;

constexpr unsigned kSleepMicroseconds = 2000;  // between looks at whether the executor lives

thread_local std::string t_kernel;  // that the calling thread launches

// A library's constructors run before those of the program that it is linked to.
__attribute__((constructor)) void say_that_the_program_has_begun() {
  const char* number = std::getenv("WARPGRADE_BEGUN");
  if (number == nullptr) return;
  const Descriptor descriptor(std::atoi(number));
  unsetenv("WARPGRADE_BEGUN");  // programs that this one starts would write to whatever has the number then
  [[maybe_unused]] const ssize_t written = write(descriptor.get(), "b", 1);
}

}  // namespace

// A thread's slot, taken at its first call that waits and given back when it ends. A thread that finds none
// free (a process with more than 32 threads that wait at once) waits for one.
class SlotOfThread {
 public:
  explicit SlotOfThread(Channel& channel) : channel_(channel), slot_(channel.take_slot()) {}
  ~SlotOfThread() { channel_.give_slot(slot_); }
  uint16_t number() const { return slot_; }

 private:
  Channel& channel_;
  uint16_t slot_;
};

Channel::Channel(Descriptor socket, SharedMemory memory)
    : socket_(std::move(socket)), memory_(std::move(memory)) {
  static_assert(wire::kSlots == 32);
}

std::unique_ptr<Channel> Channel::open() {
  const char* number = std::getenv("WARPGRADE_EXECUTOR");
  if (number == nullptr) {
    std::fprintf(
        stderr,
        "executor: WARPGRADE_EXECUTOR is not set: this CUDA runtime has no GPU of its own; start the program "
        "with `warpgrade-executor -- PROGRAM`\n");
    return nullptr;
  }
  Descriptor socket(std::atoi(number)), calls, window;
  if (!receive_descriptors(socket.get(), calls, window)) {
    std::fprintf(stderr, "executor: the executor at WARPGRADE_EXECUTOR=%s does not answer\n", number);
    return nullptr;
  }
  try {
    SharedMemory memory = SharedMemory::open(std::move(calls), std::move(window));
    return std::unique_ptr<Channel>(new Channel(std::move(socket), std::move(memory)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "executor: %s\n", error.what());
    return nullptr;
  }
}

uint16_t Channel::take_slot() {
  for (;; std::this_thread::yield()) {
    std::lock_guard lock(slot_mutex_);
    if (free_slots_ == 0) continue;
    const auto slot = static_cast<uint16_t>(__builtin_ctz(free_slots_));
    free_slots_ &= free_slots_ - 1;
    return slot;
  }
}

void Channel::give_slot(uint16_t slot) {
  std::lock_guard lock(slot_mutex_);
  free_slots_ |= uint32_t{1} << slot;
}

bool Channel::map_window(void* pages, uint64_t bytes, uint64_t window) {
  return mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_.window_descriptor(),
              static_cast<off_t>(window - wire::kWindowAddress)) == pages;
}

bool Channel::check_executor() {
  if (is_lost()) return false;
  if (!is_closed(socket_.get())) return true;
  if (!lost_.exchange(true))
    std::fprintf(stderr, "executor: the executor has ended: no call reaches the GPU any more\n");
  return false;
}

// Under the ring's mutex. The place of the next record, nullptr when the executor is lost.
uint8_t* Channel::make_room(size_t bytes) {
  wire::Control& c = control();
  uint64_t head = c.head.load(std::memory_order_relaxed);
  const size_t left = wire::kRingBytes - head % wire::kRingBytes;
  const size_t need = left < bytes ? left + bytes : bytes;
  for (unsigned turn = 0; head + need - c.tail.load(std::memory_order_acquire) > wire::kRingBytes; ++turn) {
    if (turn < c.spins) continue;
    if (is_lost()) return nullptr;
    usleep(20);
    if (turn % 64 == 0) check_executor();
  }
  if (left < bytes) {
    wire::Record pad;
    pad.bytes = static_cast<uint32_t>(left);
    std::memcpy(memory_.ring() + head % wire::kRingBytes, &pad, std::min(left, wire::kAlign));
    head += left;
    c.head.store(head, std::memory_order_release);
  }
  return memory_.ring() + head % wire::kRingBytes;
}

void Channel::append(Op op, Arguments arguments, uint16_t slot, uint32_t sequence, size_t data_bytes,
                     const std::function<void(uint8_t*)>& write) {
  wire::Record record;
  record.bytes = static_cast<uint32_t>(wire::round_up(sizeof record + data_bytes, wire::kAlign));
  record.op = static_cast<uint16_t>(op);
  record.slot = slot;
  record.sequence = sequence;
  record.data_bytes = static_cast<uint32_t>(data_bytes);
  std::copy(arguments.begin(), arguments.end(), record.arguments);
  wire::Control& c = control();
  {
    std::lock_guard lock(ring_mutex_);
    uint8_t* at = make_room(record.bytes);
    if (at == nullptr) return;
    std::memcpy(at, &record, sizeof record);
    if (data_bytes > 0) write(at + sizeof record);
    c.head.store(c.head.load(std::memory_order_relaxed) + record.bytes, std::memory_order_seq_cst);
  }
  if (c.executor_sleeps.load(std::memory_order_seq_cst) != 0 && c.executor_sleeps.exchange(0) != 0)
    wake_all(c.executor_sleeps);
}

cudaError_t Channel::post(Op op, Arguments arguments, size_t data_bytes,
                          const std::function<void(uint8_t*)>& write) {
  const bool is_of_a_command = op == Op::report || op == Op::place || op == Op::command_done;
  if (control().is_interpreted != 0 && !is_of_a_command) {
    Reply reply;
    return call(op, arguments, reply, data_bytes, write);
  }
  if (op == Op::command_done && before_call_ != nullptr) before_call_(*this);
  append(op, arguments, wire::kNoSlot, 0, data_bytes, write);
  return is_lost() ? cudaErrorDevicesUnavailable : cudaSuccess;
}

cudaError_t Channel::post(Op op, Arguments arguments, std::span<const uint8_t> data) {
  return post(op, arguments, data.size(), [&](uint8_t* at) { std::memcpy(at, data.data(), data.size()); });
}

bool Channel::wait_for_reply(wire::Slot& slot, uint32_t sequence) {
  const unsigned spins = control().spins;
  for (unsigned turn = 0; slot.done.load(std::memory_order_acquire) != sequence; ++turn) {
    if (turn < spins) {
      pause_processor();
      continue;
    }
    if (is_lost()) return false;
    const uint32_t seen = slot.done.load();
    slot.sleeps.store(1);
    if (seen != sequence && slot.done.load() == seen) wait_for_change(slot.done, seen, kSleepMicroseconds);
    slot.sleeps.store(0);
    check_executor();
  }
  return true;
}

cudaError_t Channel::call(Op op, Arguments arguments, Reply& reply, std::span<const uint8_t> data) {
  return call(op, arguments, reply, data.size(),
              [&](uint8_t* at) { std::memcpy(at, data.data(), data.size()); });
}

// The finding that the executor made of the calling thread's call.
Channel::Launching::Launching(std::string kernel) {
  t_kernel = std::move(kernel);
}
Channel::Launching::~Launching() {
  t_kernel.clear();
}

cudart::HostPlace Channel::place_of(uint64_t number) {
  const std::lock_guard lock(kept_mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& call) { return call.number == number; });
  return found == kept_.end() ? cudart::HostPlace{} : cudart::place_of_call(found->stack, found->kernel);
}

void Channel::send_place(uint64_t earlier) {
  if (const cudart::HostPlace place = place_of(earlier); place.line != 0) post_place(place, true);
  post_place(cudart::place_of_call(cudart::call_stack(), t_kernel), false);
}

void Channel::post_touch(uint64_t address, bool is_write, const cudart::HostPlace& place) {
  post(Op::place, {place.line, address, is_write ? wire::kHostWrote : wire::kHostRead},
       std::span{reinterpret_cast<const uint8_t*>(place.path.data()),
                 std::min(place.path.size(), wire::kMostName)});
}

void Channel::post_place(const cudart::HostPlace& place, bool is_earlier) {
  post(Op::place, {place.line, 0, is_earlier ? 1u : 0u},
       std::span{reinterpret_cast<const uint8_t*>(place.path.data()),
                 std::min(place.path.size(), wire::kMostName)});
}

cudaError_t Channel::call(Op op, Arguments arguments, Reply& reply, size_t data_bytes,
                          const std::function<void(uint8_t*)>& write) {
  if (before_call_ != nullptr) before_call_(*this);
  thread_local SlotOfThread mine(*this);
  const uint16_t number = mine.number();
  wire::Slot& slot = memory_.slot(number);
  const uint32_t sequence = ++sequences_[number];
  append(op, arguments, number, sequence, data_bytes, write);
  if (!wait_for_reply(slot, sequence)) return cudaErrorDevicesUnavailable;
  reply.error = static_cast<cudaError_t>(slot.error);
  std::copy(std::begin(slot.values), std::end(slot.values), reply.values);
  reply.data = {slot.data, std::min<size_t>(slot.data_bytes, wire::kReplyBytes)};
  if (slot.wants_place != 0) send_place(slot.earlier_call);
  if (slot.keeps_call != 0) {
    const std::lock_guard lock(kept_mutex_);
    if (kept_.size() == kMostKept) kept_.pop_front();
    kept_.push_back({wire::number_of_call(number, sequence), cudart::call_stack(), t_kernel});
  }
  return reply.error;
}

cudaError_t Channel::call(Op op, Arguments arguments) {
  Reply reply;
  return call(op, arguments, reply);
}

}  // namespace warpgrade::executor
