#include "base/inject.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

namespace warpgrade {
namespace {

struct RequestedFault {
  std::string stage, submission, kind, file;
};

RequestedFault read_requested_fault() {
  RequestedFault requested;
  const char* given = std::getenv("WARPGRADE_INJECT");
  for (std::string_view rest = given != nullptr ? given : ""; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string_view key = word.substr(0, colon);
    const std::string value(word.substr(std::min(colon + 1, word.size())));
    if (key == "stage") requested.stage = value;
    if (key == "submission") requested.submission = value;
    if (key == "kind") requested.kind = value;
    if (key == "while") requested.file = value;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return requested;
}

void wait_while_there(const std::string& file) {
  while (std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

void inject(const char* stage, std::string_view submission) {
  static const RequestedFault requested = read_requested_fault();
  if (requested.stage.empty() || requested.stage != stage) return;
  if (!requested.submission.empty() && requested.submission != submission) return;
  if (requested.kind == "wait") return wait_while_there(requested.file);
  if (requested.kind == "signal") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (requested.kind == "other") throw 42;
  throw std::runtime_error(std::string("injected at ") + stage);
}

}  // namespace warpgrade
