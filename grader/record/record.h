// A case's record (schema warpgrade.case.v1): what its file holds, for all who write and read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "record/case.h"
#include "record/outcome.h"

namespace warpgrade {

// A speed-up over a baseline.
struct Ratio : typed::Object {
  double median = 0, low = 0, high = 0;
  std::optional<double> confidence, noise;
  std::optional<std::int64_t> processes, pairs;
  bool operator==(const Ratio&) const = default;

  static constexpr std::string_view kName = "Ratio",
                                    kHelp = "Baseline time over submission time: above 1 is faster.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("median", &Ratio::median, "the geometric mean over the process pairs"),
        field("low", &Ratio::low, "of Student's interval of 95 %"),
        field("high", &Ratio::high, "of it"),
        field("confidence", &Ratio::confidence,
              "of the interval; 0: of one process pair alone there is none"),
        field("noise", &Ratio::noise,
              "half of the interval's width, as a logarithm, for an honest program of that length"),
        field("processes", &Ratio::processes, "process pairs with that baseline"),
        field("pairs", &Ratio::pairs, "timed pairs"),
    };
  }
};

struct Timing : typed::Object {
  double median_us = 0;
  std::optional<double> low_us, high_us, confidence;
  std::string bound_by;
  std::optional<double> device_median_us, event_median_us, clock_median_us, clock_excess_low_us, host_us;
  std::optional<std::int64_t> launches;
  std::optional<bool> synchronizes;
  std::optional<double> plan_ms, break_even_runs;
  std::optional<std::int64_t> pairs, processes;
  std::string stopped_by;
  std::optional<std::int64_t> throttled_redone, void_redone;
  std::map<std::string, double> phases;
  nlohmann::json samples;
  bool operator==(const Timing&) const = default;

  static constexpr std::string_view kName = "Timing", kHelp = "The times of a case, on a GPU alone.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("median_us", &Timing::median_us, "of the submission's processes, each by its median"),
        field("low_us", &Timing::low_us, "of the interval over the processes"),
        field("high_us", &Timing::high_us, "of it"),
        field("confidence", &Timing::confidence, "of the interval"),
        field("bound_by", &Timing::bound_by,
              "`host` when the executor's host clock showed more than the device's clock, beyond the "
              "baseline's own difference: then the excess is part of the median; else `device`. Before the "
              "executor `event` or `wall`"),
        field("device_median_us", &Timing::device_median_us, "by the device's clock, which counts"),
        field("event_median_us", &Timing::event_median_us, "by events, for comparison: it decides nothing"),
        field("clock_median_us", &Timing::clock_median_us, "by the executor's host clock"),
        field("clock_excess_low_us", &Timing::clock_excess_low_us,
              "what the host clock showed more, beyond the baseline's own difference"),
        field("host_us", &Timing::host_us, "the median time of host code while the gate was closed"),
        field("launches", &Timing::launches,
              "kernels that a run launches, those of graphs included; 0 where it is not known (`--direct`)"),
        field("synchronizes", &Timing::synchronizes,
              "the submission waits for the device: from there on its host code is in the time"),
        field("plan_ms", &Timing::plan_ms, "of the last plan"),
        field("break_even_runs", &Timing::break_even_runs,
              "after which the plan has paid, beside the baseline"),
        field("pairs", &Timing::pairs, "timed pairs"),
        field("processes", &Timing::processes, "process pairs"),
        field("stopped_by", &Timing::stopped_by,
              "`narrow` (more runs in the same processes would not help), `budget` or `max_pairs`"),
        field("throttled_redone", &Timing::throttled_redone, "pairs done again since the GPU was throttled"),
        field("void_redone", &Timing::void_redone, "runs that had no clock and were done again"),
        field("phases", &Timing::phases,
              "seconds of the timed phase: `inputs` (inputs drawn, outputs poisoned), `switch` (processes "
              "stopped and continued), `commands` (the measured runs), `processes` (the next process pair "
              "takes its place and plans), `replan`, `checks`, `gpu_state`"),
        field(
            "samples", &Timing::samples,
            "one array a series, in order of measurement: `process` (the process pair), `submission_us`, "
            "`submission_event_us`, `submission_clock_us`, `submission_host_us`, `baseline_us` and "
            "`baseline_host_us` (by baseline name), `checked_closely` (1 for pairs that the seed chose for "
            "the lab's closest check), `replanned` (1 for pairs before which the submission planned anew), "
            "`inputs` (0 for the case's own inputs, k for the lab's k-th hard ones), and `clocks`: `{sm_mhz, "
            "memory_mhz, temperature_c, throttle_reasons}` at the start and end"),
    };
  }
};

