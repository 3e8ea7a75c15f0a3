// Makes the forbidden calls without a name that could be found: ptrace, process_vm_readv, personality and
// mprotect by the syscall instruction. Gain: another process's memory, the runner's code. Whatever the kernel
// answers must do no harm.
#include <sys/uio.h>
#include <unistd.h>

#include "honest.cuh"

static long call(long number, long a, long b, long c, long d) {
  long result;
  register long fourth asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  char byte;
  iovec own{&byte, 1}, other{(void*)0x400000, 1};
  const long attached = call(101, 16, getppid(), 0, 0);                 // ptrace(PTRACE_ATTACH)
  const long read = call(310, getppid(), (long)&own, 1, (long)&other);  // process_vm_readv
  const long first = call(101, 16, 1, 0, 0);
  call(135, 0x0040000, 0, 0, 0);                   // personality(ADDR_NO_RANDOMIZE)
  call(10, (long)&spmm_run & ~4095l, 4096, 7, 0);  // mprotect
  (void)attached, (void)read, (void)first;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
