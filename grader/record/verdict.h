// What a case came to: verdicts, and the reasons that a record gives for them. Their words, what they mean and
// what to do stand here alone: the record's schema, its page and the reports' Python are made from these
// tables (`ninja record-files`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace warpgrade {

// In the order of legends.
enum class Verdict : std::uint8_t {
  kAccepted,
  kWrongAnswer,
  kRuntimeError,
  kTimeLimit,
  kMemoryLimit,
  kCompileError,
  kTimingRejected,
  kCheating,
  kNotImplemented,
  kJudgeFault,
  kRefused,
  kNotSubmitted,
  kNotRun,
  kUnknown,  // a word that this version does not know
};

enum class Blame : std::uint8_t { kNobody, kSubmission, kJudge };

struct VerdictFacts {
  Verdict verdict;
  std::string_view word;
  int severity;  // the submission's verdict is its worst case's; what is nobody's fault is below every fault
  Blame blame;
  bool of_case;             // a record may have it; else a hand-in's, in scores and pages alone
  std::string_view letter;  // says the same where colours are not seen
  std::string_view colour;  // warm ones are the submission's faults
  std::string_view label;
  std::string_view meaning;
};

inline constexpr VerdictFacts kVerdicts[] = {
    {Verdict::kAccepted, "accepted", 0, Blame::kNobody, true, "✓", "#2b8a5a", "accepted",
     "every repetition was correct"},
    {Verdict::kWrongAnswer, "wrong_answer", 5, Blame::kSubmission, true, "W", "#c92a2a", "wrong answer",
     "a result differs from the oracle's"},
    {Verdict::kRuntimeError, "runtime_error", 8, Blame::kSubmission, true, "R", "#d9480f", "runtime error",
     "a crash, a CUDA error or an illegal access"},
    {Verdict::kTimeLimit, "time_limit", 7, Blame::kSubmission, true, "T", "#b8660b", "time limit",
     "did not end in time"},
    {Verdict::kMemoryLimit, "memory_limit", 6, Blame::kSubmission, true, "M", "#94611f", "memory limit",
     "asked for more memory than allowed"},
    {Verdict::kCompileError, "compile_error", 9, Blame::kSubmission, true, "C", "#8f3f97", "compile error",
     "was not compiled, so no case could run"},
    {Verdict::kTimingRejected, "timing_rejected", 4, Blame::kSubmission, true, "X", "#a61e4d",
     "timing rejected", "correct, but its time cannot be believed"},
    {Verdict::kCheating, "cheating", 10, Blame::kSubmission, true, "!", "#1b1b1f", "cheating",
     "broke a rule of the course"},
    {Verdict::kNotImplemented, "not_implemented", 3, Blame::kSubmission, true, "N", "#7d7400",
     "not implemented", "the stub says that it is not written yet"},
    {Verdict::kJudgeFault, "judge_fault", 2, Blame::kJudge, true, "J", "#1c6fb8", "judge fault",
     "the judge failed: the submission loses no points"},
    {Verdict::kRefused, "refused", 11, Blame::kSubmission, false, "–", "#8f3f97", "refused",
     "the hand-in could not be taken, so nothing was judged"},
    {Verdict::kNotSubmitted, "not_submitted", 11, Blame::kSubmission, false, "0", "#6b7280", "not handed in",
     "nothing was handed in"},
    {Verdict::kNotRun, "not_run", 1, Blame::kNobody, true, "·", "#6b7280", "not run",
     "not judged: the submission loses no points"},
    {Verdict::kUnknown, "unknown", 11, Blame::kSubmission, false, "?", "#6b7280", "unknown",
     "unknown verdict"},
};

