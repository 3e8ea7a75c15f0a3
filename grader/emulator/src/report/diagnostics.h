// Mistakes found while kernels run: printed once for people, kept as JSON lines for the runner.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "report/line_queue.h"
#include "warpemu/findings.h"

namespace warpgrade::emu {

struct DiagnosedAllocation {
  std::string name;
  uint64_t bytes = 0;
  int64_t offset = 0;  // of the access, from the allocation's begin
};

// Who else is part of it: the earlier access of a race.
struct DiagnosedParty {
  std::string path;
  uint32_t line = 0;
  std::string access;
  std::string block, thread;  // "(1,0,0)"
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
  uint64_t count = 1;
};

class Diagnostics {
 public:
  static Diagnostics& instance();

  // Repeats of a kind at the same place are counted, not listed.
  void add(Diagnostic diagnostic);
  size_t drain(char* json_lines, size_t capacity);

 private:
  std::mutex mutex_;
  std::vector<Diagnostic> pending_;              // in the order of appearance
  std::map<std::string, size_t> pending_index_;  // by kind and place
  std::map<std::string, bool> printed_;
  LineQueue lines_;
};

}  // namespace warpgrade::emu