struct Floor : typed::Object {
  std::optional<double> compulsory_bytes, peak_bytes_per_s, floor_us, fraction;
  bool operator==(const Floor&) const = default;

  static constexpr std::string_view kName = "Floor",
                                    kHelp = "The time that moving the compulsory bytes once would take.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{field("compulsory_bytes", &Floor::compulsory_bytes, "that no program can do without"),
                      field("peak_bytes_per_s", &Floor::peak_bytes_per_s, "of the device's memory"),
                      field("floor_us", &Floor::floor_us, "the time"),
                      field("fraction", &Floor::fraction, "floor / median")};
  }
};

struct OutputsBy : typed::Object {
  std::int64_t kernels = 0;
  std::string last_writer;
  std::int64_t host_bytes = 0;
  std::optional<std::int64_t> filled_bytes;
  std::int64_t bytes = 0;
  bool operator==(const OutputsBy&) const = default;

  static constexpr std::string_view kName = "OutputsBy",
                                    kHelp = "Who wrote the outputs last, in the worst checked run.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("kernels", &OutputsBy::kernels, "launched"),
        field("last_writer", &OutputsBy::last_writer,
              "`host` if copies of the host's data wrote more than 1/16 of the outputs' `bytes` last, else "
              "`kernel`, or `none` where no kernel was launched"),
        field("host_bytes", &OutputsBy::host_bytes, "that the host's data came to"),
        field("filled_bytes", &OutputsBy::filled_bytes, "that a fill or a copy of one value wrote"),
        field("bytes", &OutputsBy::bytes, "of the outputs")};
  }
};

struct Verification : typed::Object {
  std::optional<std::int64_t> repetitions;
  std::optional<std::vector<std::string>> methods;
  std::optional<std::int64_t> cells_checked;
  std::optional<double> max_error_over_bound, max_rms_over_limit;
  std::string order;
  nlohmann::json timed;
  bool operator==(const Verification&) const = default;

  static constexpr std::string_view kName = "Verification", kHelp = "How outputs were checked.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("repetitions", &Verification::repetitions, "checked runs"),
        field("methods", &Verification::methods, "of checking"),
        field("cells_checked", &Verification::cells_checked, "over all runs"),
        field("max_error_over_bound", &Verification::max_error_over_bound,
              "the largest error of an accepted cell (or row of a product) over its bound, above 1 only for "
              "the few cells that may (`judge/labs/spmm/README.md`)"),
        field("max_rms_over_limit", &Verification::max_rms_over_limit,
              "of labs that look at root mean squares, the largest one over its limit"),
        field("order", &Verification::order,
              "of labs whose order follows from the seed, the plans, checked runs and the timed phase: `plan "
              "run timed run \\| plan run`"),
        field("timed", &Verification::timed,
              "of declared labs on a GPU, who said what was right in how many timed repetitions "
              "(`judge/labs/declared/README.md`): `oracle`, `baseline`, `asked_again` (outputs differed, and "
              "the oracle decided), `baseline_max_error_over_bound`")};
  }
};

// Who handed in what, as records and run.json name it.
struct SubmissionName : typed::Object {
  std::string id, title, hash, interface, language, role;
  std::vector<std::string> notes;
  bool operator==(const SubmissionName&) const = default;

  static constexpr std::string_view kName = "Submission", kHelp = "What was judged.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{field("id", &SubmissionName::id, "unique in the run"),
                      field("title", &SubmissionName::title, "what its author calls it"),
                      field("hash", &SubmissionName::hash, "of what is compiled"),
                      field("interface", &SubmissionName::interface,
                            "`spmm.h` or `SpMMOpt`, of a submission in Python `matmul.py`"),
                      field("language", &SubmissionName::language, "`Python`, of such a submission"),
                      field("role", &SubmissionName::role, "`student`, `reference` or `baseline`"),
                      field("notes", &SubmissionName::notes, "what taking it in changed")};
  }
};

