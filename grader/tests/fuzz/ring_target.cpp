// The executor's server over the emulator: calls as a hostile host process makes them, in a ring and slots
// that a second thread changes while the server reads them.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/emulated.h"
#include "judge/executor/server.h"
#include "judge/executor/tests/forge.h"
#include "judge/executor/tests/ring_writer.h"
#include "support.h"
#include "targets.h"

namespace warpgrade::fuzz {
namespace {

using namespace executor;

// The input as numbers: two bytes each, spread over 64 bits, so that small ones and large ones are both near.
class Numbers {
 public:
  explicit Numbers(std::string_view input) : left_(input) {}
  bool ended() const { return left_.size() < 2; }
  uint64_t next() {
    if (ended()) return 1;
    const uint64_t low = static_cast<unsigned char>(left_[0]) | static_cast<unsigned char>(left_[1]) << 8;
    left_.remove_prefix(2);
    return low | (low * 0x9e37'79b9'7f4a'7c15 & ~uint64_t{0xffff});
  }

 private:
  std::string_view left_;
};

// Writes other values into the calls' memory, and back, beside whoever reads it.
class Vandal {
 public:
  struct Poke {
    size_t at = 0;  // of eight bytes in the calls' memory
    uint64_t value = 0;
  };
  Vandal() : thread_([this] { run(); }) { thread_.detach(); }

  void set(std::vector<Poke> pokes) {
    std::unique_lock lock(mutex_);
    const bool begins = !pokes.empty();
    pokes_ = std::move(pokes);
    changed_.notify_all();
    if (begins) changed_.wait(lock, [this] { return is_busy_; });  // asleep, so that it gets the processor
  }
  // From then on nothing changes any more.
  void rest() {
    set({});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_busy_; });
  }

 private:
  static constexpr int kRounds = 200;

  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      is_busy_ = !pokes_.empty();
      changed_.notify_all();
      changed_.wait(lock, [this] { return !pokes_.empty(); });
      is_busy_ = true;
      changed_.notify_all();
      std::vector<Poke> pokes = pokes_;
      lock.unlock();
      for (int round = 0; round < kRounds; ++round) poke(pokes);
    }
  }
  static void poke(std::vector<Poke>& pokes) {
    for (Poke& p : pokes) {
      auto* word = reinterpret_cast<uint64_t*>(shared().calls() + p.at);
      p.value = __atomic_exchange_n(word, p.value, __ATOMIC_RELAXED);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Poke> pokes_;
  bool is_busy_ = false;
  std::thread thread_;  // the last one: it uses the others
};

// Mostly in the headers of the records that were just written; else in their data, the slots and the
// ring's own numbers.
Vandal::Poke poke_of(Numbers& numbers, const std::vector<uint64_t>& records) {
  const uint64_t where = numbers.next(), value = numbers.next();
  const uint64_t record = records[where / 64 % records.size()], field = where / 8 % 8;
  size_t at = wire::kRingOffset + (record + 8 * field) % wire::kRingBytes;
  if (where % 8 == 1) at = wire::kSlotsOffset + where / 8 % (wire::kSlots * wire::kSlotBytes);
  if (where % 8 == 2) at = offsetof(wire::Control, head) + where / 8 % 128;
  if (where % 8 == 3) at = wire::kRingOffset + (record + where / 8) % (wire::kRingBytes - 8);
  return {at / 8 * 8, value % 2 == 0 ? value : value % 1024};
}

constexpr uint64_t kOutputBytes = 4096;

class Bounded final : public emu::Emulated {
 public:
  cudaError_t launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) override {
    uint64_t blocks = 1;
    for (const uint32_t extent : call.grid) blocks *= std::min<uint64_t>(extent, kMostBlocks + 1);
    if (blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
    return Emulated::launch(call, parameters);
  }
  void remove_module(cudart::ModuleId module) override { unload(module); }

 private:
  static constexpr uint64_t kMostBlocks = 64;
};

// Device code that the submission's calls can name: kernel 0 writes where its argument says, and into
// a variable.
constexpr std::string_view kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .b8 g[64];\n"
    ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [a];\n"
    "mov.u64 %rd2, g;\nst.global.u64 [%rd2], %rd1;\n"
    "st.global.u64 [%rd1], %rd2;\nret;\n}\n";

std::vector<uint8_t> fat_binary_of(std::string_view ptx) {
  std::vector<uint8_t> bytes(16 + 64);
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, uint32_t{0xba55ed50});
  put(6, uint16_t{16});
  put(8, uint64_t{64 + ptx.size()});
  put(16, uint16_t{1});
  put(20, uint32_t{64});
  put(24, uint64_t{ptx.size()});
  put(44, uint32_t{80});
  bytes.insert(bytes.end(), ptx.begin(), ptx.end());
  return bytes;
}

