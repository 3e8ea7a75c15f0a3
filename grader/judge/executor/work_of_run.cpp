#include "judge/executor/work_of_run.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace warpgrade::executor {
namespace {

// Of all events' clocks. What more events would order counts as not ordered.
constexpr size_t kMostEventTicks = size_t{1} << 22;

}  // namespace

void WorkOfRun::create_stream(StreamId stream, bool blocking) {
  streams_.emplace_back(stream, blocking);
  if (is_following_) clocks_.create(stream, blocking);
}

void WorkOfRun::destroy_stream(StreamId stream) {
  std::erase_if(streams_, [&](const auto& known) { return known.first == stream; });
  if (is_following_) clocks_.destroy(stream);
}

void WorkOfRun::begin_run() {
  clocks_ = {};
  clocks_.name_first_as_argument();
  left_ = {};
  events_.clear();
  event_ticks_ = 0;
  last_.clear();
  for (const auto& [stream, blocking] : streams_) clocks_.create(stream, blocking);
  is_following_ = true;
}

void WorkOfRun::add(StreamId stream, const char* what, const std::string& kernel) {
  if (!is_following_) return;
  cudart::StreamClocks::Command command = clocks_.begin(stream);
  Last& last = last_[command.moment.line];
  if (last.command.moment.is_in(clocks_.host())) last.count = 0;
  last = {std::move(command), kernel.empty() ? what : what + (" `" + name_in_mangled(kernel) + "`"),
          last.count + 1};
}

void WorkOfRun::record_event(EventId event, StreamId stream) {
  if (!is_following_) return;
  clocks_.begin(stream);
  cudart::Clock behind = clocks_.now(stream);
  cudart::Clock& known = events_[event];
  event_ticks_ -= known.size();
  known = event_ticks_ + behind.size() <= kMostEventTicks ? std::move(behind) : cudart::Clock();
  event_ticks_ += known.size();
}

void WorkOfRun::wait_event(StreamId stream, EventId event) {
  if (!is_following_) return;
  if (const auto found = events_.find(event); found != events_.end()) clocks_.wait(stream, found->second);
}

void WorkOfRun::host_waited_for(StreamId stream) {
  if (is_following_) clocks_.host_saw_stream(stream);
}

void WorkOfRun::host_waited_for_event(EventId event) {
  if (!is_following_) return;
  if (const auto found = events_.find(event); found != events_.end()) clocks_.host_saw(found->second);
}

void WorkOfRun::host_waited_for_all() {
  if (is_following_) clocks_.host_saw_all();
}

void WorkOfRun::end_run() {
  if (!is_following_) return;
  is_following_ = false;
  // The program's functions are given the first stream that the host process has made.
  const cudart::Clock ended =
      clocks_.begin(streams_.empty() ? cudart::kLegacyStream : streams_.front().first).before;
  for (const auto& [line, last] : last_) {
    if (last.command.moment.is_in(ended)) continue;
    if (left_.commands == 0)
      std::snprintf(left_.last, sizeof left_.last, "%s in %s", last.what.c_str(), last.command.name.c_str());
    left_.commands += last.count;
  }
}

std::string name_in_mangled(const std::string& mangled) {
  if (mangled.compare(0, 2, "_Z") != 0) return mangled;
  std::string name;
  size_t at = mangled.compare(2, 1, "N") == 0 ? 3 : 2;
  while (at < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[at])) != 0) {
    size_t length = 0;
    for (; at < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[at])) != 0; ++at)
      length = std::min<size_t>(10 * length + static_cast<size_t>(mangled[at] - '0'), mangled.size());
    if (length > mangled.size() - at) break;
    name = mangled.substr(at, length);
    at += length;
  }
  return name.empty() ? mangled : name;
}

}  // namespace warpgrade::executor