struct Record : typed::Object {
  std::string schema, run;
  SubmissionName submission;
  std::map<std::string, std::string> harness;
  std::string lab;
  Case test_case;  // `case`
  std::string backend, sandbox, host_isolation;
  nlohmann::json isolation;
  std::string seed_commitment;
  nlohmann::json toolchain;
  std::string node;
  nlohmann::json device;
  std::string started_at, recorded_at;
  std::optional<double> wall_s;
  std::map<std::string, double> phases;
  Outcome outcome{Verdict::kUnknown, Reason::kNone, ""};
  std::optional<Verification> verification;
  nlohmann::json mismatches;
  std::string pattern;
  nlohmann::json plan, calls;
  std::optional<OutputsBy> outputs_by;
  nlohmann::json unordered_work;
  std::optional<Timing> timing;
  std::map<std::string, Ratio> ratios, ratios_with_host;
  std::optional<Floor> floor;
  std::optional<double> throughput_per_s, throughput_nnz_per_s, flop;
  nlohmann::json kernels, estimate, counters, diagnostics, cause_search;
  std::vector<std::string> judge_faults, outputs_noted;
  std::optional<std::int64_t> executor_serves;
  std::string checksum;
  bool operator==(const Record&) const = default;

  // By what counts: the device's time, or host code as well.
  const std::map<std::string, Ratio>& ratios_by(bool with_host) const {
    return with_host ? ratios_with_host : ratios;
  }
  std::string device_name() const {
    return device.is_object() ? device.value("name", std::string()) : std::string();
  }

