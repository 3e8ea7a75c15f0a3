// Forged calls: nothing that stands in the shared memory crashes the server, hangs it, or makes it hand its
// backend memory that is not the submission's. Against the interpreter, which touches the memory, and against
// a device that looks at every range.
//   EXECUTOR_FUZZ_SEED=n  the first seed (default 1); a failure prints its own
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backend/emulated.h"
#include "judge/executor/server.h"
#include "judge/executor/tests/forge.h"
#include "judge/executor/tests/null_backend.h"
#include "judge/executor/tests/ring_writer.h"

namespace warpgrade::executor {
namespace {

using cudart::Fill;
using cudart::GraphPart;
using cudart::RowsCopy;
using cudart::StreamId;

constexpr double kSecondsEach = 1.5;

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

// Knows what it gave, and counts what it is asked to touch beyond that.
class Watching : public NullBackend {
 public:
  unsigned violations = 0;
  unsigned done[6] = {};  // copies, boxes, fills, graphs launched, kernels, questions about clusters

  cudaError_t allocate(cudart::MemoryKind kind, uint64_t bytes, uint64_t& address) override {
    NullBackend::allocate(kind, bytes, address);
    given_[address] = address + bytes;
    return cudaSuccess;
  }
  cudaError_t release(uint64_t address, std::span<const cudart::MemoryKind>, const char*) override {
    violations += given_.erase(address) != 1;
    return cudaSuccess;
  }
  cudaError_t release_async(uint64_t address, StreamId) override {
    violations += given_.erase(address) != 1;
    return cudaSuccess;
  }
  cudaError_t register_host(void* pointer, uint64_t bytes) override {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    given_[address] = address + bytes;
    return cudaSuccess;
  }
  cudaError_t unregister_host(void* pointer) override {
    violations += given_.erase(reinterpret_cast<uint64_t>(pointer)) != 1;
    return cudaSuccess;
  }
  cudaError_t copy(void* to, const void* from, uint64_t bytes, StreamId, bool) override {
    ++done[0];
    look(reinterpret_cast<uint64_t>(to), bytes, true);
    look(reinterpret_cast<uint64_t>(from), bytes, true);
    return cudaSuccess;
  }
  cudaError_t copy_rows(const RowsCopy& rows, StreamId, bool) override {
    ++done[1];
    look_at(rows, true);
    return cudaSuccess;
  }
  cudaError_t fill(const Fill& f, StreamId) override {
    ++done[2];
    look_at(f);
    return cudaSuccess;
  }
  cudaError_t launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) override {
    ++done[4];
    violations += parameters.size() != 16 || call.kernel != 0;
    return cudaSuccess;
  }

  cudaError_t active_clusters(const cudart::LaunchCall& call, int& clusters) override {
    ++done[5];
    const uint64_t threads = uint64_t{call.block[0]} * call.block[1] * call.block[2];
    violations += call.kernel != 0 || threads == 0 || threads > 1024;
    return NullBackend::active_clusters(call, clusters);
  }

  bool has_graphs() const override { return true; }
  cudaError_t create_graph(std::span<const GraphPart> parts, cudart::GraphId& graph) override {
    graph = static_cast<cudart::GraphId>(graphs_.size());
    graphs_.emplace_back(parts.begin(), parts.end());
    for (size_t k = 0; k < parts.size(); ++k) {
      for (const uint32_t d : parts[k].after) violations += d >= k;
    }
    return cudaSuccess;
  }
  cudaError_t update_graph(cudart::GraphId graph, std::span<const GraphPart> parts) override {
    if (graphs_.at(graph).size() != parts.size()) ++violations;
    graphs_.at(graph).assign(parts.begin(), parts.end());
    return cudaSuccess;
  }
  cudaError_t launch_graph(cudart::GraphId graph, StreamId) override {
    ++done[3];
    for (const GraphPart& part : graphs_.at(graph)) {
      if (const auto* rows = std::get_if<RowsCopy>(&part.work)) look_at(*rows, false);
      if (const auto* f = std::get_if<Fill>(&part.work)) look_at(*f);
    }
    return cudaSuccess;
  }

