#include "judge/labs/declared/prepared_runs.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/elapsed.h"

namespace warpgrade::declared {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShareOfMemory = 4;
// A run's oracle works with arrays of its own; they are taken to be as large as those that it shares.
constexpr std::size_t kOracleOverShared = 2;

std::optional<std::size_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::size_t number = 0;
  if (!(in >> number)) return std::nullopt;  // "max" is no limit
  return number;
}

std::optional<std::size_t> available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kilobytes = 0; file >> name >> kilobytes;) {
    if (name == "MemAvailable:") return kilobytes << 10;
    std::getline(file, unit);
  }
  return std::nullopt;
}

// Of control groups of version 2, then of version 1; as a container shows them.
std::optional<std::size_t> left_of_group() {
  const std::string root = "/sys/fs/cgroup/";
  for (const auto& [limit, used] :
       {std::pair{"memory.max", "memory.current"},
        std::pair{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"}}) {
    const auto most = number_in(root + limit), now = number_in(root + used);
    if (most && now) return *most - std::min(*most, *now);
  }
  return std::nullopt;
}

}  // namespace

std::size_t memory_for_prepared_runs() {
  const std::size_t left = std::min(available_bytes().value_or(0),
                                    left_of_group().value_or(std::numeric_limits<std::size_t>::max()));
  return std::min(left / kShareOfMemory, kMostPreparedBytes);
}

PreparedRuns::PreparedRuns(const declaration::LabDeclaration& lab, const Case& declared,
                           const std::filesystem::path& graph, Oracles oracles, Limits limits)
    : oracles_(std::move(oracles)), limits_(limits), plan_sees_(CaseArrays::plan_sees_arrays(lab)) {
  first_.oracle = &oracles_(0);
  first_.arrays = std::make_unique<CaseArrays>(lab, declared, graph, *first_.oracle, limits.threads);
}

PreparedRuns::~PreparedRuns() {
  first_.oracle->release_memory();
  for (const auto& slot : others_) slot->oracle->release_memory();
}

void PreparedRuns::draw_for_plan(std::uint64_t seed) {
  ++plan_;
  plan_seed_ = seed;
  first_.arrays->draw_for_plan(seed);
  first_.plan = plan_;
  first_.drawn = false;  // its truth is another plan's
}

void PreparedRuns::draw_for_show(std::uint64_t seed) {
  first_.arrays->draw_for_run(seed);
  current_ = &first_;
}

PreparedRuns::Slot* PreparedRuns::find_ready(std::uint64_t seed) const {
  const auto found = std::find_if(ready_.begin(), ready_.end(),
                                  [&](const Slot* slot) { return slot->drawn && slot->seed == seed; });
  return found == ready_.end() ? nullptr : *found;
}

CaseArrays& PreparedRuns::take(const Seeds& seeds) {
  if (current_->drawn && current_->seed == seeds.front() && !is_stale(*current_)) return current();
  std::erase_if(ready_, [&](const Slot* slot) {
    return std::find(seeds.begin(), seeds.end(), slot->seed) == seeds.end();
  });
  Slot* wanted = find_ready(seeds.front());
  if (wanted == nullptr) {
    Seeds missing;
    std::copy_if(seeds.begin(), seeds.end(), std::back_inserter(missing),
                 [&](std::uint64_t seed) { return find_ready(seed) == nullptr; });
    at_once_ = how_many(static_cast<int>(missing.size()));
    if (at_once_ <= 1) return take_alone(seeds.front());
    prepare_several(missing, at_once_);
    wanted = find_ready(seeds.front());
  } else if (is_stale(*wanted)) {
    prepare_at_once(ready_.size());
  }
  current_ = wanted;
  std::erase(ready_, wanted);
  return current();
}

CaseArrays& PreparedRuns::take_alone(std::uint64_t seed) {
  const auto start = Clock::now();
  first_.seed = seed;
  first_.drawn = false;
  single_thread_s_ = prepare(first_, limits_.threads);
  single_s_ = seconds_since(start);
  current_ = &first_;
  one_passed_ = true;
  return current();
}

CaseArrays& PreparedRuns::restore(std::uint64_t seed, const Answer& answer) {
  if (current_->drawn && current_->seed == seed && !is_stale(*current_)) return current();
  current_ = &first_;
  first_.seed = seed;
  first_.drawn = false;
  if (std::exchange(first_.plan, plan_) != plan_) first_.arrays->draw_for_plan(plan_seed_);
  first_.arrays->draw_for_run(seed);
  first_.arrays->put_answer(answer);
  first_.drawn = true;
  return current();
}

// The first run of a case is prepared alone, if that is wanted. It also says how long one takes.
int PreparedRuns::how_many(int may_come) const {
  if (!one_passed_ && limits_.first_alone) return 1;
  const std::size_t each = kOracleOverShared * std::max<std::size_t>(first_.arrays->shared_bytes(), 1);
  const auto fit = static_cast<int>(std::min<std::size_t>(limits_.memory_bytes / each, 1 << 20));
  const int most = std::min({limits_.threads, may_come, fit - static_cast<int>(ready_.size())});
  if (most <= 1) return 1;
  // At once each has one thread. An oracle that fills all cores by itself is no slower one run after
  // the other.
  const double saved = may_come * (single_s_ - single_thread_s_ / most);
  return limits_.worth_seconds < 0 || saved >= limits_.worth_seconds ? most : 1;
}

PreparedRuns::Slot& PreparedRuns::free_slot() {
  for (const auto& slot : others_)
    if (std::find(ready_.begin(), ready_.end(), slot.get()) == ready_.end()) return *slot;
  others_.push_back(std::make_unique<Slot>());
  others_.back()->oracle = &oracles_(static_cast<int>(others_.size()));
  return *others_.back();
}

void PreparedRuns::prepare_several(const Seeds& seeds, int count) {
  for (int i = 0; i < count; ++i) {  // all oracles are on their way before one is awaited
    Slot& slot = free_slot();
    slot.seed = seeds[static_cast<std::size_t>(i)];
    slot.drawn = false;
    ready_.insert(ready_.begin() + i, &slot);
  }
  prepare_at_once(static_cast<std::size_t>(count));
}

// The first `count` of those that are ready, a thread each. What any of them throws is thrown when all
// have ended.
void PreparedRuns::prepare_at_once(std::size_t count) {
  const int threads = std::max(1, limits_.threads / static_cast<int>(count));
  for (std::size_t i = 0; i < count; ++i) ready_[i]->oracle->start();  // they outlive the threads
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&](std::size_t i) {
    try {
      prepare(*ready_[i], threads);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < count; ++i) others.emplace_back(work, i);
    work(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    ready_.clear();
    std::rethrow_exception(failure);
  }
}

// Returns what it would take on one thread.
double PreparedRuns::prepare(Slot& slot, int threads) const {
  if (slot.arrays == nullptr) slot.arrays = std::make_unique<CaseArrays>(*first_.arrays, *slot.oracle);
  const auto start = Clock::now();
  if (slot.plan != plan_) slot.arrays->draw_for_plan(plan_seed_, threads);
  slot.plan = plan_;
  if (!slot.drawn) slot.arrays->draw_for_run(slot.seed, threads);
  slot.drawn = true;
  const double drawing_s = seconds_since(start);
  return drawing_s * (slot.arrays->is_drawn_by_threads() ? threads : 1) + slot.arrays->find_truth();
}

}  // namespace warpgrade::declared