enum class Reason : std::uint8_t {
  kNone,
  // of a wrong answer
  kMismatch,
  kNotWritten,
  kNotExact,
  kLowPrecision,
  kInputModified,
  kUnordered,
  kRace,
  kUninitializedRead,
  kUndefinedShuffle,
  kUnawaitedProduct,
  kAliasedShared,
  kEarlyExit,
  kNotANeighbour,
  kZeroDegree,
  kNotRepeatable,
  kNotUniform,
  kNotIndependentSameRow,
  kNotIndependentRows,
  kNotIndependentSeeds,
  kNotIndependentPeriod,
  kNotIndependentLattice,
  // of a runtime error
  kOutOfBounds,
  kIllegalAddress,
  kUseAfterFree,
  kMisalignedAddress,
  kForeignStack,
  kOtherDevice,
  kBarrierCount,
  kDivergentBarrier,
  kPartialWarp,
  kWrongMask,
  kTrap,
  kAssert,
  kStackOverflow,
  kBadCall,
  kInvalidLaunch,
  kInvalidCopy,
  kInvalidFree,
  kDeviceMemoryLeak,
  kCudaError,
  kCrashed,
  kExitedEarly,
  kException,
  kProcessLimit,
  kRunnerFault,
  kUnsupported,
  kUnsupportedOnEmulator,
  kJudgeFaultTwice,
  // of a limit
  kOutOfTime,
  kBarrierDeadlock,
  kHostMemory,
  kDeviceMemory,
  // of what was not compiled
  kError,
  kMissingSymbol,
  kDefinedTwice,
  kBadSubmission,
  kBadOutput,
  kUnreadableObject,
  kForbiddenLibrary,
  kNeedsDirect,
  kNeedsExecutor,
  // of others
  kNoClock,
  kClocksDisagree,
  kBelowFloor,
  kProtocolViolation,
  kLeftOut,
  kUnknown,  // a word that this version does not know
};

struct ReasonFacts {
  Reason reason;
  std::string_view word;
  std::string_view verdicts;  // whose reason it is
  std::string_view help;      // what it means, and what to do where that does not follow
};

