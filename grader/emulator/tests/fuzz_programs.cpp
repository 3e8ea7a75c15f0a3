// Seeded mutations of the test programs' own fat binaries and PTX, through the loader, the lexer, the parser
// and the program builder: whatever stands there is built or refused by name, and never ends the process.
//   WARPEMU_FUZZ_SEED=n  the first seed (default 1); a failure prints its own, which repeats it alone
//   as first
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "loader/fatbin.h"
#include "program/build.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

constexpr double kSecondsEach = 3;
constexpr unsigned kSecondsOfOne = 10;      // for one input; a healthy one takes milliseconds
constexpr size_t kLargestText = 120 << 10;  // larger PTX takes too long for thousands of turns
constexpr size_t kEntryHeader = 64, kContainerHeader = 16;

std::atomic<unsigned> g_seed{0};

// The process is lost, but its seed is not.
void name_seed_and_end(int signal) {
  char text[96];
  const int n =
      std::snprintf(text, sizeof text, "signal %d with WARPEMU_FUZZ_SEED=%u\n", signal, g_seed.load());
  if (write(STDERR_FILENO, text, static_cast<size_t>(n)) < 0) _exit(2);
  _exit(1);
}

unsigned first_seed() {
  const char* text = std::getenv("WARPEMU_FUZZ_SEED");
  return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

// The containers with PTX in the programs that nvcc built for the other tests.
std::vector<std::string> containers() {
  std::vector<std::string> found;
  const std::string magic("\x50\xed\x55\xba", 4);
  for (const auto& entry : std::filesystem::directory_iterator(WARPEMU_PROGRAM_DIR)) {
    if (entry.path().has_extension()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (size_t at = bytes.find(magic); at != bytes.npos; at = bytes.find(magic, at + 1)) {
      uint64_t entries = 0;
      if (at + kContainerHeader > bytes.size()) break;
      std::memcpy(&entries, bytes.data() + at + 8, sizeof entries);
      if (entries < kEntryHeader || entries > bytes.size() - at - kContainerHeader) continue;
      found.push_back(bytes.substr(at, kContainerHeader + entries));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Bytes that end where the next page cannot be read.
class GuardedCopy {
 public:
  explicit GuardedCopy(const std::string& bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t pages = (bytes.size() + page - 1) / page * page;
    mapped_ = pages + page;
    base_ = static_cast<uint8_t*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + pages, page, PROT_NONE);
    data = base_ + pages - bytes.size();
    std::memcpy(data, bytes.data(), bytes.size());
  }
  ~GuardedCopy() { munmap(base_, mapped_); }
  GuardedCopy(const GuardedCopy&) = delete;
  uint8_t* data;

 private:
  uint8_t* base_;
  size_t mapped_;
};

FatbinPtx read(const uint8_t* container) {
  const struct {
    uint32_t magic, version;
    const uint8_t* container;
    const uint8_t* const* more;
  } wrapper{0x466243b1, 1, container, nullptr};
  return ptx_of_fatbin(&wrapper, 80);
}

class Mutation {
 public:
  explicit Mutation(unsigned seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // A few changes of whole words, for words are what the parser sees.
  std::string of_text(const std::string& text) {
    std::vector<std::string> words = split(text);
    for (size_t changes = 1 + below(4); changes > 0 && !words.empty(); --changes) change(words);
    std::string result;
    for (const std::string& w : words) result += w;
    if (below(8) == 0) result.resize(below(result.size() + 1));
    if (below(4) == 0 && !result.empty()) result[below(result.size())] = static_cast<char>(below(256));
    return result;
  }

 private:
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> words;
    const char* const kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.";
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::max(at + 1, std::min(text.find_first_not_of(kWord, at), text.size()));
      words.push_back(text.substr(at, end - at));
      at = end;
    }
    return words;
  }

  void change(std::vector<std::string>& words) {
    static const char* const kSpecial[] = {
        "{",       "}",      "(",    ")",     "[",  "]",      ";",
        ",",       "+",      "-",    "!",     "@",  "|",      ":",
        "\"",      "_",      ".reg", "0",     "-1", ".b64",   "0xffffffffffffffff",
        "%r1",     "bra",    "=",    "call",  ".",  ".param", "%tid.x",
        "brx.idx", "1e999.", "<",    ".align"};
    const size_t at = below(words.size());
    switch (below(5)) {
      case 0:
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        words[at] = kSpecial[below(std::size(kSpecial))];
        break;
      case 2:
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), kSpecial[below(std::size(kSpecial))]);
        break;
      case 3:
        words[at] = words[below(words.size())];
        break;
      default:
        std::swap(words[at], words[std::min(words.size() - 1, at + 1 + below(6))]);
    }
  }

  std::mt19937 random_;
};

void build_all(const std::string& text) {
  try {
    const auto module = parse_module(text);
    SymbolTable addresses;
    for (const auto& [name, variable] : module->variables) {
      if (variable.space != Space::shared) addresses[name] = 0x1000;
    }
    std::vector<std::string> kernels;
    for (const auto& [name, function] : module->functions) {
      if (function.is_entry) kernels.emplace_back(name);
    }
    for (const std::string& kernel : kernels) {
      try {
        build_program(*module, kernel, addresses);
      } catch (const BuildError& refusal) {
        EXPECT_STRNE(refusal.what(), "");
      }
    }
  } catch (const PtxError& refusal) {
    EXPECT_STRNE(refusal.what(), "");
  }
}

// Turns of `turn(mutation)` with one seed after the other until the time is over.
template <class Turn>
void repeat(Turn turn) {
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM}) signal(s, name_seed_and_end);
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(kSecondsEach * CLOCKS_PER_SEC);
  const unsigned first = first_seed();
  for (g_seed = first; std::clock() < end; ++g_seed) {
    alarm(kSecondsOfOne);
    Mutation mutation(g_seed.load());
    ASSERT_NO_THROW(turn(mutation)) << "WARPEMU_FUZZ_SEED=" << g_seed.load();
  }
  alarm(0);
  std::printf("seeds %u to %u\n", first, g_seed.load() - 1);
}

TEST(Fuzz, damaged_fat_binaries_are_read_or_refused) {
  const std::vector<std::string> corpus = containers();
  ASSERT_GE(corpus.size(), 20u) << "no programs in " WARPEMU_PROGRAM_DIR;
  repeat([&](Mutation& m) {
    const GuardedCopy copy(corpus[m.below(corpus.size())]);
    // The first entry's header; how long the container is only it can say.
    for (size_t changes = 1 + m.below(6); changes > 0; --changes)
      copy.data[kContainerHeader + m.below(kEntryHeader)] = static_cast<uint8_t>(m.below(256));
    const FatbinPtx ptx = read(copy.data);
    EXPECT_NE(ptx.text.empty(), ptx.problem.empty());
  });
}

TEST(Fuzz, changed_ptx_is_built_or_refused) {
  std::vector<std::string> corpus;
  for (const std::string& container : containers()) {
    const std::string text = read(reinterpret_cast<const uint8_t*>(container.data())).text;
    if (!text.empty() && text.size() < kLargestText) corpus.push_back(text);
  }
  ASSERT_GE(corpus.size(), 8u);
  repeat([&](Mutation& m) { build_all(m.of_text(corpus[m.below(corpus.size())])); });
}

}  // namespace
}  // namespace warpgrade::emu
