#include "findings/diagnostics.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "findings/python_words.h"
#include "support/base_name.h"
#include "support/json_line.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

std::string place_of(const Diagnostic& d) {
  return d.line == 0 ? std::string() : base_name(d.path) + ":" + std::to_string(d.line);
}

std::string triple(const std::vector<uint32_t>& v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

std::string hexadecimal(uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
  return digits;
}

void print(const Diagnostic& d) {
  std::string text = std::string("emulator: ") + word_of(d.kind);
  if (!d.kernel.empty() || d.line != 0) {
    text +=
        " at " + (d.line != 0
                      ? place_of(d)
                      : "an unknown line (kernels: build with -lineinfo, calls of the host: -Xcompiler -g1)");
  }
  if (!d.kernel.empty()) text += " in " + d.kernel;
  if (d.block) text += (is_in_triton(d) ? ", program " : ", block ") + triple(*d.block);
  if (d.thread && !is_in_triton(d)) text += " thread " + triple(*d.thread);
  text += "\n  " + d.message;
  if (!d.advice.empty()) text += "\n  " + d.advice;
  std::fprintf(stderr, "%s\n", text.c_str());
}

std::string to_json(const Diagnostic& d) {
  JsonLine json;
  json.text("kind", word_of(d.kind));
  if (!d.access.empty()) json.text("access", d.access);
  if (d.line != 0) json.text("file", base_name(d.path)).number("line", d.line).text("path", d.path);
  if (!d.kernel.empty()) json.text("kernel", d.kernel);
  if (d.block) json.triple("block", d.block->data());
  if (d.block && is_in_triton(d)) json.triple("program", d.block->data());
  if (d.thread) json.triple("thread", d.thread->data());
  if (d.address) json.text("address", hexadecimal(*d.address));
  if (d.bytes != 0) json.number("bytes", d.bytes);
  if (d.allocation) {
    JsonLine allocation;
    allocation.text("name", d.allocation->name).number("bytes", d.allocation->bytes);
    allocation.real("offset", static_cast<double>(d.allocation->offset), 0);
    json.object("allocation", allocation);
  }
  if (d.other) {
    JsonLine other;
    other.text("file", base_name(d.other->path))
        .number("line", d.other->line)
        .text("access", d.other->access);
    other.text("block", d.other->block).text("thread", d.other->thread);
    json.object("other", other);
  }
  if (!d.made_at.empty()) {
    std::string places;  // "2=spmm.cu:12 5=spmm.cu:13"
    for (const MadeAt& made : d.made_at)
      places += (places.empty() ? "" : " ") + made.allocation.substr(made.allocation.find('#') + 1) + "=" +
                base_name(made.path) + ":" + std::to_string(made.line);
    json.text("made_at", places);
  }
  json.number("count", d.count).text("message", d.message).text("advice", d.advice);
  return json.str();
}

// WARPEMU_FINDINGS: each mistake becomes a line there at once, so that it is kept however the program ends.
void keep(const Diagnostic& d) {
  static const char* const file = std::getenv("WARPEMU_FINDINGS");
  if (file == nullptr || *file == '\0') return;
  const int descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const std::string line = to_json(d) + "\n";
  if (write(descriptor, line.data(), line.size()) < 0) std::perror("emulator: WARPEMU_FINDINGS");
  close(descriptor);
}

}  // namespace

std::vector<std::string> allocations_in(const Diagnostic& d) {
  constexpr std::string_view kSign = "allocation #";
  std::vector<std::string> found;
  for (const std::string* text : {&d.message, &d.advice}) {
    for (size_t at = text->find(kSign); at != std::string::npos; at = text->find(kSign, at + 1)) {
      const size_t end = std::min(text->find_first_not_of("0123456789", at + kSign.size()), text->size());
      std::string name = text->substr(at, end - at);
      if (name.size() > kSign.size() && std::find(found.begin(), found.end(), name) == found.end())
        found.push_back(std::move(name));
    }
  }
  return found;
}

Diagnostics& Diagnostics::instance() {
  static Diagnostics* diagnostics = new Diagnostics;
  return *diagnostics;
}

void Diagnostics::add(Diagnostic diagnostic) {
  say_in_words_of_python(diagnostic);
  if (complete_ != nullptr) complete_(diagnostic);
  std::lock_guard lock(mutex_);
  const std::string where =
      diagnostic.line != 0 ? place_of(diagnostic) : diagnostic.kernel + diagnostic.message;
  const std::string key = std::string(word_of(diagnostic.kind)) + "@" + where;
  const auto [known, inserted] = pending_index_.try_emplace(key, pending_.size());
  if (!inserted) {
    pending_[known->second].count += diagnostic.count;
    return;
  }
  if (printed_.try_emplace(key, true).second) {
    if (!settings().quiet) print(diagnostic);
    keep(diagnostic);
  }
  pending_.push_back(std::move(diagnostic));
}

std::vector<std::string> Diagnostics::unplaced() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> unplaced;
  for (const Diagnostic& d : pending_) {
    for (std::string& name : allocations_in(d)) {
      if (asked_.insert(name).second) unplaced.push_back(std::move(name));
    }
  }
  return unplaced;
}

void Diagnostics::place(const MadeAt& made) {
  const std::lock_guard lock(mutex_);
  for (Diagnostic& d : pending_) {
    const std::vector<std::string> named = allocations_in(d);
    if (std::find(named.begin(), named.end(), made.allocation) != named.end()) d.made_at.push_back(made);
  }
}

size_t Diagnostics::drain(char* json_lines, size_t capacity) {
  std::lock_guard lock(mutex_);
  for (const Diagnostic& d : pending_) lines_.push(to_json(d));
  pending_.clear();
  pending_index_.clear();
  return lines_.drain(json_lines, capacity);
}

}  // namespace warpgrade::emu
