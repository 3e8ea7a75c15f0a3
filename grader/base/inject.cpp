#include "base/inject.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace warpgrade {
namespace {

struct Wish {
  std::string stage, submission, kind;
};

Wish read_wish() {
  Wish wish;
  const char* given = std::getenv("WARPGRADE_INJECT");
  for (std::string_view rest = given != nullptr ? given : ""; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string_view key = word.substr(0, colon);
    const std::string value(word.substr(std::min(colon + 1, word.size())));
    if (key == "stage") wish.stage = value;
    if (key == "submission") wish.submission = value;
    if (key == "kind") wish.kind = value;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return wish;
}

}  // namespace

void inject(const char* stage, std::string_view submission) {
  static const Wish wish = read_wish();
  if (wish.stage.empty() || wish.stage != stage) return;
  if (!wish.submission.empty() && wish.submission != submission) return;
  if (wish.kind == "signal") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (wish.kind == "other") throw 42;
  throw std::runtime_error(std::string("injected at ") + stage);
}

}  // namespace warpgrade
