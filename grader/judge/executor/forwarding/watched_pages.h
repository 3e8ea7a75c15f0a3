// Pages of pinned and managed memory that the host's code should leave alone until it has waited: a copy into
// them, or a kernel that may use them, has been called. The first touch of each is noted, by page protection, and
// goes on as if nothing had been. Where calls are interpreted alone: the executor tells by its clocks whether the
// touch was too early. This process owns the protection, so what comes of it only advises.
#pragma once
#include <cstdint>
#include <vector>

namespace warpgrade::executor {

// Of whole pages. Nothing where the program has a handler of its own for SIGSEGV.
void watch_pages(uint64_t begin, uint64_t end);
// The host has waited, or the memory goes.
void leave_pages_alone();

struct Touch {
  uint64_t address = 0;
  bool is_write = false;
  std::vector<void*> stack;
};
// Since the last call.
std::vector<Touch> take_touches();

}  // namespace warpgrade::executor
