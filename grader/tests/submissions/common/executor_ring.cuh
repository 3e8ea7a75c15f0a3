// The shared memory between a host process and its executor (grader/judge/executor/wire.h), as an attack finds and writes
// it from inside the submission. The only file of the corpus that knows it: what an attack does with it stands in
// its own source. ../../test_attacks.py compares the numbers of the calls with wire.h.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace ring {

constexpr uint64_t kMagic = 0x5857454743524150;
constexpr uint32_t kVersion = 2;
constexpr size_t kRingOffset = 64 << 10, kRingBytes = 4 << 20;
constexpr size_t kSlotsOffset = kRingOffset + kRingBytes, kSlots = 32, kSlotBytes = 64 << 10;
constexpr size_t kBulkOffset = kSlotsOffset + kSlots * kSlotBytes, kBulkBytes = 8 << 20;
constexpr uint64_t kWindowAddress = 0x6f0000000000;
constexpr uint16_t kNoSlot = 0xffff;

enum Call : uint16_t {
  kPad = 0,
  kPing = 1,
  kReport = 2,
  kPlace = 3,
  kLaunch = 13,
  kCopyOut = 22,
  kFill = 25,
  kQueryStream = 34,
  kCommandDone = 59,
};
enum HostCommand : uint32_t { kEnd = 0, kReady, kAttach, kDetach, kPlan, kRun, kFree, kReportPlaces };

struct Record {
  uint32_t bytes = 0;
  uint16_t op = 0, slot = kNoSlot;
  uint32_t sequence = 0, data_bytes = 0;
  uint64_t arguments[6] = {};
};
struct Slot {
  std::atomic<uint32_t> done, sleeps;
  int32_t error;
  uint32_t data_bytes;
  uint64_t values[4];
  uint32_t wants_place;
  uint8_t unused[12];
  uint8_t data[kSlotBytes - 64];
};
struct Command {
  uint32_t number, unused;
  uint64_t arguments[16];
};
struct Control {
  uint64_t magic;
  uint32_t version, spins;
  char device_name[256];
  uint8_t uuid[16];
  uint64_t device_bytes;
  int32_t driver_version, least_priority, greatest_priority;
  int32_t attributes[256];
  uint64_t device_begin, device_end;
  uint32_t is_interpreted;
  alignas(64) std::atomic<uint64_t> head;
  alignas(64) std::atomic<uint64_t> tail;
  alignas(64) std::atomic<uint32_t> executor_sleeps;
  alignas(64) std::atomic<int32_t> sticky;
  std::atomic<int32_t> late_error;
  alignas(64) std::atomic<uint32_t> command_sequence;
  std::atomic<uint32_t> host_sleeps;
  Command command;
};

// Where the calls' memory lies in this process. An attack that does not find it would be harmless: it says so.
inline uint8_t* memory() {
  static uint8_t* const found = [] {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[1024];
    unsigned long long begin = 0;
    for (bool is_it = false; maps != nullptr && !is_it && fgets(line, sizeof line, maps) != nullptr;) {
      is_it = strstr(line, "/memfd:warpgrade-calls") != nullptr;
      begin = is_it ? strtoull(line, nullptr, 16) : 0;
    }
    if (maps != nullptr) fclose(maps);
    auto* control = (Control*)begin;
    if (control == nullptr || control->magic != kMagic || control->version != kVersion) {
      fprintf(stderr, "the attack does not find the calls' memory, or it has another layout\n");
      _exit(99);
    }
    return (uint8_t*)begin;
  }();
  return found;
}
inline Control& control() { return *(Control*)memory(); }
inline Slot& slot(size_t k) { return *(Slot*)(memory() + kSlotsOffset + k * kSlotBytes); }
inline uint8_t* at(uint64_t position) { return memory() + kRingOffset + position % kRingBytes; }
inline bool on_emulator() { return control().is_interpreted != 0; }

// The descriptors of both memories, as long as the library keeps them open.
inline std::vector<int> descriptors() {
  std::vector<int> found;
  for (int fd = 3; fd < 256; ++fd) {
    char link[64], path[256] = {};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "memfd:warpgrade-") != nullptr)
      found.push_back(fd);
  }
  return found;
}

