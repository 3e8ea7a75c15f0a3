// The protocol between a hostile host process and the executor: nothing that stands in the shared memory
// crashes the server, hangs it or makes it forget what it owns; and either side may die at any message.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backend/emulated.h"
#include "judge/executor/forwarding/channel.h"
#include "judge/executor/server.h"
#include "judge/executor/tests/forge.h"
#include "judge/executor/tests/ring_writer.h"

namespace warpgrade::executor {
namespace {

using wire::Op;

TEST(Protocol, memory_that_changes_while_it_is_read_does_not_harm) {
  std::atomic<bool> stop{false};
  std::thread vandal([&] {
    std::mt19937_64 random(7);
    while (!stop) {
      const size_t at = random() % (1 << 16);
      shared().ring()[at] = static_cast<uint8_t>(random());
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  size_t broken = 0;
  std::mt19937_64 random(8);
  Writer writer(shared());
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500)) {
    CallServer fresh(emu::Emulated::instance(), shared(), Limits{});
    try {
      for (int k = 0; k < 200; ++k) {
        wire::Record r;
        r.op = static_cast<uint16_t>(Op::query_stream);
        r.slot = 0;
        r.bytes = sizeof r;
        r.arguments[0] = random() % 3;
        writer.write(r, {});
        fresh.serve(1);
      }
    } catch (const ProtocolError&) {
      ++broken;
    }
  }
  stop = true;
  vandal.join();
  EXPECT_GT(broken, 0u);  // it was seen, and told
}

TEST(Protocol, the_shared_memory_cannot_be_resized) {
  for (const int fd : {shared().calls_descriptor(), shared().window_descriptor()}) {
    EXPECT_NE(ftruncate(fd, 4096), 0);
    EXPECT_NE(ftruncate(fd, static_cast<off_t>(2 * wire::kWindowBytes)), 0);
  }
}

// A call names only what belongs to the submission: addresses of the executor itself are refused.
TEST(Protocol, copies_reach_nothing_of_the_executor) {
  CallServer server(emu::Emulated::instance(), shared(), Limits{});
  Writer writer(shared());
  uint64_t secret = 0x1234;
  const auto ask = [&](Op op, std::initializer_list<uint64_t> arguments, std::span<const uint8_t> data = {}) {
    wire::Record r;
    r.op = static_cast<uint16_t>(op);
    r.slot = 1;
    r.data_bytes = static_cast<uint32_t>(data.size());
    r.bytes = static_cast<uint32_t>(wire::round_up(sizeof r + data.size(), wire::kAlign));
    std::copy(arguments.begin(), arguments.end(), r.arguments);
    writer.write(r, data);
    server.serve(1);
    return shared().slot(1).error;
  };
  const auto address = reinterpret_cast<uint64_t>(&secret);
  const uint8_t bytes[8] = {};
  EXPECT_EQ(ask(Op::copy_out, {address, 8, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::copy_in, {address, 0}, bytes), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::fill, {address, 8, uint64_t{1} << 32, 8, 1, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::allocate, {0, 4096}), cudaSuccess);
  const uint64_t mine = shared().slot(1).values[0];
  EXPECT_EQ(ask(Op::copy_device, {mine, address, 8, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::copy_device, {address, mine, 8, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::copy_in, {mine + 4090, 0}, bytes), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::copy_out, {mine, ~uint64_t{0}, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::fill, {mine, ~uint64_t{0}, uint64_t{1} << 32, 1, 1 << 20, 0}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::release, {address, 1}), cudaErrorInvalidValue);
  EXPECT_EQ(ask(Op::copy_in, {mine, 0}, bytes), cudaSuccess);
  EXPECT_EQ(ask(Op::release, {mine, 1}), cudaSuccess);
  EXPECT_EQ(ask(Op::release, {mine, 1}), cudaErrorInvalidValue);
  EXPECT_EQ(secret, 0x1234u);
}

// --- either side dies at any message ---

// What a program does, call by call; false when a call found no executor.
bool play(Channel& channel, int die_at) {
  int at = 0;
  const auto step = [&](cudaError_t error) {
    if (++at == die_at) kill(getpid(), SIGKILL);
    return error != cudaErrorDevicesUnavailable;
  };
  Reply reply;
  const std::vector<uint8_t> data(1000, 7);
  if (!step(channel.call(Op::allocate, {0, 1000}, reply))) return false;
  const uint64_t memory = reply.values[0];
  if (!step(channel.post(Op::copy_in, {memory, 0}, data))) return false;
  if (!step(channel.call(Op::create_stream, {0, 0}, reply))) return false;
  const uint64_t stream = reply.values[0];
  if (!step(channel.call(Op::create_event, {0}, reply))) return false;
  const uint64_t event = reply.values[0];
  if (!step(channel.post(Op::record_event, {event, stream}))) return false;
  if (!step(channel.call(Op::synchronize_stream, {stream}))) return false;
  if (!step(channel.call(Op::copy_out, {memory, 1000, 0}, reply))) return false;
  if (!step(channel.call(Op::allocate, {2, 1 << 20}, reply))) return false;
  if (!step(channel.call(Op::synchronize_device, {}))) return false;
  // A graph of one memset, rows both ways, and a limit.
  std::vector<uint8_t> graph;
  wire::GraphPart part;
  part.kind = wire::GraphPart::fill;
  part.work_bytes = sizeof(wire::Fill);
  append(graph, part);
  append(graph, wire::Fill{memory, 0, 5, 1, 1000, 1});
  if (!step(channel.post(Op::stage, {}, graph))) return false;
  if (!step(channel.call(Op::make_graph, {graph.size()}, reply))) return false;
  const uint64_t made = reply.values[0];
  if (!step(channel.post(Op::upload_graph, {made, stream}))) return false;
  if (!step(channel.post(Op::launch_graph, {made, stream}))) return false;
  if (!step(channel.post(Op::stage, {}, graph))) return false;
  if (!step(channel.call(Op::update_graph, {made, graph.size()}))) return false;
  if (!step(channel.call(Op::destroy_graph, {made}))) return false;
  if (!step(channel.post(Op::copy_in_rows, {memory, 100, 10, 9, stream}, std::vector<uint8_t>(90, 1))))
    return false;
  if (!step(channel.call(Op::copy_out_rows, {memory, 100, 10, 9, stream}))) return false;
  if (!step(channel.call(Op::copy_out_rows_bulk, {memory, 100, 10, 9, stream}))) return false;
  if (!step(channel.call(Op::set_limit, {cudaLimitPrintfFifoSize, 1 << 20}))) return false;
  if (!step(channel.call(Op::allocate_async, {1000, stream}, reply))) return false;
  if (!step(channel.call(Op::release_async, {reply.values[0], stream}))) return false;
  return step(channel.call(Op::release, {memory, 1}));
}
constexpr int kSteps = 23;

struct Ends {
  Descriptor executor, host;
};
Ends make_ends() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) != 0) std::abort();
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

std::unique_ptr<Channel> open_channel(Descriptor& socket) {
  setenv("WARPGRADE_EXECUTOR", std::to_string(socket.release()).c_str(), 1);
  return Channel::open();
}

// In a child process: the window that it has from its parent lies where its own is to lie.
void munmap_window() {
  munmap(reinterpret_cast<void*>(wire::kWindowAddress), wire::kWindowBytes);
}

[[noreturn]] void be_host(Ends& ends, int die_at) {
  ends.executor = Descriptor();
  munmap_window();
  const auto channel = open_channel(ends.host);
  _exit(channel != nullptr && play(*channel, die_at) ? 0 : 3);
}

TEST(Deaths, the_server_outlives_a_host_process_that_dies_at_any_message) {
  for (int at = 1; at <= kSteps + 1; ++at) {
    Ends ends = make_ends();
    CallServer server(emu::Emulated::instance(), shared(), Limits{});
    ASSERT_TRUE(
        send_descriptors(ends.executor.get(), shared().calls_descriptor(), shared().window_descriptor()));
    const pid_t child = fork();
    if (child == 0) be_host(ends, at);
    ends.host = Descriptor();
    int status = 0;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool has_ended = false;
    while (!has_ended && std::chrono::steady_clock::now() < limit) {
      if (server.serve(16) == 0) server.sleep(500);
      has_ended = waitpid(child, &status, WNOHANG) == child;
    }
    while (server.serve(16) != 0) {
    }
    if (!has_ended) kill(child, SIGKILL), waitpid(child, &status, 0);
    ASSERT_TRUE(has_ended) << "at " << at;
    EXPECT_EQ(at <= kSteps ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0, true)
        << "at " << at << ": status " << status;
    EXPECT_FALSE(server.has_waiting_calls());
  }
}

TEST(Deaths, calls_return_when_the_executor_dies_at_any_message) {
  for (int at = 0; at <= kSteps; ++at) {
    Ends ends = make_ends();
    const pid_t child = fork();
    if (child == 0) {
      ends.host = Descriptor();
      CallServer server(emu::Emulated::instance(), shared(), Limits{});
      if (!send_descriptors(ends.executor.get(), shared().calls_descriptor(), shared().window_descriptor()))
        _exit(4);
      while (server.records() < static_cast<uint64_t>(at)) {
        if (server.serve(1) == 0) server.sleep(500);
      }
      kill(getpid(), SIGKILL);
    }
    ends.executor = Descriptor();
    // Another process again, because the window is taken in this one.
    const pid_t host = fork();
    if (host == 0) be_host(ends, 0);
    ends.host = Descriptor();
    int status = 0;
    waitpid(child, nullptr, 0);
    ASSERT_EQ(waitpid(host, &status, 0), host);
    ASSERT_TRUE(WIFEXITED(status)) << "at " << at;
    EXPECT_EQ(WEXITSTATUS(status), at == kSteps ? 0 : 3) << "at " << at;
  }
}

TEST(Flood, posted_records_are_served_in_bounded_memory) {
  Ends ends = make_ends();
  CallServer server(emu::Emulated::instance(), shared(), Limits{});
  ASSERT_TRUE(
      send_descriptors(ends.executor.get(), shared().calls_descriptor(), shared().window_descriptor()));
  constexpr uint64_t kCalls = 50'000;
  const pid_t child = fork();
  if (child == 0) {
    ends.executor = Descriptor();
    munmap_window();
    const auto channel = open_channel(ends.host);
    const std::vector<uint8_t> text(1000, 'x');
    for (uint64_t k = 0; k < kCalls; ++k) channel->post(Op::report, {}, text);
    _exit(channel->call(Op::ping, {}) == cudaSuccess ? 0 : 3);
  }
  ends.host = Descriptor();
  int status = -1;
  while (waitpid(child, &status, WNOHANG) != child) {
    if (server.serve(64) == 0) server.sleep(500);
  }
  EXPECT_EQ(status, 0);
  EXPECT_GE(server.records(), kCalls);
  EXPECT_LE(server.reports().size(), Limits{}.reports);
}

}  // namespace
}  // namespace warpgrade::executor
