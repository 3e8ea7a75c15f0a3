// The judge's commands to the host process, and what the host process tells of itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "judge/executor/server_call.h"

namespace warpgrade::executor {

void CallServer::send_command(const wire::Command& command) {
  wire::Control& c = memory_.control();
  result_.reset();
  std::memcpy(&c.command, &command, sizeof command);
  c.command_sequence.fetch_add(1);
  if (c.host_sleeps.load() != 0) wake_all(c.command_sequence);
}

std::optional<CommandResult> CallServer::take_result() {
  return std::exchange(result_, std::nullopt);
}

cudaError_t CallServer::take_late_error() {
  memory_.control().late_error.store(0);
  return std::exchange(late_error_, cudaSuccess);
}

void CallServer::lend(uint64_t address, uint64_t bytes, bool is_output) {
  owned_.add({address, address + bytes, cudart::MemoryKind::other, false});
  if (is_output) writers_.add_output({address, address + bytes});
}

void CallServer::take_back(uint64_t address) {
  if (const auto range = owned_.at(address)) writers_.forget({range->begin, range->end});
  owned_.remove(address);
}

// What the program did wrong, as the runtime in its own process found it. Words for people: bounded, and
// of no weight.
cudaError_t CallServer::report(const Call& call) {
  std::vector<std::string> texts(1);
  for (const char c : call.text()) {
    if (c == wire::kBetweenTexts)
      texts.emplace_back();
    else
      texts.back() += c;
  }
  texts.resize(4);
  cudart::HostFinding finding;
  using Kind = cudart::HostFinding::Kind;
  const auto kind = static_cast<uint8_t>(std::min<uint64_t>(call.argument(0), 0xff));
  finding.kind = kind <= static_cast<uint8_t>(Kind::invalid_free) ? Kind{kind} : Kind::unsupported;
  finding.line = call.low(1);
  finding.bytes = call.argument(2);
  finding.kernel = texts[0];
  finding.path = texts[1];
  finding.message = texts[2];
  finding.advice = texts[3];
  if (reports_.size() >= limits_.reports) return cudaSuccess;
  reports_.push_back(finding.message);
  findings_.push_back(finding);
  backend_.report(finding);
  return cudaSuccess;
}

cudaError_t CallServer::place(const Call& call) {
  const uint64_t address = call.argument(1);
  if (const uint64_t what = call.argument(2);
      address != 0 && what >= wire::kHostRead && touches_++ < limits_.reports)
    backend_.host_touched(address, what == wire::kHostWrote, call.text(), call.low(0));
  else if (address == 0 && call.argument(2) == 1)
    backend_.place_earlier(call.text(), call.low(0));
  else if (address == 0)
    backend_.place_finding(call.text(), call.low(0));
  else if (places_.size() < limits_.reports)
    places_[address] = {call.text(), call.low(0)};
  return cudaSuccess;
}

std::map<uint64_t, CallServer::Place> CallServer::take_places() {
  return std::exchange(places_, {});
}

void CallServer::say(const std::string& text) {
  std::fprintf(stderr, "executor: %s\n", text.c_str());
  if (reports_.size() < limits_.reports) reports_.push_back(text);
}

}  // namespace warpgrade::executor
