// The protocol between a hostile host process and the executor: nothing that stands in the shared memory
// crashes the server, hangs it or makes it forget what it owns; and either side may die at any message.
//   EXECUTOR_FUZZ_SEED=n  the first seed (default 1); a failure prints its own
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
#include "executor/forwarding/channel.h"
#include "executor/server.h"
#include "executor/tests/ring_writer.h"

namespace warpgrade::executor {
namespace {

using wire::Op;

constexpr double kSecondsEach = 2;

std::atomic<unsigned> g_seed{0};
int g_stderr = STDERR_FILENO;  // where stderr leads while the server's words are thrown away

// The process is lost, but its seed is not.
void name_seed_and_end(int signal) {
  char text[96];
  const int n =
      std::snprintf(text, sizeof text, "signal %d with EXECUTOR_FUZZ_SEED=%u\n", signal, g_seed.load());
  if (write(g_stderr, text, static_cast<size_t>(n)) < 0) _exit(2);
  _exit(1);
}

unsigned first_seed() {
  const char* text = std::getenv("EXECUTOR_FUZZ_SEED");
  return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Numbers that lie at the edges of what is checked, and anything.
uint64_t any_number(std::mt19937_64& random, const std::vector<uint64_t>& known) {
  constexpr uint64_t kEdges[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 8,
                                 255,
                                 4096,
                                 65535,
                                 65536,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 46,
                                 uint64_t{1} << 63,
                                 ~uint64_t{0},
                                 wire::kWindowAddress,
                                 wire::kWindowAddress + wire::kWindowBytes - 1,
                                 wire::kMostInline,
                                 wire::kBulkBytes,
                                 wire::kReplyBytes};
  switch (random() % 4) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:
      return known.empty() ? 0 : known[random() % known.size()] + random() % 3 - 1;
    case 2:
      return random() % 64;
    default:
      return random() >> random() % 64;
  }
}

template <class T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
  bytes.resize(wire::round_up(bytes.size(), 8));
}

// A graph whose numbers are often right: so that what is behind the first checks is reached.
std::vector<uint8_t> forge_graph(std::mt19937_64& random, const std::vector<uint64_t>& known) {
  std::vector<uint8_t> bytes;
  const auto number = [&] { return any_number(random, known); };
  for (uint32_t k = 0, nodes = static_cast<uint32_t>(random() % 6); k < nodes; ++k) {
    wire::GraphPart header;
    std::vector<uint8_t> work;
    header.kind = static_cast<uint32_t>(random() % (random() % 30 == 0 ? 9u : unsigned{wire::GraphPart::kinds}));
    header.after = k == 0 || random() % 2 == 0 ? 0 : 1;
    if (random() % 60 == 0) header.after = static_cast<uint32_t>(random());
    if (header.kind == wire::GraphPart::rows)
      append(work, wire::Rows{{number(), number(), number()}, {number(), number(), number()},
                              number() % 9, number() % 9, number() % 9});
    if (header.kind == wire::GraphPart::fill)
      append(work, wire::Fill{number(), number(), 7, 1u << random() % 4, number(), number() % 9});
    if (header.kind == wire::GraphPart::launch) {
      for (int a = 0; a < 6; ++a) append(work, number());
    }
    if (random() % 30 == 0) work.resize(random() % 200, 1);
    header.work_bytes = static_cast<uint32_t>(work.size());
    append(bytes, header);
    if (header.after == 1) append(bytes, static_cast<uint32_t>(random() % (k + 1)));
    bytes.insert(bytes.end(), work.begin(), work.end());
    bytes.resize(wire::round_up(bytes.size(), 8));
  }
  if (random() % 20 == 0) bytes.resize(bytes.size() * (random() % 100) / 100);
  return bytes;
}

struct Forged {
  wire::Record record;
  std::vector<uint8_t> data;
};

Forged forge(std::mt19937_64& random, const std::vector<uint64_t>& known) {
  Forged f;
  f.record.op = static_cast<uint16_t>(random() % 50 == 0 ? random() : random() % wire::kOpCount);
  f.record.slot = static_cast<uint16_t>(random() % 4 == 0 ? wire::kNoSlot : random() % wire::kSlots);
  if (random() % 100 == 0) f.record.slot = static_cast<uint16_t>(random());
  const bool knows = f.record.op < wire::kOpCount;
  if (knows && f.record.slot == wire::kNoSlot && !wire::kOps[f.record.op].posts) f.record.slot = 0;
  if (knows && wire::kOps[f.record.op].data != wire::Data::none) {
    f.data.resize(random() % 8 == 0 ? random() % 70'000 : random() % 300);
    for (uint8_t& byte : f.data)
      byte = static_cast<uint8_t>(wire::kOps[f.record.op].data == wire::Data::name ? 'a' + random() % 26
                                                                                   : random());
  }
  for (uint64_t& argument : f.record.arguments) argument = any_number(random, known);
  f.record.sequence = static_cast<uint32_t>(random());
  f.record.data_bytes = static_cast<uint32_t>(f.data.size());
  if (random() % 200 == 0) f.record.data_bytes = static_cast<uint32_t>(random());
  f.record.bytes = static_cast<uint32_t>(wire::round_up(sizeof f.record + f.data.size(), wire::kAlign));
  if (random() % 200 == 0) f.record.bytes = static_cast<uint32_t>(random());
  return f;
}

// What was staged is named by its size, or the protocol is broken.
void name_staged(Forged& f, uint64_t& staged, std::mt19937_64& random) {
  if (f.record.op == static_cast<uint16_t>(Op::stage)) staged += f.data.size();
  const bool makes = f.record.op == static_cast<uint16_t>(Op::make_graph) ||
                     f.record.op == static_cast<uint16_t>(Op::add_module);
  const bool updates = f.record.op == static_cast<uint16_t>(Op::update_graph);
  if ((!makes && !updates) || random() % 40 == 0) return;
  f.record.arguments[updates ? 1 : 0] = staged;
  staged = 0;
}

// Serves what a seed makes of calls until it breaks the protocol.
void serve_forged(unsigned seed) {
  std::mt19937_64 random(seed);
  Limits limits;
  limits.device_bytes = 64 << 20;
  limits.streams = limits.events = limits.graphs = 50;
  limits.graph_nodes = 200;
  Server server(emu::Emulated::instance(), shared(), limits);
  Writer writer(shared());
  std::vector<uint64_t> known;
  uint64_t staged = 0;
  try {
    for (int turn = 0; turn < 300; ++turn) {
      Forged f = forge(random, known);
      if (f.record.op == static_cast<uint16_t>(Op::stage) && random() % 2 == 0) {
        f.data = forge_graph(random, known);
        f.record.data_bytes = static_cast<uint32_t>(f.data.size());
        f.record.bytes = static_cast<uint32_t>(wire::round_up(sizeof f.record + f.data.size(), wire::kAlign));
      }
      name_staged(f, staged, random);
      writer.write(f.record, f.data);
      server.serve(4);
      if (f.record.slot < wire::kSlots) {
        const wire::Slot& slot = shared().slot(f.record.slot);
        if (slot.error == 0 && slot.values[0] != 0) known.push_back(slot.values[0]);
      }
      if (random() % 16 == 0) shared().control().tail.store(random());
      if (random() % 64 == 0) std::memset(shared().bulk(), static_cast<int>(random()), 4096);
    }
  } catch (const ProtocolError&) {
  }
  // What it owns is still known, and goes.
  shared().control().head.store(0);
  shared().control().tail.store(0);
}

TEST(Protocol, forged_records_never_crash_or_hang_the_server) {
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) signal(s, name_seed_and_end);
  // Mistakes of the host are told on stderr; here there are too many.
  g_stderr = dup(STDERR_FILENO);
  if (std::freopen("/dev/null", "w", stderr) == nullptr) FAIL();
  serve_forged(first_seed());
  const size_t before = open_descriptors();
  const auto begin = std::chrono::steady_clock::now();
  unsigned count = 0;
  for (unsigned seed = first_seed();
       std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(kSecondsEach);
       ++seed, ++count) {
    g_seed = seed;
    alarm(20);  // a hang
    serve_forged(seed);
  }
  alarm(0);
  std::fflush(stderr);
  dup2(g_stderr, STDERR_FILENO);
  close(g_stderr);
  g_stderr = STDERR_FILENO;
  EXPECT_LE(open_descriptors(), before + 1);
  std::printf("%u seeds from %u\n", count, first_seed());
}

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
    Server fresh(emu::Emulated::instance(), shared(), Limits{});
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
  Server server(emu::Emulated::instance(), shared(), Limits{});
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
    Server server(emu::Emulated::instance(), shared(), Limits{});
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
      Server server(emu::Emulated::instance(), shared(), Limits{});
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
  Server server(emu::Emulated::instance(), shared(), Limits{});
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
