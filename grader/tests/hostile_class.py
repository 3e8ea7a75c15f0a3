"""A class of submissions that take the machine, each bounded by itself as well; and a policy with small limits."""

from __future__ import annotations

from pathlib import Path

CASE = ("--cases", "synth-identity-k32", "--backend", "emulator", "--quiet")
POLICY = """
schema: warpgrade.policy.v1
name: isolation
lab: spmm
baseline: cusparse_default
limits:
  compile_s: 120
  run_s: {cuda: 10, emulator: 10}
  host_memory_mb: 256
  device_memory_mb: 256
"""
HONEST = """
#include <cstddef>
#include "warpgrade/spmm.h"
__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int col = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++)
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  c[row * k + col] = sum;
}
cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_row_kernel<<<dim3(a.rows, k / 32), 32, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}
void spmm_free(SpmmPlan*) {}
"""
# Of each: headers, and what the plan does. 512 MiB over a limit of 256; a bomb ends by itself after 20 s.
HOSTILE = {
    "fork_bomb": (
        "#include <unistd.h>\n#include <ctime>",
        "time_t end = time(nullptr) + 20;"
        "for (int i = 0; i < 3000; i++) if (fork() == 0) {"
        " while (time(nullptr) < end) { fork(); usleep(1000); } _exit(0); }",
    ),
    "thread_bomb": (
        "#include <pthread.h>\n#include <unistd.h>",
        "pthread_t t; for (int i = 0; i < 3000; i++)"
        " pthread_create(&t, nullptr, [](void*) -> void* { sleep(20); return nullptr; }, nullptr); sleep(20);",
    ),
    "shared_memory": (
        "#include <sys/mman.h>\n#include <unistd.h>\n#include <cstring>",
        "void* m = mmap(nullptr, 512u << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);"
        "memset(m, 1, 512u << 20); usleep(300000);",
    ),
    "memory_file": (
        "#include <sys/mman.h>\n#include <unistd.h>\n#include <vector>",
        'int f = memfd_create("warpemu", 0); std::vector<char> block(1 << 20, 1);'
        "for (int i = 0; i < 512; i++) if (write(f, block.data(), block.size()) < 0) break; usleep(300000);",
    ),
    "private_memory": (
        "#include <unistd.h>\n#include <cstdlib>",
        "volatile char* m = (char*)malloc(512u << 20); for (size_t i = 0; i < 512u << 20; i += 4096) m[i] = 1;"
        "usleep(300000);",
    ),
    "spinning_children": (
        "#include <unistd.h>\n#include <ctime>",
        "time_t end = time(nullptr) + 4;"
        "for (int i = 0; i < 100; i++) if (fork() == 0) { while (time(nullptr) < end) {} _exit(0); }",
    ),
    "fills_files": (
        "#include <fcntl.h>\n#include <unistd.h>\n#include <vector>",
        'std::vector<char> block(1 << 20, 1); for (const char* name : {"/tmp/a", "/dev/shm/a", "/a", "/dev/a"}) {'
        " int f = open(name, O_CREAT | O_WRONLY, 0600);"
        " for (int i = 0; f >= 0 && i < 512; i++) if (write(f, block.data(), block.size()) < 0) break; }",
    ),
}


def make_class(folder: Path, names: list[str]) -> Path:
    """A class of hostile submissions, a folder each."""
    for name in names:
        headers, plan = HOSTILE[name]
        (folder / name).mkdir(parents=True)
        head = "cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t)"
        body = f"{head} {{ *plan = nullptr; {plan} return cudaSuccess; }}"
        (folder / name / "spmm.cu").write_text(f"{headers}\n{HONEST}{body}\n", encoding="utf-8")
    return folder