void load_code(CallServer& server, Writer& writer) {
  static const std::vector<uint8_t> code = fat_binary_of(kPtx);
  const auto name = [](std::string_view text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  writer.write(wire::Op::stage, {}, 0, code);
  writer.write(wire::Op::add_module, {code.size()}, 0);
  writer.write(wire::Op::find_kernel, {0}, 0, name("k"));
  writer.write(wire::Op::find_variable, {0}, 0, name("g"));
  writer.write(wire::Op::allocate, {0, 4096}, 0);
  writer.write(wire::Op::create_stream, {0, 0}, 0);
  writer.write(wire::Op::create_event, {0}, 0);
  server.serve(16);
  expect(shared().slot(0).error == 0, "the first calls of an honest program are refused");
}

// An output of the judge's, whose address the host process was told.
uint64_t lend_output(cudart::Backend& backend, CallServer& server, Forger& forger) {
  uint64_t address = 0;
  expect(backend.allocate(cudart::MemoryKind::device, kOutputBytes, address) == cudaSuccess, "no memory");
  server.lend(address, kOutputBytes, true);
  static wire::Slot told;
  told.values[0] = address;
  Forged lent;
  lent.record.op = static_cast<uint16_t>(wire::Op::allocate);
  lent.record.arguments[1] = kOutputBytes;
  forger.learn(lent, told);
  return address;
}

void serve(Numbers& numbers, CallServer& server, Writer& writer, Forger& forger) {
  static Vandal* const vandal = new Vandal;
  struct Resting {
    ~Resting() { vandal->rest(); }
  } resting;
  for (int turn = 0; turn < 100 && !numbers.ended(); ++turn) {
    std::vector<uint64_t> records;
    std::vector<Forged> batch(1 + numbers.next() % 6);
    for (Forged& forged : batch) {
      forged = forger.call();
      records.push_back(shared().control().head.load());
      writer.write(forged.record, forged.data);
    }
    std::vector<Vandal::Poke> pokes(numbers.next() % 8 < 5 ? 0 : 1 + numbers.next() % 4);
    for (auto& poke : pokes) poke = poke_of(numbers, records);
    vandal->set(std::move(pokes));
    server.serve(batch.size() + 1);
    for (const Forged& forged : batch)
      if (forged.record.slot < wire::kSlots) forger.learn(forged, shared().slot(forged.record.slot));
    server.take_places();
    server.take_result();
  }
}

}  // namespace

void ring(std::string_view input) {
  Numbers numbers(input);
  Limits limits;
  limits.device_bytes = 64 << 20;
  limits.streams = limits.events = limits.graphs = 50;
  limits.graph_nodes = 200;
  limits.reports = 20;
  Bounded backend;
  {
    CallServer server(backend, shared(), limits);
    Writer writer(shared());
    Forger forger([&] { return numbers.next(); });
    load_code(server, writer);
    const uint64_t output = lend_output(backend, server, forger);
    server.writers().begin_run(static_cast<uint8_t>(numbers.next()));
    try {
      serve(numbers, server, writer, forger);
    } catch (const ProtocolError& error) {
      expect_readable(error.what());
    }
    server.written();
    server.take_back(output);
    expect(backend.release_async(output, 0) == cudaSuccess, "the submission has freed what was lent to it");
    expect(server.reports().size() <= limits.reports, "more reports than the limit");
    expect(server.allocated_bytes() <= limits.device_bytes, "more memory than the limit");
  }
  shared().control().head.store(0);
  shared().control().tail.store(0);
}

}  // namespace warpgrade::fuzz
