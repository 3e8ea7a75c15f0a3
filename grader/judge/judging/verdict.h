// What the judge found on one case. A submission's fault is a verdict, never an exception.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

namespace verdicts {
inline constexpr const char* kAccepted = "accepted";
inline constexpr const char* kWrongAnswer = "wrong_answer";
inline constexpr const char* kRuntimeError = "runtime_error";
inline constexpr const char* kTimeLimit = "time_limit";
inline constexpr const char* kMemoryLimit = "memory_limit";
inline constexpr const char* kCompileError = "compile_error";
inline constexpr const char* kNotImplemented = "not_implemented";
inline constexpr const char* kTimingRejected = "timing_rejected";
inline constexpr const char* kCheating = "cheating";
inline constexpr const char* kJudgeFault = "judge_fault";
inline constexpr const char* kNotRun = "not_run";
inline constexpr const char* kLeftOut =
    "left_out";  // the reason of a not_run that stays one, see is_left_out
}  // namespace verdicts

// The case asks for more than the submission's older interface was promised: not judged, and none of
// its cases.
inline bool is_left_out(const nlohmann::json& outcome) {
  return outcome.value("verdict", "") == verdicts::kNotRun &&
         outcome.value("reason", "") == verdicts::kLeftOut;
}

struct Outcome {
  std::string verdict = verdicts::kAccepted;
  std::string reason;   // a stable word
  std::string message;  // one line for people
  nlohmann::json details;

  bool accepted() const { return verdict == verdicts::kAccepted; }
  nlohmann::json to_json() const {
    nlohmann::json json{{"verdict", verdict}};
    if (!reason.empty()) json["reason"] = reason;
    if (!message.empty()) json["message"] = message;
    if (!details.is_null()) json["details"] = details;
    return json;
  }
};

}  // namespace warpgrade
