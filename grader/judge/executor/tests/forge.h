// Calls as a hostile host process may make them: of the right shape, with numbers that are right, nearly
// right and wrong. For tests.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include "judge/executor/shared_memory.h"

namespace warpgrade::executor {

// As graphs are packed: each piece padded to 8 bytes.
template <class T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
  bytes.resize(wire::round_up(bytes.size(), 8));
}

struct Forged {
  wire::Record record;
  std::vector<uint8_t> data;
};

class Forger {
 public:
  // All is drawn from these numbers: a seed's, or what a fuzzer chose.
  using Numbers = std::function<uint64_t()>;
  explicit Forger(Numbers numbers) : random_(std::move(numbers)) {}
  explicit Forger(unsigned seed) : random_(std::mt19937_64(seed)) {}

  // Any call; what was staged before is named mostly, because all else ends the process.
  Forged call();
  // What the server answered.
  void learn(const Forged& f, const wire::Slot& slot);
  uint64_t number(uint64_t below) { return random_() % below; }

 private:
  struct Memory {
    uint64_t address = 0, bytes = 0;
  };

  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  uint64_t any_number();
  uint64_t stream() { return number(chance(4) ? 60 : 3); }
  Memory memory() { return memory_.empty() ? Memory{} : memory_[number(memory_.size())]; }
  // A place in memory that it has, and how much is there from it on.
  Memory place();
  uint64_t bytes_in(const Memory& m) {
    return chance(6) ? number(10'000) : m.bytes == 0 ? 0 : 1 + number(m.bytes);
  }
  void set(Forged& f, std::initializer_list<uint64_t> arguments) {
    std::copy(arguments.begin(), arguments.end(), f.record.arguments);
  }
  void fill_in(Forged& f);
  void fill_in_memory(Forged& f);
  void fill_in_rows(Forged& f);
  wire::Rows box();
  std::vector<uint64_t> launch_arguments();
  std::vector<uint8_t> graph();
  void damage(Forged& f);

  Numbers random_;
  std::vector<Memory> memory_;
  uint64_t staged_ = 0;
};

inline uint64_t Forger::any_number() {
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
  switch (random_() % 4) {
    case 0:
      return kEdges[random_() % std::size(kEdges)];
    case 1: {
      const Memory m = memory();
      return (chance(2) ? m.address : m.address + m.bytes) + random_() % 3 - 1;
    }
    case 2:
      return random_() % 64;
    default:
      return random_() >> random_() % 64;
  }
}

inline Forger::Memory Forger::place() {
  Memory m = memory();
  const uint64_t skip = m.bytes == 0 || chance(2) ? 0 : number(m.bytes);
  return {m.address + skip, m.bytes - skip};
}

inline wire::Rows Forger::box() {
  const Memory to = place(), from = place();
  wire::Rows rows;
  rows.width = 1 + number(64);
  rows.height = 1 + number(5);
  rows.depth = 1 + number(3);
  const auto side = [&](const Memory& m, uint64_t(&at)[3]) {
    at[0] = m.address;
    at[1] = rows.width + number(8);
    at[2] = rows.height + number(2);
  };
  side(to, rows.to);
  side(from, rows.from);
  return rows;
}

inline std::vector<uint64_t> Forger::launch_arguments() {
  const auto pack = [](uint64_t low, uint64_t high) { return low | high << 32; };
  return {pack(number(2), stream()),
          pack(1 + number(3), 1),
          pack(1, 32),
          pack(1, 1),
          pack(0, chance(8) ? 1 : 0),
          pack(16, 0)};
}

inline std::vector<uint8_t> Forger::graph() {
  std::vector<uint8_t> bytes;
  for (uint32_t k = 0, nodes = static_cast<uint32_t>(number(6)); k < nodes; ++k) {
    wire::GraphPart header;
    std::vector<uint8_t> work;
    header.kind = static_cast<uint32_t>(number(chance(60) ? 9u : unsigned{wire::GraphPart::kinds}));
    header.after = k == 0 || chance(2) ? 0 : 1;
    if (chance(100)) header.after = static_cast<uint32_t>(random_());
    if (header.kind == wire::GraphPart::rows) append(work, box());
    if (header.kind == wire::GraphPart::fill) {
      const Memory m = place();
      append(work, wire::Fill{m.address, 64, 7, 1, 1 + number(64), 1 + number(4)});
    }
    if (header.kind == wire::GraphPart::launch) {
      for (const uint64_t a : launch_arguments()) append(work, a);
      work.resize(work.size() + 16, 3);
    }
    if (chance(40)) work.resize(number(200), 1);
    header.work_bytes = static_cast<uint32_t>(work.size());
    append(bytes, header);
    if (header.after == 1) append(bytes, static_cast<uint32_t>(number(chance(20) ? k + 2 : k)));
    bytes.insert(bytes.end(), work.begin(), work.end());
    bytes.resize(wire::round_up(bytes.size(), 8));
  }
  if (chance(40)) bytes.resize(bytes.size() * number(100) / 100);
  return bytes;
}

inline void Forger::fill_in_rows(Forged& f) {
  using wire::Op;
  const wire::Rows rows = box();
  const auto op = static_cast<Op>(f.record.op);
  if (op == Op::copy_rows) {
    set(f, {stream()});
    f.data.clear();
    append(f.data, rows);
    return;
  }
  set(f, {rows.to[0], rows.to[1], rows.width, rows.height, stream()});
  if (op == Op::copy_in_rows) f.data.assign(rows.width * rows.height, 5);
}

inline void Forger::fill_in_memory(Forged& f) {
  using wire::Op;
  const Memory to = place(), from = place();
  switch (static_cast<Op>(f.record.op)) {
    case Op::allocate:
      return set(f, {number(3), 1 + number(chance(8) ? 1 << 22 : 20'000)});
    case Op::allocate_async:
      return set(f, {1 + number(20'000), stream()});
    case Op::release:
      return set(f, {memory().address, chance(3) ? number(16) : 7});
    case Op::release_async:
      return set(f, {memory().address, stream()});
    case Op::register_host:  // where nothing lies, mostly
      return set(f, {(uint64_t{0x5a00'0000'0000} + number(64) * wire::kPage), (1 + number(4)) * wire::kPage});
    case Op::unregister_host:
      return set(f, {uint64_t{0x5a00'0000'0000} + number(64) * wire::kPage});
    case Op::give_window:
      return set(f, {wire::kWindowAddress + number(64) * wire::kPage});
    case Op::copy_in:
      f.data.assign(std::min<uint64_t>(bytes_in(to), 100'000), 9);
      return set(f, {to.address, stream()});
    case Op::copy_in_bulk:
    case Op::copy_out:
    case Op::copy_out_bulk:
      return set(f, {to.address, bytes_in(to), stream()});
    case Op::copy_device:
      return set(f, {to.address, from.address, std::min(bytes_in(to), bytes_in(from)), stream()});
    case Op::create_image: {
      cudart::Image image;
      image.address = to.address;
      image.pitch = number(chance(8) ? 1 << 20 : 64);
      image.slice = number(chance(8) ? 1 << 20 : 256);
      image.shape = static_cast<cudart::ImageShape>(number(9));
      image.width = static_cast<uint32_t>(chance(8) ? any_number() : number(20));
      image.height = static_cast<uint32_t>(chance(8) ? any_number() : 1 + number(3));
      image.depth = static_cast<uint32_t>(chance(8) ? any_number() : 1 + number(3));
      image.kind = static_cast<cudart::ChannelKind>(number(4));
      image.channels = static_cast<uint32_t>(number(5));
      image.channel_bits = static_cast<uint32_t>(8 * number(5));
      image.is_array = static_cast<uint32_t>(number(2));
      image.is_surface = static_cast<uint32_t>(number(2));
      f.data.resize(sizeof image);
      std::memcpy(f.data.data(), &image, sizeof image);
      return set(f, {});
    }
    case Op::destroy_image:
      return set(f, {(1 + number(4)) << 16 | number(8), number(2)});
    case Op::fill:
      return set(f, {to.address, 64, 3 | uint64_t{1} << 32, 1 + number(64), 1 + number(4), stream()});
    default:
      return fill_in_rows(f);
  }
}

inline void Forger::fill_in(Forged& f) {
  using wire::Op;
  switch (static_cast<Op>(f.record.op)) {
    case Op::stage:
      f.data = graph();
      return;
    case Op::add_module:
    case Op::make_graph:
      return set(f, {staged_});
    case Op::update_graph:
      return set(f, {number(3), staged_});
    case Op::upload_graph:
    case Op::launch_graph:
      return set(f, {number(chance(6) ? 60 : 4), stream()});
    case Op::launch: {
      const auto a = launch_arguments();
      f.data.assign(16, 4);
      return set(f, {a[0], a[1], a[2], a[3], a[4], a[5]});
    }
    case Op::active_clusters:
    case Op::largest_cluster: {
      const auto a = launch_arguments();
      f.data.clear();
      return set(f, {a[0], a[1], a[2], a[3], a[4], 0});
    }
    case Op::create_stream:
    case Op::create_event:
      return set(f, {number(2), 0});
    case Op::record_event:
    case Op::elapsed:
      return set(f, {number(4), stream()});
    case Op::wait_event:
      return set(f, {stream(), number(4)});
    case Op::find_variable:
    case Op::find_kernel:
    case Op::set_attribute:
    case Op::occupancy:
    case Op::available_shared:
    case Op::destroy_stream:
    case Op::synchronize_stream:
    case Op::query_stream:
    case Op::destroy_event:
    case Op::synchronize_event:
    case Op::query_event:
    case Op::destroy_graph:
    case Op::set_limit:
    case Op::get_limit:
      return set(f, {number(4), number(9), number(2000), 0});
    default:
      return fill_in_memory(f);
  }
}

// One number, or the frame.
inline void Forger::damage(Forged& f) {
  const auto op = static_cast<wire::Op>(f.record.op);
  const bool names_staged =
      op == wire::Op::add_module || op == wire::Op::make_graph || op == wire::Op::update_graph;
  if (chance(names_staged ? 100 : 3)) f.record.arguments[number(wire::kMostArguments)] = any_number();
  if (chance(1500)) f.record.op = static_cast<uint16_t>(random_());
  if (chance(2000)) f.record.slot = static_cast<uint16_t>(random_());
  if (chance(3000)) f.record.data_bytes = static_cast<uint32_t>(random_());
  if (chance(3000)) f.record.bytes = static_cast<uint32_t>(random_());
}

inline Forged Forger::call() {
  Forged f;
  f.record.op = static_cast<uint16_t>(1 + number(wire::kOpCount - 1));
  if (memory_.size() < 3 && chance(3)) f.record.op = static_cast<uint16_t>(wire::Op::allocate);
  if (chance(6)) f.record.op = static_cast<uint16_t>(chance(2) ? wire::Op::launch : wire::Op::launch_graph);
  const wire::OpFacts& facts = wire::kOps[f.record.op];
  f.record.slot = static_cast<uint16_t>(facts.posts && chance(4) ? wire::kNoSlot : number(wire::kSlots));
  if (facts.data != wire::Data::none) {
    f.data.resize(chance(8) ? number(70'000) : number(300));
    const bool is_name = facts.data == wire::Data::name;
    std::minstd_rand bytes(static_cast<unsigned>(random_()));
    for (size_t k = 0; k < f.data.size(); ++k) {
      const bool is_new = k < 200;  // the rest repeats
      f.data[k] = !is_new   ? f.data[k - 200]
                  : is_name ? static_cast<uint8_t>('a' + bytes() % 26)
                            : static_cast<uint8_t>(bytes() >> 8);
    }
    if (is_name && f.data.size() > wire::kMostName && !chance(200)) f.data.resize(10);
  }
  if (!chance(12)) fill_in(f);
  if (facts.data == wire::Data::none) f.data.clear();
  f.record.sequence = static_cast<uint32_t>(random_());
  f.record.data_bytes = static_cast<uint32_t>(f.data.size());
  f.record.bytes = static_cast<uint32_t>(wire::round_up(sizeof f.record + f.data.size(), wire::kAlign));
  if (facts.data == wire::Data::bytes && f.record.op == static_cast<uint16_t>(wire::Op::stage))
    staged_ += f.data.size();
  const auto op = static_cast<wire::Op>(f.record.op);
  if (op == wire::Op::add_module || op == wire::Op::make_graph || op == wire::Op::update_graph) staged_ = 0;
  damage(f);
  return f;
}

inline void Forger::learn(const Forged& f, const wire::Slot& slot) {
  if (slot.error != 0) return;
  const auto op = static_cast<wire::Op>(f.record.op);
  if (op == wire::Op::allocate) memory_.push_back({slot.values[0], f.record.arguments[1]});
  if (op == wire::Op::register_host) memory_.push_back({f.record.arguments[0], f.record.arguments[1]});
  if (op == wire::Op::allocate_async) memory_.push_back({slot.values[0], f.record.arguments[0]});
  // What is freed stays known: it is used again, which must be refused.
  if (memory_.size() > 40) memory_.erase(memory_.begin(), memory_.begin() + 20);
}

}  // namespace warpgrade::executor
