// Where a kernel's parameters, shared variables, stack frames and the mailbox lie, and the global names.
#include <algorithm>

#include "program/instruction.h"
#include "program/linearize.h"
#include "ptx/parser.h"
#include "support/device_model.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kSharedGap = 64;  // between shared variables, so that small overruns hit nobody

uint32_t round_up(uint32_t value, uint32_t align) {
  return (value + align - 1) / align * align;
}

// Sizes are 32 bits wide from here on, and far from wrapping below these limits, which are a GPU's or larger.
constexpr uint64_t kMostLocal = 16 << 20, kMostShared = 16 << 20, kMostParams = 32764;

void check_room(const char* what, uint64_t used, uint64_t bytes, uint64_t limit) {
  if (bytes <= limit && used + bytes <= limit) return;
  throw PtxError("unsupported size: more than " + std::to_string(limit) + " bytes in the " + what, 0);
}

uint32_t mailbox_bytes(const std::vector<Variable>& variables) {
  uint32_t end = 0;
  for (const Variable& v : variables)
    end = round_up(end, std::max(v.align, 8u)) + static_cast<uint32_t>(v.bytes());
  return end;
}

}  // namespace

uint32_t system_shared_bytes() {
  return device_model().major >= 9 ? kSharedStart : 0;
}

std::vector<uint32_t> Linearizer::mailbox(const std::vector<Variable>& variables) const {
  std::vector<uint32_t> offsets;
  uint32_t at = mailbox_begin_;
  for (const Variable& v : variables) {
    at = round_up(at, std::max(v.align, 8u));
    offsets.push_back(at);
    at += static_cast<uint32_t>(v.bytes());
  }
  return offsets;
}

Symbol Linearizer::shared_variable(const Variable& v) {
  if (v.count == 0) {
    // Where tiles are swizzled by their addresses, programs take the first kilobyte's for granted.
    program_.dynamic_shared_align =
        std::max({program_.dynamic_shared_align, v.align, module_.target >= 90 ? 1024u : 128u});
    return {Space::shared, 0, true};
  }
  const auto known = shared_offsets_.find(v.name);
  if (known != shared_offsets_.end()) return {Space::shared, known->second};
  const uint32_t gap = program_.shared.empty() ? 0 : kSharedGap;
  const uint32_t begin = round_up(program_.shared_end + gap, std::max(v.align, 4u));
  check_room("shared memory of a block", program_.shared_end, v.bytes(), kMostShared);
  const auto bytes = static_cast<uint32_t>(v.bytes());
  program_.shared.push_back({std::string(v.name), begin, begin + bytes});
  program_.shared_end = begin + bytes;
  program_.static_shared_bytes = round_up(program_.static_shared_bytes, v.align) + bytes;
  shared_offsets_[v.name] = begin;
  return {Space::shared, begin};
}

void Linearizer::note_dynamic_array(std::string_view name, uint32_t location) {
  const auto has_name = [&](const DynamicArray& array) { return array.name == name; };
  if (std::none_of(program_.dynamic_arrays.begin(), program_.dynamic_arrays.end(), has_name))
    program_.dynamic_arrays.push_back({std::string(name), location});
}

uint32_t Linearizer::take_frame(uint32_t& end, uint64_t bytes, uint32_t align) {
  check_room("local memory of a thread", end, bytes, kMostLocal);
  const uint32_t offset = round_up(end, std::max(align, 8u));
  end = offset + static_cast<uint32_t>(bytes);
  return offset;
}

uint32_t Linearizer::take_local(uint64_t bytes, uint32_t align) {
  return take_frame(program_.local_bytes, bytes, align);
}

bool Linearizer::find_global(std::string_view name, Symbol& symbol) {
  const auto declared = module_.variables.find(name);
  if (declared != module_.variables.end() && declared->second.space == Space::shared) {
    symbol = shared_variable(declared->second);
    return true;
  }
  const auto placed = variables_.find(name);
  if (placed != variables_.end()) {
    symbol = {Space::global, placed->second};
    return true;
  }
  const auto function = module_.functions.find(name);
  if (function == module_.functions.end()) return false;
  symbol = {Space::global, module_.address_of(function->second)};
  return true;
}

bool Linearizer::find_kernel_param(std::string_view name, Symbol& symbol) const {
  const auto found = kernel_params_.find(name);
  if (found == kernel_params_.end()) return false;
  symbol = {Space::param, found->second};
  return true;
}

void Linearizer::layout_params(const Function& entry) {
  for (const Variable& p : entry.params) {
    const uint32_t offset = round_up(program_.param_bytes, p.align);
    check_room("parameters of a kernel", offset, p.bytes(), kMostParams);
    const auto bytes = static_cast<uint32_t>(p.bytes());
    kernel_params_[p.name] = offset;
    program_.params.push_back({offset, bytes});
    program_.param_bytes = offset + bytes;
  }
}

void Linearizer::place_mailbox() {
  uint32_t bytes = 0;
  for (const std::string_view name : calls_.dynamic) {
    const Function& f = module_.functions.at(name);
    bytes = std::max({bytes, mailbox_bytes(f.params), mailbox_bytes(f.returns)});
  }
  mailbox_begin_ = take_local(bytes, 16);
}

FunctionLayout Linearizer::lay_out(const Function& function) {
  FunctionLayout layout;
  layout.source = &function;
  layout.dynamic = calls_.dynamic.count(function.name) != 0;
  layout.recursive = calls_.recursive.count(function.name) != 0;
  if (function.is_entry) return layout;
  for (const auto* list : {&function.params, &function.returns}) {
    for (const Variable& v : *list) {
      layout.offsets[v.name] = layout.dynamic ? take_frame(layout.frame_bytes, v.bytes(), v.align)
                                              : take_local(v.bytes(), v.align);
    }
  }
  return layout;
}

}  // namespace warpgrade::emu