// One record behind the last. False when the ring stays full for a second. Not safe beside calls of the
// library in other threads: that is their attack.
inline bool append(Record record, const void* data = nullptr, size_t bytes = 0) {
  Control& c = control();
  const size_t all = (sizeof record + bytes + 15) / 16 * 16;
  uint64_t head = c.head.load();
  const size_t left = kRingBytes - head % kRingBytes;
  const size_t need = left < all ? left + all : all;
  for (int turn = 0; head + need - c.tail.load() > kRingBytes; ++turn) {
    if (turn == 10000) return false;
    usleep(100);
  }
  if (left < all) {
    Record pad;
    pad.bytes = (uint32_t)left;
    memcpy(at(head), &pad, left < 16 ? left : 16);
    head += left;
  }
  record.bytes = (uint32_t)all;
  record.data_bytes = (uint32_t)bytes;
  memcpy(at(head), &record, sizeof record);
  if (bytes > 0) memcpy(at(head) + sizeof record, data, bytes);
  c.head.store(head + all);  // an executor that sleeps looks again after 2 ms
  return true;
}
inline bool append(Call op, std::initializer_list<uint64_t> arguments = {}, const void* data = nullptr,
                   size_t bytes = 0) {
  Record record;
  record.op = op;
  size_t k = 0;
  for (const uint64_t argument : arguments) record.arguments[k++] = argument;
  return append(record, data, bytes);
}
inline bool append_text(Call op, std::initializer_list<uint64_t> arguments, const std::vector<char>& text) {
  return append(op, arguments, text.data(), text.size());
}

// "The command is done": `returned` is the error code of the submission's function.
inline bool say_done(uint32_t returned = 0, bool threw = false, const char* words = "") {
  return append(kCommandDone, {(uint64_t)(returned & 0xffff) << 8 | (threw ? 1u : 0u)}, words, strlen(words));
}

// A call that waits for its answer, in the last slot, which the library takes when 31 threads wait. Its error,
// or -1 when no answer comes for a second.
inline int ask(Call op, std::initializer_list<uint64_t> arguments) {
  static uint32_t sequence = 0x40000000;
  Record record;
  record.op = op;
  record.slot = kSlots - 1;
  record.sequence = ++sequence;
  size_t k = 0;
  for (const uint64_t argument : arguments) record.arguments[k++] = argument;
  Slot& mine = slot(kSlots - 1);
  if (!append(record)) return -1;
  for (int turn = 0; mine.done.load() != record.sequence; ++turn) {
    if (turn == 10000) return -1;
    usleep(100);
  }
  return mine.error;
}

// The last launch that was written to the ring since `position`: it can be sent again, at any time.
struct Launch {
  Record record;
  std::vector<uint8_t> data;
  bool send() const { return append(record, data.data(), data.size()); }
  explicit operator bool() const { return !data.empty(); }
};
inline Launch last_launch(uint64_t position) {
  Launch found;
  const uint64_t head = control().head.load();
  for (Record r; position < head; position += r.bytes) {
    memcpy(&r, at(position), 16);
    if (r.bytes < 16) break;
    if (r.op != kLaunch) continue;
    memcpy(&r, at(position), sizeof r);
    found.data.assign(at(position) + sizeof r, at(position) + sizeof r + r.data_bytes);
    found.record = r;
    found.record.slot = kNoSlot;
  }
  return found;
}

// The next command, without the library, which sees it as well. By looking: calls to wait by are refused before a
// submission is compiled. False when none comes for 20 s.
inline uint32_t seen_command = 0;
inline void start_commands() { seen_command = control().command_sequence.load(); }
inline bool next_command(Command* command) {
  for (int turn = 0; control().command_sequence.load() == seen_command; ++turn) {
    if (turn == 200000) return false;
    usleep(100);
  }
  seen_command = control().command_sequence.load();
  memcpy((void*)command, (const void*)&control().command, sizeof *command);
  return true;
}

}  // namespace ring
