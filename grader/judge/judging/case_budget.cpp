#include "judge/judging/case_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/sandbox/usable_cores.h"

namespace warpgrade {
namespace {

using protocol::Op;

constexpr std::array kCounted{Op::kPlan, Op::kRun, Op::kFree};

double in_seconds(std::chrono::microseconds time) {
  return 1e-6 * static_cast<double>(time.count());
}

}  // namespace

bool CaseBudget::counts(Op op) {
  return std::find(kCounted.begin(), kCounted.end(), op) != kCounted.end();
}

CaseBudget::Time CaseBudget::rest() const {
  return std::max(Time(0), std::chrono::duration_cast<Time>(total_ - spent_));
}

void CaseBudget::end_call(Op op, std::chrono::microseconds taken) {
  case_load_.add(call_load_);
  const auto kind = std::find(kCounted.begin(), kCounted.end(), op);
  if (kind == kCounted.end()) return;
  spent_ += taken;
  auto& longest = longest_[static_cast<std::size_t>(kind - kCounted.begin())];
  longest = std::max(longest, taken);
}

bool CaseBudget::has_room_for(const Calls& calls) const {
  return calls.plans * longest_[0] + calls.runs * longest_[1] + calls.frees * longest_[2] < rest();
}

double CaseBudget::deciding_load() const {
  return rest() > Time(0) ? call_load_.value() : case_load_.value();
}

bool CaseBudget::was_busy() const {
  return is_busy(deciding_load());
}

std::string CaseBudget::text() const {
  return fmt::format("the case's calls took {:.3g} s of {:.3g} s; {}", in_seconds(spent_), in_seconds(total_),
                     load_text(deciding_load()));
}

nlohmann::json CaseBudget::to_json() const {
  return {{"total_s", in_seconds(spent_)},
          {"limit_s", in_seconds(total_)},
          {"load", deciding_load()},
          {"busy", was_busy()}};
}

}  // namespace warpgrade