 private:
  // `may_be_ours`: one side of a copy may be the call's record, its slot or the bulk area.
  void look(uint64_t address, uint64_t bytes, bool may_be_ours) {
    const auto after = given_.upper_bound(address);
    if (after != given_.begin() && bytes <= std::prev(after)->second - address &&
        address <= std::prev(after)->second)
      return;
    const auto calls = reinterpret_cast<uint64_t>(shared().calls());
    const bool is_calls = address >= calls && address + bytes <= calls + wire::kCallBytes;
    // The record was copied to memory of the server's: no device address, and no more than a record.
    const bool is_record = bytes <= wire::kMostRecord && address < (uint64_t{1} << 47) && address != 0 &&
                           (address >> 40 != 0x70) && address - wire::kWindowAddress >= wire::kWindowBytes;
    violations += !(may_be_ours && (is_calls || is_record));
  }
  void look_at(const RowsCopy& r, bool may_be_ours) {
    for (const RowsCopy::Side* side : {&r.to, &r.from}) {
      for (const uint64_t z : {uint64_t{0}, r.depth - 1}) {
        for (const uint64_t y : {uint64_t{0}, r.height - 1}) look(side->row(y, z), r.width, may_be_ours);
      }
    }
  }
  void look_at(const Fill& f) {
    look(f.address, f.width * f.element_bytes, false);
    look(f.address + (f.height - 1) * f.pitch, f.width * f.element_bytes, false);
  }

  std::map<uint64_t, uint64_t> given_;
  std::vector<std::vector<GraphPart>> graphs_;
};

// Serves what a seed makes of calls until it breaks the protocol.
void serve_forged(unsigned seed, cudart::Backend& backend) {
  Forger forger(seed);
  Limits limits;
  limits.device_bytes = 64 << 20;
  limits.streams = limits.events = limits.graphs = 50;
  limits.graph_nodes = 200;
  CallServer server(backend, shared(), limits);
  Writer writer(shared());
  try {
    for (int turn = 0; turn < 400; ++turn) {
      const Forged f = forger.call();
      writer.write(f.record, f.data);
      server.serve(4);
      if (f.record.slot < wire::kSlots) forger.learn(f, shared().slot(f.record.slot));
      if (forger.number(16) == 0) shared().control().tail.store(forger.number(~uint64_t{0}));
      if (forger.number(64) == 0) std::memset(shared().bulk(), static_cast<int>(seed), 4096);
    }
  } catch (const ProtocolError&) {
  }
  // What it owns is still known, and goes.
  shared().control().head.store(0);
  shared().control().tail.store(0);
}

// Seed after seed, for a while; mistakes of the host are told on stderr, and here there are too many.
unsigned serve_many(const std::function<void(unsigned)>& serve) {
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) signal(s, name_seed_and_end);
  std::fflush(stderr);
  g_stderr = dup(STDERR_FILENO);
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 0;
  const auto begin = std::chrono::steady_clock::now();
  unsigned count = 0;
  for (unsigned seed = first_seed();
       std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(kSecondsEach);
       ++seed, ++count) {
    g_seed = seed;
    alarm(20);  // a hang
    serve(seed);
  }
  alarm(0);
  std::fflush(stderr);
  dup2(g_stderr, STDERR_FILENO);
  close(g_stderr);
  g_stderr = STDERR_FILENO;
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) signal(s, SIG_DFL);
  std::printf("%u seeds from %u\n", count, first_seed());
  return count;
}

TEST(Forged, calls_never_crash_or_hang_the_server) {
  serve_forged(first_seed(), emu::Emulated::instance());
  const size_t before = open_descriptors();
  EXPECT_GT(serve_many([](unsigned seed) { serve_forged(seed, emu::Emulated::instance()); }), 0u);
  EXPECT_LE(open_descriptors(), before + 1);
}

TEST(Forged, calls_reach_no_memory_but_the_submissions) {
  unsigned done[6] = {}, first_bad = 0;
  serve_many([&](unsigned seed) {
    Watching device;
    serve_forged(seed, device);
    for (size_t k = 0; k < std::size(done); ++k) done[k] += device.done[k];
    if (device.violations != 0 && first_bad == 0) first_bad = seed;
  });
  EXPECT_EQ(first_bad, 0u) << "EXECUTOR_FUZZ_SEED=" << first_bad;
  // Forging that reaches nothing shows nothing.
  for (const unsigned count : done) EXPECT_GT(count, 100u);
  std::printf("%u copies, %u boxes, %u fills, %u graphs, %u kernels, %u questions about clusters\n", done[0],
              done[1], done[2], done[3], done[4], done[5]);
}

}  // namespace
}  // namespace warpgrade::executor
