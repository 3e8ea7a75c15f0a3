#include "cudart/host_fault.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

namespace warpgrade::cudart {
namespace {

const char* g_who = nullptr;
bool (*g_is_device_address)(uint64_t) = nullptr;
bool (*g_touched)(uint64_t, bool) = nullptr;
struct sigaction g_previous_handler;
uint64_t g_stack_begin = 0;  // of the thread that asked first, as far as it may grow

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(139);
}

uint64_t stack_pointer(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uint64_t>(machine.gregs[REG_RSP]);
#else
  return machine.sp;
#endif
}

bool is_write(const void* context) {
#if defined(__x86_64__)
  constexpr long long kWrite = 2;  // of a page fault's error code
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
  static_cast<void>(context);
  return false;  // not known
#endif
}

// The process ends as on a GPU machine, by the handler that was there before.
void on_segmentation_fault(int, siginfo_t* info, void* context) {
  constexpr uint64_t kMargin = 4096;
  if (g_touched != nullptr && g_touched(reinterpret_cast<uint64_t>(info->si_addr), is_write(context))) return;
  const uint64_t stack = stack_pointer(context);
  if (g_is_device_address(reinterpret_cast<uint64_t>(info->si_addr))) {
    say(g_who);
    say(": host code dereferenced a device pointer (cudaMalloc memory); copy the data with cudaMemcpy "
        "first\n");
  } else if (stack < g_stack_begin + kMargin) {
    say(g_who);
    say(": the stack of the host code is full: a local array is too large for it (use std::vector), or a "
        "recursion does not end\n");
  }
  sigaction(SIGSEGV, &g_previous_handler, nullptr);
}

// The handler needs a stack of its own where the thread's is full.
void watch_stack() {
  constexpr size_t kOwnStack = 64 << 10;
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  g_stack_begin = reinterpret_cast<uint64_t>(begin);
  stack_t own{};
  own.ss_sp = mmap(nullptr, kOwnStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  own.ss_size = kOwnStack;
  if (own.ss_sp != MAP_FAILED) sigaltstack(&own, nullptr);
}

}  // namespace

void watch_host_faults(const char* who, bool (*is_device_address)(uint64_t)) {
  if (g_who != nullptr) return;
  g_who = who;
  g_is_device_address = is_device_address;
  watch_stack();
  struct sigaction action {};
  action.sa_sigaction = on_segmentation_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &g_previous_handler);
}

bool watch_host_touches(bool (*touched)(uint64_t address, bool is_write)) {
  g_touched = touched;
  return g_who != nullptr;
}

bool sees_host_faults() {
  struct sigaction now {};
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_segmentation_fault;
}

}  // namespace warpgrade::cudart