inline constexpr ReasonFacts kReasons[] = {
    {Reason::kNone, "", "", ""},
    {Reason::kMismatch, "mismatch", "wrong_answer",
     "A value is not the oracle's. The message has the first cell, and what the wrong ones have in common."},
    {Reason::kNotWritten, "not_written", "wrong_answer",
     "All wrong cells still hold what was there before the run."},
    {Reason::kNotExact, "not_exact", "wrong_answer",
     "The case's numbers have an exact answer, and all wrong cells are near it."},
    {Reason::kLowPrecision, "low_precision", "wrong_answer",
     "Each cell is within its bound, and all of them together are not: terms have too few bits."},
    {Reason::kInputModified, "input_modified", "wrong_answer", "It wrote to an input: inputs are read-only."},
    {Reason::kUnordered, "unordered", "wrong_answer",
     "Nothing orders two commands that use the same memory, or work that is not done when the run ends: wait "
     "for it in the stream that is given."},
    {Reason::kRace, "race", "wrong_answer",
     "Threads race for the same place in shared or global memory: a barrier or an atomic belongs between "
     "them."},
    {Reason::kUninitializedRead, "uninitialized_read", "wrong_answer",
     "It reads memory that nobody has written."},
    {Reason::kUndefinedShuffle, "undefined_shuffle", "wrong_answer",
     "A lane reads the value of a lane that does not take part."},
    {Reason::kUnawaitedProduct, "unawaited_product", "wrong_answer",
     "It uses the result of a warp group's product before the product has ended."},
    {Reason::kAliasedShared, "aliased_shared", "wrong_answer",
     "Two dynamic shared arrays begin at the same address."},
    {Reason::kEarlyExit, "early_exit", "wrong_answer",
     "Threads have returned before a barrier that others reach."},
    {Reason::kNotANeighbour, "not_a_neighbour", "wrong_answer", "A sample is no neighbour of its node."},
    {Reason::kZeroDegree, "zero_degree", "wrong_answer",
     "A node without neighbours has a sample: it must say that there is none."},
    {Reason::kNotRepeatable, "not_repeatable", "wrong_answer",
     "The same graph, nodes and seed gave other samples in a second run."},
    {Reason::kNotUniform, "not_uniform", "wrong_answer", "Some neighbours are drawn more often than others."},
    {Reason::kNotIndependentSameRow, "not_independent_same_row", "wrong_answer",
     "Draws of one node depend on each other."},
    {Reason::kNotIndependentRows, "not_independent_rows", "wrong_answer",
     "Draws of different nodes depend on each other."},
    {Reason::kNotIndependentSeeds, "not_independent_seeds", "wrong_answer",
     "Draws of two seeds depend on each other."},
    {Reason::kNotIndependentPeriod, "not_independent_period", "wrong_answer",
     "Draws that are far apart depend on each other."},
    {Reason::kNotIndependentLattice, "not_independent_lattice", "wrong_answer",
     "Draws in succession lie on few planes, as those of a weak generator do."},
    {Reason::kOutOfBounds, "out_of_bounds", "runtime_error",
     "An access or a copy leaves every allocation, or the buffer that it begins in."},
    {Reason::kIllegalAddress, "illegal_address", "runtime_error",
     "It accesses memory through a null pointer."},
    {Reason::kUseAfterFree, "use_after_free", "runtime_error", "It accesses memory that was freed."},
    {Reason::kMisalignedAddress, "misaligned_address", "runtime_error",
     "It accesses an address that is not a multiple of the access's width."},
    {Reason::kForeignStack, "foreign_stack", "runtime_error",
     "It accesses another thread's local variable through a pointer."},
    {Reason::kOtherDevice, "other_device", "runtime_error",
     "It accesses memory of another device without peer access."},
    {Reason::kBarrierCount, "barrier_count", "runtime_error",
     "A barrier waits for more threads than ever arrive."},
    {Reason::kDivergentBarrier, "divergent_barrier", "runtime_error",
     "Threads of a block wait at different barriers."},
    {Reason::kPartialWarp, "partial_warp", "runtime_error",
     "Some lanes of a warp do not take part in an operation that needs the whole warp."},
    {Reason::kWrongMask, "wrong_mask", "runtime_error", "A lane calls with a mask that does not name it."},
    {Reason::kTrap, "trap", "runtime_error", "The kernel stopped itself."},
    {Reason::kAssert, "assert", "runtime_error", "An assertion in the kernel failed."},
    {Reason::kStackOverflow, "stack_overflow", "runtime_error", "A thread's stack is full."},
    {Reason::kBadCall, "bad_call", "runtime_error", "It calls an address at which no function begins."},
    {Reason::kInvalidLaunch, "invalid_launch", "runtime_error",
     "A kernel was not started: its launch is invalid."},
    {Reason::kInvalidCopy, "invalid_copy", "runtime_error", "The arguments of a copy are invalid."},
    {Reason::kInvalidFree, "invalid_free", "runtime_error",
     "It frees a pointer that no allocation returned."},
    {Reason::kDeviceMemoryLeak, "device_memory_leak", "runtime_error", "Device memory was never freed."},
    {Reason::kCudaError, "cuda_error", "runtime_error",
     "A function returned this error of CUDA's; the message has it."},
    {Reason::kCrashed, "crashed", "runtime_error",
     "A signal ended the program: its host code did something illegal."},
    {Reason::kExitedEarly, "exited_early", "runtime_error", "The program ended before its work was done."},
    {Reason::kException, "exception", "runtime_error",
     "The submission's code threw an exception. The message has its type and text."},
    {Reason::kProcessLimit, "process_limit", "runtime_error",
     "It started more processes and threads than the box allows."},
    {Reason::kRunnerFault, "runner_fault", "runtime_error",
     "With `--direct`: the submission's process says that it can no longer serve the judge."},
    {Reason::kUnsupported, "unsupported", "runtime_error",
     "It calls what the executor does not forward. A course whose policy says `host_isolation: any` can "
     "judge it with `--direct`."},
    {Reason::kUnsupportedOnEmulator, "unsupported_on_emulator", "runtime_error",
     "The program calls what only a GPU has. It counts, so that nobody avoids a case in this way. Staff can "
     "judge the submission on a GPU."},
    {Reason::kJudgeFaultTwice, "judge_fault_twice", "runtime_error",
     "The judge failed twice at this case with this submission, and judged the staff's own program without a "
     "fault. It counts. Students see no more than that. A person should look at `judge_faults`."},
    {Reason::kOutOfTime, "out_of_time", "time_limit, compile_error",
     "A call, all calls of a case, or a compilation took longer than the policy allows."},
    {Reason::kBarrierDeadlock, "barrier_deadlock", "time_limit",
     "Threads wait for other threads that never arrive."},
    {Reason::kHostMemory, "host_memory", "memory_limit", "It used more host memory than the policy allows."},
    {Reason::kDeviceMemory, "device_memory", "memory_limit",
     "CUDA returned this error, or the judge saw it."},
    {Reason::kError, "error", "compile_error",
     "The compiler or the linker refuses it; the message is its first error."},
    {Reason::kMissingSymbol, "missing_symbol", "compile_error",
     "A function that the judge or the program calls is defined nowhere."},
    {Reason::kDefinedTwice, "defined_twice", "compile_error", "Two files define the same function."},
    {Reason::kBadSubmission, "bad_submission", "compile_error",
     "The hand-in has no such sources, or files and flags that are refused."},
    {Reason::kBadOutput, "bad_output", "compile_error",
     "The compiler left no usable program behind: the submission took it over."},
    {Reason::kUnreadableObject, "unreadable_object", "compile_error",
     "An object that the compiler left cannot be looked into."},
    {Reason::kForbiddenLibrary, "forbidden_library", "compile_error",
     "The program calls a vendor's library, or a function that loads one; the message has the line. A "
     "library that is included or linked and not called costs nothing and is told in `notes`."},
    {Reason::kNeedsDirect, "needs_direct", "compile_error",
     "A baseline that calls a vendor's library is judged with `--direct` alone."},
    {Reason::kNeedsExecutor, "needs_executor", "compile_error",
     "A submission in Python is judged without `--direct` alone."},
    {Reason::kNoClock, "no_clock", "timing_rejected",
     "Its runs could not be timed: see "
     "[time](../../judge/measure/README.md#what-holds-against-forged-times)."},
    {Reason::kClocksDisagree, "clocks_disagree", "timing_rejected",
     "The host's clock saw more than the device's: see "
     "[time](../../judge/measure/README.md#what-holds-against-forged-times)."},
    {Reason::kBelowFloor, "below_floor", "timing_rejected",
     "Its time is below what the memory needs to move the data once."},
    {Reason::kProtocolViolation, "protocol_violation", "cheating",
     "The submission's process wrote what its CUDA runtime never writes."},
    {Reason::kLeftOut, "left_out", "not_run",
     "The case asks for more than the submission's older interface was promised. It is none of the "
     "submission's cases, and it stays `not_run`."},
    {Reason::kUnknown, "unknown", "", ""},
};

