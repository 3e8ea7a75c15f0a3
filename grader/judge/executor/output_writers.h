// Who wrote the outputs of a run last: kernels, or the host by copies. README.md, "Who wrote the outputs".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cudart/backend.h"
#include "judge/executor/owned_memory.h"
#include "judge/executor/range_set.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

class OutputWriters {
 public:
  // host: last written by a copy of the host's data, with no kernel launched behind it; passed: the same with
  // a kernel behind it, and the bytes are as the copy left them; filled: by a fill, or a copy of one value.
  using Written = protocol::Written;
  // Reads memory of the device; false: it could not be read.
  using Read = std::function<bool(uint64_t address, std::span<uint8_t> to)>;

  void add_output(Range range) { outputs_[range.begin].range = range; }
  void forget(Range range);  // an output, or any memory that is gone

  bool is_following() const { return is_following_; }
  void follow(bool on) { is_following_ = on; }
  // A run begins. `probe`: what is told in is replaced by this byte, by whoever asks take_told().
  void begin_run(std::optional<uint8_t> probe = {});
  std::optional<uint8_t> probe() const { return probe_; }
  Written written(const Read& read) const;

  // What a program does with memory. Sides of the host are memory that this process can read.
  void launch(std::span<const uint8_t> parameters, const OwnedMemory& owned);
  void copy_from_host(const cudart::RowsCopy& copy);
  void copy_on_device(const cudart::RowsCopy& copy);
  void fill(const cudart::Fill& fill);
  // Whether a kernel was given an address of the allocation of host memory that begins there.
  bool is_named(uint64_t begin) const { return named_.contains(begin); }
  // Outputs that were written with the host's data since the last call.
  std::vector<Range> take_told();

 private:
  struct Output {
    Range range;
    std::vector<uint8_t> told;  // what the host wrote there, once it wrote something
  };

  void clear(Range range);
  void tell(Range to, const uint8_t* data);
  void copy_row(Range to, uint64_t from);
  Output* output_at(uint64_t address);
  uint64_t unchanged(const Output& output, Range range, const Read& read) const;

  bool is_following_ = true;
  std::optional<uint8_t> probe_;
  uint64_t kernels_ = 0;
  std::map<uint64_t, Output> outputs_;  // by first address
  // By who wrote last, with nothing known of all other memory. `passed_`: the host, with a kernel behind it.
  RangeSet host_, passed_, filled_;
  RangeSet known_;            // of host_ and passed_: `told` has the bytes
  std::set<uint64_t> named_;  // first addresses of allocations
  std::vector<Range> told_;
};

}  // namespace warpgrade::executor
