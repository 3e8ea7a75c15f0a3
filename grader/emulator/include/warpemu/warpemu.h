/* The few entry points that the emulated CUDA runtime (libwarpemu, installed as libcudart.so.<major>) has
 * beyond NVIDIA's. The runner looks them up with dlsym: when warpemu_import_memory is there, the backend is
 * `emulator`.
 *
 * Environment, read once at load:
 *   WARPEMU_THREADS=n     worker threads (default: the cores of this process)
 *   WARPEMU_CHECKS=list   of memcheck, initcheck, racecheck, synccheck, leakcheck, counters, levels; or
 *                         `all` or `none` (default memcheck)
 *   WARPEMU_DEVICE=h200   the described device: a name of devices/ or a file's path (default a100)
 *   WARPEMU_ARCH=80       compute capability that the emulated device reports (default: the device's)
 *   WARPEMU_DEVICES=n     devices that a program sees, alike (default 1)
 *   WARPEMU_MEMORY_MB=n   device memory of the emulated GPU; cudaMalloc beyond it fails
 *   WARPEMU_MEMORY_FD=n   an open memory file to keep device memory in
 *   WARPEMU_LAUNCH_TIMEOUT_S=s  a kernel that runs longer fails with cudaErrorLaunchTimeout (default: none)
 *   WARPEMU_STEP_LIMIT=n  so does one that executes more warp instructions than this (default: none)
 *   WARPEMU_NATIVE=0      kernels are interpreted; 1: hot ones are compiled (the default); always: all are
 *   WARPEMU_SCHEDULE=order  of the warps of a block: in_order (default), reversed or one_ahead
 *   WARPEMU_MUTANT=list   prints on stdout, when the program ends, a JSON line for each mutant of its kernels
 *   WARPEMU_MUTANT=reached  counters are which instructions of the PTX ran (src/program/README.md)
 *   WARPEMU_MUTANT=<operator>:<function>:<ordinal>  runs that mutant (src/program/README.md)
 *   WARPEMU_REPORT=quiet  print no diagnostics on stderr (the default prints each once, for people)
 *   WARPEMU_FINDINGS=file  append each diagnostic, once, as a JSON line (the fields stand below)
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maps [offset, offset + bytes) of a memfd as device memory, under `name` in diagnostics; bounds are exact to
 * the byte although pages are larger. read_only != 0 makes a device write an illegal access (reported and
 * sticky). Returns 0, or a cudaError_t. The device address is as aligned as offset is, up to 4096. */
int warpemu_import_memory(int fd, uint64_t offset, uint64_t bytes, const char* name, int read_only,
                          void** device_pointer);

/* Unmaps what warpemu_import_memory mapped. Returns 0, or cudaErrorInvalidValue. */
int warpemu_release_memory(void* device_pointer);

/* How diagnostics call the memory that begins at this address, and how large its elements are, for programs in Python,
 * which count in them; 0: nobody knows. Returns 0, or cudaErrorInvalidValue. */
int warpemu_name_memory(const void* device_pointer, const char* name, unsigned element_bytes);

/* Where the calls come from that this thread makes from now on, for a program in an interpreter, which has no debug
 * information. line 0: from nowhere that is to be told. */
void warpemu_tell_place(const char* path, unsigned line);

/* Diagnostics since the last call, as JSON lines (one object a mistake, deduplicated by kind and file:line):
 *   {"kind":"out_of_bounds","access":"store","file":"spmm.cu","line":31,"kernel":"spmm_kernel","block":[0,0,0],
 *    "thread":[5,0,0],"address":"0x7f..","bytes":4,"allocation":{"name":"c","bytes":4096,"offset":4096},
 *    "count":12,"message":"...","advice":"..."}
 * a finding whose message names "allocation #2" has "made_at":"2=spmm.cu:12", where the program made it;
 * a race has "other":{"file":..,"line":..,"access":..,"block":"(0,0,0)","thread":"(7,0,0)"} as well.
 * findings.h lists the kinds. Writes at most `capacity` bytes with a final NUL, keeps what did not fit;
 * returns the bytes written. */
size_t warpemu_drain_diagnostics(char* json_lines, size_t capacity);

/* Counters since the last call, as JSON lines: of each kernel first the kernel's object, then one for each of
 * its source lines and one for each allocation that it touched:
 *   {"kernel":"spmm_kernel","launches":1,"blocks":100,"warp_instructions":n,...}
 *   {"kernel":"spmm_kernel","file":"spmm.cu","line":31,"warp_instructions":n,...}
 *   {"kernel":"spmm_kernel","buffer":"b","bytes":n,"sectors_read":n,"distinct_sectors_read":n,
 *    "sectors_written":n,"distinct_sectors_written":n}
 * src/report/README.md defines each figure; in objects of lines those that would be zero are left out.
 * Same buffer rules as warpemu_drain_diagnostics. */
size_t warpemu_drain_counters(char* json_lines, size_t capacity);

/* Launches from now on fail as with WARPEMU_STEP_LIMIT when they execute more warp instructions than this;
 * 0: no limit. */
void warpemu_limit_steps(uint64_t warp_instructions);

/* For WARPEMU_CHECKS with leakcheck; nothing otherwise. The first call forgets what was allocated until now;
 * the other reports what has been allocated since and is not freed, each allocation once: findings
 * device_memory_leak at the line that allocated, "... was <when>", NULL for "never freed". */
void warpemu_forget_allocations(void);
void warpemu_report_leaks(const char* when);

#ifdef __cplusplus
}
#endif
