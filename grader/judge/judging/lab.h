// What a lab brings to the grader: its cases, its baselines, and how one case is judged. All labs have their
// cases in reference/<lab>/lab.yaml. A lab is declared there in full, or, where that cannot say enough, says
// `judge: C++` and registers its judge from grader/judge/labs/<lab>/ (judge/labs/written_lab.h).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/declaration/case_work.h"
#include "judge/judging/judge_context.h"
#include "record/case.h"

namespace warpgrade {
class YamlPlace;

struct Baseline {
  std::string name;                    // "cusparse_default"
  std::filesystem::path folder;        // relative to the project root
  std::vector<std::string> libraries;  // "cusparse"
  bool every_pair = true;              // false: slow, measured a few times only
};

// What a lab's reports call things.
struct Terms {
  std::string width;        // Case::width; empty: a case is its dataset alone
  std::string work;         // what throughput counts
  std::string output;       // the array that is checked
  std::string ladder = "";  // the dataset whose cases the ladder's steps are about; empty: all cases
};

class Lab {
 public:
  virtual ~Lab() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  virtual Terms terms() const = 0;
  virtual std::vector<Case> cases() const = 0;
  virtual std::vector<Baseline> baselines() const = 0;
  // A program that says what is right in timed repetitions, in the first baseline's place; it is not timed.
  virtual std::optional<Baseline> device_truth() const { return std::nullopt; }

  // The cases of a list as lab.yaml has one; policies add their own to a lab's. Throws UsageError naming
  // file, line, key and what was expected.
  std::vector<Case> read_cases(const YamlPlace& list) const;

  // The cases that a user's own input makes (--input), checked in full. Throws datasets::DatasetError for an
  // input that cannot be used, UsageError in a lab that takes none.
  virtual std::vector<Case> cases_of_input(const std::filesystem::path& input) const;

  // Whether a case can be judged on the dataset that its policy names: `file` is its CSR. Throws UsageError
  // naming the case's place.
  virtual void check_dataset(const Case& spec, const std::filesystem::path& file) const;

  // A case on a dataset of this size as a policy's list has it, without the braces: "graph: NAME, k: [32,
  // 256]". Empty: the lab has no cases on datasets, or none on one of this size.
  virtual std::string case_on_dataset(const std::string& /*name*/, int /*rows*/, int /*cols*/,
                                      std::int64_t /*entries*/) const {
    return "";
  }

  // A hash of the files beside the programs that say what the lab judges; empty: it is in the programs alone.
  virtual std::string definition() const { return ""; }

  // What the dry run of a submission in Python is given (judge/runner/triton/README.md), for these cases and
  // those that the lab knows beforehand: {"public": true, "values": {"n": 3}}, each once. Never an input.
  nlohmann::json dry_run_cases(const std::vector<Case>& judged) const;

  // Judges one case; returns the record's measured part (shape, outcome, verification, timing, ...). A
  // submission's fault is an outcome; throws JudgeFault for the judge's own.
  virtual nlohmann::json judge(const JudgeContext& context, const Case& input) const = 0;

  // What a case asks of a device, from the `case` of its record: so records of any age have it. Nothing where
  // the record lacks what the model reads.
  virtual std::optional<CaseWork> work_of(const Case& /*described*/) const { return std::nullopt; }

  // Makes what judging the case will need and no submission changes, to be found in the services' kept data;
  // before there is a submission. Throws JudgeFault; the case's judge tells what is wrong.
  virtual void make_ahead(const JudgeContext& /*context*/, const Case& /*input*/) const {}

 private:
  // The numbers of a case's calls in Python (reference/README.md). Several where they follow from an input that
  // is not drawn yet; none where they follow from a file that is not given.
  virtual std::vector<nlohmann::json> call_numbers(const Case& /*input*/) const { return {}; }
  // Those of one item: more than one where it lists widths, as in `k: [32, 256]`.
  virtual std::vector<Case> read_item(const YamlPlace& item) const = 0;
};

}  // namespace warpgrade
