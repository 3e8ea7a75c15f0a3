#include "cudart/host_place.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

extern char** environ;

namespace warpgrade::cudart {
namespace {

constexpr int kFrames = 24;
constexpr const char* kResolver = "/usr/bin/addr2line";

// The resolver's output: for each function inlined at the place, innermost first, its name and "path:line".
std::string ask_resolver(const char* module, const char* offset) {
  int ends[2];
  if (access(kResolver, X_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const std::array<const char*, 6> arguments{kResolver, "-fi", "-e", module, offset, nullptr};
  char* no_environment[] = {nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, kResolver, &actions, nullptr,
                                 const_cast<char* const*>(arguments.data()), no_environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (failed == 0) {
    char buffer[512];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(n));
    waitpid(child, nullptr, 0);
  }
  close(ends[0]);
  return text;
}

// Places that were told. In stacks a number stands for each, which is no address of a program's: it is negative.
class ToldPlaces {
 public:
  static ToldPlaces& instance() {
    static auto& places = *new ToldPlaces;  // never destroyed: leaks are told while the program ends
    return places;
  }
  void* stand_in(HostPlace place) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = numbers_.try_emplace({place.path, place.line}, all_.size());
    if (is_new) all_.push_back(std::move(place));
    return reinterpret_cast<void*>(~static_cast<intptr_t>(entry->second));
  }
  static bool is_stand_in(void* address) { return reinterpret_cast<intptr_t>(address) < 0; }
  HostPlace behind(void* address) {
    const std::lock_guard lock(mutex_);
    return all_.at(static_cast<size_t>(~reinterpret_cast<intptr_t>(address)));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, uint32_t>, size_t> numbers_;
  std::vector<HostPlace> all_;
};

thread_local void* t_told = nullptr;

struct Frame {
  std::string function;  // as mangled
  HostPlace place;
};

// addr2line of binutils up to 2.40 takes file 0 of DWARF 5's table for file 1 where a function begins in it: in a
// template's instance it names what nvcc made of the source ("tmpxft_00000a3c_00000000-6_spmm.cudafe1.cpp"), with
// the source's own line.
std::string source_behind(const std::string& path) {
  constexpr std::string_view kMade = ".cudafe1.cpp";
  if (!path.ends_with(kMade)) return path;
  std::string name = path.substr(path.rfind('/') + 1);
  name.resize(name.size() - kMade.size());
  if (const size_t dash = name.find('-'); name.starts_with("tmpxft_") && dash != std::string::npos)
    name.erase(0, name.find('_', dash) + 1);
  return name + ".cu";
}

HostPlace parse_place(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.compare(0, 2, "??") == 0) return {};
  const long line = std::strtol(text.c_str() + colon + 1, nullptr, 10);
  if (line <= 0) return {};
  return {source_behind(text.substr(0, colon)), static_cast<uint32_t>(line)};
}

std::vector<Frame> parse(const std::string& text) {
  std::vector<Frame> frames;
  std::istringstream lines(text);
  for (std::string function, place; std::getline(lines, function) && std::getline(lines, place);)
    frames.push_back({function, parse_place(place)});
  return frames;
}

// What nvcc puts between <<<>>> and the runtime stands at the kernel's definition.
bool is_launch_stub(const std::string& function, const std::string& kernel) {
  return function.find("__device_stub__") != std::string::npos || (!kernel.empty() && function == kernel);
}

bool is_of_the_toolkit(const std::string& path) {
  for (const char* sign : {"cuda_runtime", "/crt/", "tmpxft_", "cudafe", "/include/c++/"}) {
    if (path.find(sign) != std::string::npos) return true;
  }
  return false;
}

// Libraries that lie beside this one (the driver, cuBLAS) are the emulator's as well.
bool is_of_the_emulator(const Dl_info& module, const Dl_info& own) {
  const auto folder = [](const char* path) {
    return std::string(path, std::strlen(path) - std::strlen(basename(path)));
  };
  return module.dli_fbase == own.dli_fbase || folder(module.dli_fname) == folder(own.dli_fname);
}

// The resolver is another process: /proc/self would be its own.
std::string program_path() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

const std::vector<Frame>& resolve(void* address) {
  static std::mutex mutex;
  // Never destroyed: leaks are told while the program ends.
  static auto& known = *new std::map<void*, std::vector<Frame>>;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(address);
  if (!is_new) return entry->second;
  Dl_info module, own;
  if (dladdr(address, &module) == 0 || dladdr(reinterpret_cast<void*>(&call_stack), &own) == 0)
    return entry->second;
  if (is_of_the_emulator(module, own) || std::strstr(module.dli_fname, "/libc.so") != nullptr)
    return entry->second;
  // A return address is behind its call.
  char offset[24];
  std::snprintf(
      offset, sizeof offset, "0x%lx",
      static_cast<unsigned long>(static_cast<char*>(address) - static_cast<char*>(module.dli_fbase)) - 1);
  // argv[0] may be relative; the program itself can always be opened.
  const std::string file = module.dli_fname[0] != '/' ? program_path() : module.dli_fname;
  entry->second = parse(ask_resolver(file.c_str(), offset));
  return entry->second;
}

}  // namespace

void tell_place(const char* path, uint32_t line) {
  t_told = path == nullptr || line == 0 ? nullptr : ToldPlaces::instance().stand_in({path, line});
}

std::vector<void*> call_stack() {
  if (t_told != nullptr) return {t_told};
  std::vector<void*> stack(kFrames);
  stack.resize(static_cast<size_t>(backtrace(stack.data(), kFrames)));
  return stack;
}

HostPlace place_of_call(const std::vector<void*>& stack, const std::string& kernel) {
  for (void* address : stack) {
    if (ToldPlaces::is_stand_in(address)) return ToldPlaces::instance().behind(address);
    for (const Frame& frame : resolve(address)) {
      const bool ours = frame.place.line == 0 || is_of_the_toolkit(frame.place.path);
      if (!ours && !is_launch_stub(frame.function, kernel)) return frame.place;
    }
  }
  return {};
}

}  // namespace warpgrade::cudart
