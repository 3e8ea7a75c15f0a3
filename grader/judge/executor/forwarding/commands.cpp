#include <cstring>

#include "base/processor.h"
#include "cudart/host_functions.h"
#include "judge/executor/forwarding/forwarding.h"
#include "judge/executor/host_commands.h"

using namespace warpgrade::executor;

namespace {

constexpr unsigned kCommandSleepMicroseconds = 5000;

}  // namespace

extern "C" {

int warpgrade_executor_next_command(warpgrade_executor_command* command) {
  static uint32_t seen = 0;
  Channel* channel = Forwarding::instance().channel();
  if (channel == nullptr) return -1;
  wire::Control& c = channel->control();
  for (unsigned turn = 0; c.command_sequence.load(std::memory_order_acquire) == seen; ++turn) {
    if (turn < c.spins) {
      warpgrade::pause_processor();
      continue;
    }
    if (!channel->check_executor()) return -1;
    c.host_sleeps.store(1);
    if (c.command_sequence.load() == seen)
      wait_for_change(c.command_sequence, seen, kCommandSleepMicroseconds);
    c.host_sleeps.store(0);
  }
  seen = c.command_sequence.load();
  static_assert(sizeof *command == sizeof c.command);
  std::memcpy(command, &c.command, sizeof *command);
  return 0;
}

int warpgrade_executor_done(int64_t status, const char* message) {
  Channel* channel = Forwarding::instance().channel();
  if (channel == nullptr) return -1;
  // What is behind a host function belongs to the command, too, and the device must have all of it.
  static_cast<void>(warpgrade::cudart::wait_for_all_held());
  const size_t length = strnlen(message, wire::kMostName);
  const std::span<const uint8_t> text{reinterpret_cast<const uint8_t*>(message), length};
  return channel->post(wire::Op::command_done, {static_cast<uint64_t>(status)}, text) == cudaSuccess ? 0 : -1;
}

int warpgrade_executor_ping() {
  Channel* channel = Forwarding::instance().channel();
  return channel != nullptr && channel->call(wire::Op::ping, {}) == cudaSuccess ? 0 : -1;
}

void warpgrade_executor_lent(uint64_t address, uint64_t bytes) {
  if (Forwarding::instance().channel() != nullptr) Forwarding::instance().lent(address, bytes);
}

void warpgrade_executor_report_places(const uint64_t* addresses, size_t count) {
  if (Forwarding::instance().channel() != nullptr) Forwarding::instance().send_places({addresses, count});
}

void warpgrade_executor_tell_place(const char* path, uint32_t line) {
  warpgrade::cudart::tell_place(path, line);
}

}  // extern "C"