constexpr const VerdictFacts& facts(Verdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}
constexpr const ReasonFacts& facts(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

static_assert(
    [] {
      for (std::size_t i = 0; i < std::size(kVerdicts); ++i)
        if (kVerdicts[i].verdict != static_cast<Verdict>(i)) return false;
      for (std::size_t i = 0; i < std::size(kReasons); ++i)
        if (kReasons[i].reason != static_cast<Reason>(i)) return false;
      return kVerdicts[std::size(kVerdicts) - 1].verdict == Verdict::kUnknown &&
             kReasons[std::size(kReasons) - 1].reason == Reason::kUnknown;
    }(),
    "the tables have one row a word, in the words' order");

constexpr std::string_view word_of(Verdict verdict) {
  return facts(verdict).word;
}
constexpr std::string_view word_of(Reason reason) {
  return facts(reason).word;
}

// kUnknown: it is none.
constexpr Verdict verdict_named(std::string_view word) {
  for (const VerdictFacts& each : kVerdicts)
    if (each.word == word) return each.verdict;
  return Verdict::kUnknown;
}
constexpr Reason reason_named(std::string_view word) {
  for (const ReasonFacts& each : kReasons)
    if (each.word == word) return each.reason;
  return Reason::kUnknown;
}

// Nobody's fault and nobody's points: it was not judged.
constexpr bool is_undecided(Verdict verdict) {
  return verdict == Verdict::kJudgeFault || verdict == Verdict::kNotRun;
}

// Something is wrong with the program.
constexpr bool is_mistake(Verdict verdict) {
  return facts(verdict).blame == Blame::kSubmission && verdict != Verdict::kNotImplemented;
}

inline void to_json(nlohmann::json& json, Verdict verdict) {
  json = word_of(verdict);
}
inline void from_json(const nlohmann::json& json, Verdict& verdict) {
  verdict = verdict_named(json.get_ref<const std::string&>());
}
inline void to_json(nlohmann::json& json, Reason reason) {
  json = word_of(reason);
}
inline void from_json(const nlohmann::json& json, Reason& reason) {
  reason = reason_named(json.get_ref<const std::string&>());
}

}  // namespace warpgrade
