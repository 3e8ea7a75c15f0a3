// What the judge and an executor (or a runner without one) say to each other: fixed-size messages over one
// Unix socketpair (SOCK_SEQPACKET), buffers as file descriptors (SCM_RIGHTS). One command, one reply, in
// turn. A command carries a number that nobody can foretell, and its reply says that number: a reply that was
// sent ahead of its command is found out. A runner without an executor shares its process with the
// submission: the judge believes nothing that such a reply says and that it cannot check. A malformed reply
// ends the case.
#pragma once

#include <cstdint>

namespace warpgrade::protocol {

constexpr std::uint32_t kMagic = 0x32504757;  // "WGP2"
constexpr int kSocketFd = 3;                  // the runner's end

enum class Op : std::uint32_t {
  kAttach = 1,  // a buffer's descriptor comes along; name, offset, bytes, mapped_bytes, read_only
  kPlan,        // arguments: the lab's (spmm: rows, cols, nnz, k)
  kRun,         // arguments: the lab's (sampling: the generator's seed)
  kNull,        // nothing: the answer says that process and context are up
  kFree,
  kReport,  // arguments[0]: 0 diagnostics, 1 counters; written into the attached buffer "report"
  kEnd,
  kDetach,      // every buffer is unmapped and forgotten
  kLimitSteps,  // arguments[0]: warp instructions that a launch may execute; the emulator's, 0: no limit
  kNewHost,     // of an executor: the socket to another host process comes along, whose predecessor is dead
};

// Whether an executor notes in a run who writes the outputs (judge/executor/README.md).
enum class Follow : std::uint16_t {
  kNothing = 0,  // a timed run
  kWriters,      // it notes
  kProbe,        // it replaces what the host copies into outputs, too: nothing of the run decides a verdict
};

struct Command {
  std::uint32_t magic = kMagic;
  Op op = Op::kEnd;
  std::uint64_t sequence = 0;  // random, of this command alone
  char name[32] = {};
  std::uint64_t offset = 0;        // of the payload in the mapping
  std::uint64_t bytes = 0;         // of the payload
  std::uint64_t mapped_bytes = 0;  // of the whole object behind the descriptor
  std::uint32_t read_only = 0;
  std::uint32_t element_bytes = 0;   // kAttach of a program in Python: messages name elements
  std::uint16_t is_output = 0;       // kAttach, of an executor: who writes the buffer is followed
  Follow follow = Follow::kNothing;  // kRun, of an executor; the submission does not hear of it
  std::int64_t arguments[8] = {};
};

enum class Status : std::uint32_t {
  kOk = 0,
  kNotImplemented,  // the submission returned cudaErrorNotSupported
  kCudaError,       // it returned an error, or left one behind
  kRunnerFault,     // the runner could not do its part (no device, no mapping)
  kException,       // the submission's code threw; message: the type and what() it said
  kHostEnded,       // of an executor: the process with the submission's code is not there any more
  kProtocolBroken,  // of an executor: that process wrote what its CUDA runtime never writes; message: what
};

// Bits of Reply::flags, of a kRun on a GPU.
constexpr std::uint32_t kFlagWaited =
    1;                                  // host code waited for the device: its way is in the time from there
constexpr std::uint32_t kFlagVoid = 2;  // the start was not known in time: the times say nothing

// What a call that succeeded is noted for, as bits of Reply::notes.
constexpr std::uint32_t kNoteDefaultStream = 1;  // kernels on the default stream: the contract gives another
constexpr std::uint32_t kNoteUnreadError =
    2;  // an older interface left an error code unread; `message` names it
constexpr std::uint32_t kNoteManagedMemory = 4;     // cudaMallocManaged; of an executor
constexpr std::uint32_t kNoteManagedVariables = 8;  // __managed__; of an executor

// Bytes of a run's outputs, by who wrote them last (judge/executor/output_writers.h).
struct Written {
  std::uint64_t kernels = 0;  // launched
  std::uint64_t bytes = 0;    // of all outputs; 0: nobody looked
  std::uint64_t host = 0, passed = 0, filled = 0;
};

// Commands of a run that nothing orders before its end (judge/executor/work_of_run.h).
struct Unordered {
  std::uint32_t commands = 0;
  char last[120] = {};  // one of them, for people: "kernel `add` in own stream #1"
};

struct Reply {
  std::uint32_t magic = kMagic;
  Op op = Op::kEnd;
  std::uint64_t sequence = 0;  // the command's
  Status status = Status::kOk;
  std::int32_t cuda_error = 0;
  std::uint32_t flags = 0;
  std::uint32_t notes = 0;  // with kOk
  // kRun on a GPU (judge/executor/README.md, "The timed run").
  double stamps_us = 0;        // by the device's clock, with what an empty run takes
  double constant_us = 0;      // an empty run's, measured in the same process
  double event_us = 0;         // between events beside it
  double clock_us = 0;         // from opening the gate until the device was idle, by the host's clock
  double host_us = 0;          // of host code while the gate was closed; kPlan, kFree: of the whole call
  std::uint64_t launches = 0;  // kRun, of an executor: kernels, those of graphs included
  std::uint64_t bytes = 0;  // kReport: written; kPlan, of an executor: of device memory that the plan holds
  Written written;          // kRun that was followed, of an executor
  Unordered unordered;      // the same
  char message[256] = {};   // NUL-terminated
};

}  // namespace warpgrade::protocol