  static constexpr std::string_view kName = "Record", kHelp = "One case of one submission, judged.";
  // A table, a line a field.
  static constexpr auto fields() {  // NOLINT(readability-function-size)
    using typed::field;
    return std::tuple{
        field("schema", &Record::schema, "`\"warpgrade.case.v1\"`"),
        field("run", &Record::run, "the run's id"),
        field("submission", &Record::submission, "what was judged"),
        field("harness", &Record::harness,
              "`{version, hash}`: the grader that judged; the hash covers its binaries and contracts"),
        field("lab", &Record::lab, "`spmm`"),
        field("case", &Record::test_case,
              "which case; a declared lab's has `parameters` instead of rows to shape"),
        field("backend", &Record::backend, "`cuda` or `emulator`"),
        field("sandbox", &Record::sandbox, "`bubblewrap` or `unsandboxed`"),
        field("host_isolation", &Record::host_isolation,
              "`executor`: host code ran in a process without a GPU, times and findings are a trusted "
              "process's; `direct` (`grade --direct`): they are the submission's own word. Absent in records "
              "from before the executor"),
        field("isolation", &Record::isolation,
              "the protections under which it was judged: `{sandbox, namespaces, cgroup, pause, seccomp, "
              "missing}`: sandbox `bubblewrap` or `none`; cgroup `{version, controllers, how}`, version `1`, "
              "`2`, `1+2` (limits from 1, freezing and killing from 2) or `none`, controllers of `memory`, "
              "`pids`, `cpu`; pause `freezer` or `SIGSTOP`; missing: what this machine did not give, of "
              "`sandbox`, `memory`, `processes`, `cpu`, `freezer`, `seccomp`. Absent in older records"),
        field("seed_commitment", &Record::seed_commitment,
              "SHA-256 of the hidden seed (the seed itself stays with the judge until the run is closed)"),
        field("toolchain", &Record::toolchain, "`{nvcc, arch, flags}`"),
        field("node", &Record::node, "on Slurm: the node's name there"),
        field("device", &Record::device,
              "`{name, uuid, driver, sm_count, memory_bytes, l2_bytes, mig, ecc}` on a GPU, `mig` and `ecc` "
              "where NVIDIA's library tells; `{name, threads}` on the emulator"),
        field("started_at", &Record::started_at, "UTC time, of older records"),
        field("recorded_at", &Record::recorded_at, "UTC time"),
        field("wall_s", &Record::wall_s, "of the whole case"),
        field("phases", &Record::phases, "seconds of `wall_s`, see below"),
        field("outcome", &Record::outcome, "the verdict"),
        field("verification", &Record::verification, "how outputs were checked"),
        field("mismatches", &Record::mismatches, "up to 16 of `{row, col, row_nnz, want, got}`"),
        field("pattern", &Record::pattern, "what these have in common, in a sentence"),
        field("plan", &Record::plan,
              "`{ms, device_bytes}` of the last plan: its time (on a GPU only), and the device memory in "
              "allocations that it made and still holds when it returns (through the executor only)"),
        field(
            "calls", &Record::calls,
            "what the submission's calls took: `{total_s, limit_s, load, busy}`: `total_s` of `limit_s` (the "
            "policy's `case_s`); `load`: threads that ran or wanted to run on the machine, the mean over the "
            "last command, or over the case where `limit_s` was used up; `busy`: more than cores, or nobody "
            "can tell (a quota), so that a `time_limit` is tried again. Absent in older records"),
        field(
            "outputs_by", &Record::outputs_by,
            "who wrote the outputs last, in the worst checked run (`judge/executor/README.md`, Who wrote the "
            "outputs). Absent with `--direct`, in older records, and where no checked run came to its end"),
        field("unordered_work", &Record::unordered_work,
              "work that nothing orders before the end of a checked run, of the run that left most: "
              "`{commands, last}`: how many commands, and one of them with its stream. Absent where there is "
              "none (`judge/executor/README.md`, What a run leaves behind)"),
        field("timing", &Record::timing, "only when measured"),
        field("ratios", &Record::ratios, "speed-ups by baseline"),
        field("ratios_with_host", &Record::ratios_with_host,
              "the same over the same pairs when host code counts on both sides; of a policy with `time: "
              "device_and_host` these count"),
        field("floor", &Record::floor, "beside the memory's own time"),
        field("throughput_per_s", &Record::throughput_per_s, "of what `terms.work` in run.json names"),
        field("throughput_nnz_per_s", &Record::throughput_nnz_per_s, "of spmm: nnz / median time"),
        field("flop", &Record::flop, "of a declared lab that says it: floating-point operations of a run"),
        field("kernels", &Record::kernels, "what ptxas reported, as in compile.json"),
        field("estimate", &Record::estimate,
              "emulator with `levels` among its checks: what `course/profile/estimate_json.h` says of the "
              "time on a GPU (`us`, `low_us`, `high_us`, `bound`, `without`, or `refusal`) and `text`, the "
              "same in sentences; never part of a score"),
        field(
            "counters", &Record::counters,
            "emulator only: totals, and `kernels`: one object a kernel, each with its `lines` (those that "
            "matter with their `source`) and `buffers` ([what each figure "
            "means](../../emulator/src/report/README.md)), and `findings`: what makes them slow, `{problem, "
            "kernel, severity, message, advice, places}`, `problem` (in older records `disease`) being "
            "`divergence`, `uncoalesced`, `redundant`, `imbalance`, `bank_conflicts` or `contention` and a "
            "place `{file, line, text, share}`"),
        field(
            "diagnostics", &Record::diagnostics,
            "what the emulator's checks found, one object a mistake; on either backend also what the runner "
            "noted of calls that succeeded: `default_stream` (a kernel on the default stream, where the "
            "contract gives another) and, through an older interface, `invalid_launch` (an error code that "
            "nobody read)"),
        field("cause_search", &Record::cause_search,
              "of a wrong answer on the emulator without a finding that explains it: `{schedules, found, "
              "wall_s}`, how the case ran again (`WARPEMU_SCHEDULE`, with every check). What was found "
              "stands first in `diagnostics`, with its `schedule`, and first in the message; the verdict "
              "stays"),
        field("judge_faults", &Record::judge_faults,
              "only with reason `judge_fault_twice`: what each of two judges said, or how it ended"),
        field("outputs_noted", &Record::outputs_noted,
              "hashes of the outputs of checked runs, where they are asked for"),
        field("executor_serves", &Record::executor_serves, "which of an executor's cases this was, from 1"),
        field("checksum", &Record::checksum,
              "the SHA-256 of the record's canonical JSON (sorted keys, no spaces) without this field"),
    };
  }
};

}  // namespace warpgrade
