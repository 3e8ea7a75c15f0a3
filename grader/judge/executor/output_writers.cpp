#include "judge/executor/output_writers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace warpgrade::executor {

using cudart::RowsCopy;

namespace {

constexpr uint64_t kWord = 4;           // an element that a kernel wrote may have bytes that stayed the same
constexpr uint64_t kLeastUniform = 64;  // bytes of one value that are a start value, and no result

// One value all over: a fill, by way of a copy. Zeros are one of any length.
bool is_uniform(const uint8_t* data, uint64_t bytes) {
  if (data[0] == 0 && std::memcmp(data, data + 1, bytes - 1) == 0) return true;
  return bytes >= kLeastUniform && std::memcmp(data, data + kWord, bytes - kWord) == 0;
}

template <class Row>
void for_rows(const RowsCopy& box, const Row& row) {
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      const uint64_t to = box.to.row(y, z);
      row(Range{to, to + box.width}, box.from.row(y, z));
    }
  }
}

// The bytes of `now` in words of which no byte differs from `then`. `address`: of the first.
uint64_t equal_bytes(uint64_t address, std::span<const uint8_t> now,
                     const std::function<uint8_t(size_t)>& then) {
  uint64_t equal = 0;
  for (size_t at = 0; at < now.size();) {
    const size_t end = std::min<size_t>(now.size(), at + kWord - (address + at) % kWord);
    bool same = true;
    for (size_t k = at; k < end; ++k) same = same && now[k] == then(k);
    if (same) equal += end - at;
    at = end;
  }
  return equal;
}

}  // namespace

void OutputWriters::clear(Range range) {
  for (RangeSet* set : {&host_, &passed_, &filled_, &known_}) {
    if (!set->is_empty()) set->remove(range);
  }
}

void OutputWriters::forget(Range range) {
  clear(range);
  outputs_.erase(range.begin);
  named_.erase(range.begin);
}

void OutputWriters::begin_run(std::optional<uint8_t> probe) {
  probe_ = probe;
  kernels_ = 0;
  told_.clear();
  for (auto& [begin, output] : outputs_) {
    clear(output.range);
    output.told = {};
  }
}

OutputWriters::Output* OutputWriters::output_at(uint64_t address) {
  auto at = outputs_.upper_bound(address);
  if (at == outputs_.begin()) return nullptr;
  Output& output = std::prev(at)->second;
  return address < output.range.end ? &output : nullptr;
}

// A kernel may write all that it can reach, and nobody sees it do so. In an output the host's bytes may be
// overwritten from here on. Other memory it is taken to write when it was given an address of it.
void OutputWriters::launch(std::span<const uint8_t> parameters, const OwnedMemory& owned) {
  ++kernels_;
  for (auto& [begin, output] : outputs_) {
    for (const Range& part : host_.within(output.range)) passed_.add(part);
    host_.remove(output.range);
  }
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, parameters.data() + at, sizeof value);
    const auto range = owned.around(value);
    if (!range || outputs_.contains(range->begin)) continue;
    named_.insert(range->begin);
    clear({range->begin, range->end});
  }
}

// `data`: null where it is not known.
void OutputWriters::tell(Range to, const uint8_t* data) {
  host_.add(to);
  Output* output = output_at(to.begin);
  if (output == nullptr) return;
  told_.push_back(to);
  if (data == nullptr) return;
  if (output->told.empty()) output->told.resize(output->range.bytes());
  std::memcpy(output->told.data() + (to.begin - output->range.begin), data, to.bytes());
  known_.add(to);
}

void OutputWriters::copy_from_host(const RowsCopy& copy) {
  for_rows(copy, [this](Range to, uint64_t from) {
    const auto* data = reinterpret_cast<const uint8_t*>(from);
    clear(to);
    is_uniform(data, to.bytes()) ? filled_.add(to) : tell(to, data);
  });
}

// What is known of the source holds for the copy.
void OutputWriters::copy_row(Range to, uint64_t from) {
  const Range source{from, from + to.bytes()};
  const auto there = [&](Range part) {
    return Range{part.begin - from + to.begin, part.end - from + to.begin};
  };
  const std::vector<Range> host = host_.within(source), passed = passed_.within(source),
                           filled = filled_.within(source);
  clear(to);
  for (const Range& part : filled) filled_.add(there(part));
  for (const Range& part : host) tell(there(part), nullptr);
  for (const Range& part : passed) passed_.add(there(part));
}

void OutputWriters::copy_on_device(const RowsCopy& copy) {
  for_rows(copy, [this](Range to, uint64_t from) { copy_row(to, from); });
}

void OutputWriters::fill(const cudart::Fill& fill) {
  for (uint64_t row = 0; row < fill.height; ++row) {
    const uint64_t begin = fill.address + row * fill.pitch;
    const Range range{begin, begin + fill.width * fill.element_bytes};
    clear(range);
    filled_.add(range);
  }
}

std::vector<Range> OutputWriters::take_told() {
  return std::exchange(told_, {});
}

// Of a range that the host wrote before a kernel: the bytes that no kernel has changed since; in a probe
// those that are still the probe's.
uint64_t OutputWriters::unchanged(const Output& output, Range range, const Read& read) const {
  std::vector<uint8_t> now(range.bytes());
  if (!read(range.begin, now)) return probe_ ? 0 : range.bytes();
  if (probe_) return equal_bytes(range.begin, now, [&](size_t) { return *probe_; });
  uint64_t bytes = range.bytes() - known_.bytes_within(range);
  for (const Range& part : known_.within(range)) {
    const uint8_t* told = output.told.data() + (part.begin - output.range.begin);
    const auto own = std::span(now).subspan(part.begin - range.begin, part.bytes());
    bytes += equal_bytes(part.begin, own, [&](size_t k) { return told[k]; });
  }
  return bytes;
}

OutputWriters::Written OutputWriters::written(const Read& read) const {
  Written result;
  result.kernels = kernels_;
  for (const auto& [begin, output] : outputs_) {
    result.bytes += output.range.bytes();
    result.host += host_.bytes_within(output.range);
    result.filled += filled_.bytes_within(output.range);
    for (const Range& part : passed_.within(output.range)) result.passed += unchanged(output, part, read);
  }
  return result;
}

}  // namespace warpgrade::executor
