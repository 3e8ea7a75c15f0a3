// Mistakes found while kernels run: printed once for people, kept as JSON lines for the runner.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/line_queue.h"
#include "warpemu/findings.h"

namespace warpgrade::emu {

struct DiagnosedAllocation {
  std::string name;
  uint64_t bytes = 0;
  int64_t offset = 0;          // of the access, from the allocation's begin
  uint32_t element_bytes = 0;  // 0: nobody knows
};

// Who else is part of it: the earlier access of a race.
struct DiagnosedParty {
  std::string path;
  uint32_t line = 0;
  std::string access;
  std::string block, thread;  // "(1,0,0)"
};

// Where the program made an allocation that a message names.
struct MadeAt {
  std::string allocation;  // "allocation #2"
  std::string path;
  uint32_t line = 0;
};

struct Diagnostic {
  Finding kind = Finding::unsupported;
  std::string access;  // load, store, atomic; empty when it is none
  std::string path;    // of the source file; empty without line information or on the host
  uint32_t line = 0;
  std::string kernel;
  std::optional<std::vector<uint32_t>> block, thread;  // three numbers each
  std::optional<uint64_t> address;
  uint32_t bytes = 0;
  std::optional<DiagnosedAllocation> allocation;
  std::optional<DiagnosedParty> other;
  std::string message;
  std::string advice;
  std::vector<MadeAt> made_at;
  uint64_t count = 1;
};

// "allocation #2", of those that the message or the advice names.
std::vector<std::string> allocations_in(const Diagnostic& diagnostic);

class Diagnostics {
 public:
  static Diagnostics& instance();

  // Repeats of a kind at the same place are counted, not listed.
  void add(Diagnostic diagnostic);
  size_t drain(char* json_lines, size_t capacity);
  // Called with each finding before it is told.
  void complete_with(void (*complete)(Diagnostic&)) { complete_ = complete; }
  // Allocations that waiting findings name, and whose places nobody has told; what is asked once is not asked
  // again.
  std::vector<std::string> unplaced();
  void place(const MadeAt& made);

 private:
  std::mutex mutex_;
  std::vector<Diagnostic> pending_;              // in the order of appearance
  std::map<std::string, size_t> pending_index_;  // by kind and place
  std::map<std::string, bool> printed_;
  LineQueue lines_;
  void (*complete_)(Diagnostic&) = nullptr;
  std::set<std::string> asked_;
};

}  // namespace warpgrade::emu
