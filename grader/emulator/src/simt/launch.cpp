// The pool of workers and the blocks they run.
//
// Blocks start in linear order, those of a cluster together. A worker finishes a block before it takes the
// next, unless the block spins on something another block must do: then the worker keeps it and starts or
// resumes others, so that locks, flags and grid-wide barriers make progress whatever the number of workers.
// A block that passes very many barriers may be spinning, too, and lets others run now and then.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "check/global_races.h"
#include "check/race_report.h"
#include "memory/device_heap.h"
#include "native/run.h"
#include "observe/counts.h"
#include "observe/hierarchy.h"
#include "order/touched_memory.h"
#include "program/build.h"
#include "report/counters.h"
#include "simt/barriers.h"
#include "simt/execute.h"
#include "simt/run_launch.h"
#include "support/base_name.h"
#include "support/settings.h"
#include "texture/images.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kResidentBlocks = 256;  // blocks that a worker keeps waiting, cooperative grids aside
constexpr uint32_t kSlicesAfterFault = 256;

// Threads that sleep between launches; the caller of run() works as number 0.
class Pool {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  void run(unsigned workers, const std::function<void(unsigned)>& work) {
    grow(workers - 1);
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      wanted_ = workers;
      remaining_ = workers - 1;
      ++generation_;
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return remaining_ == 0; });
    work_ = nullptr;
  }

 private:
  void grow(unsigned threads) {
    while (threads_ < threads) {
      const unsigned index = ++threads_;
      std::thread([this, index] { serve(index); }).detach();
    }
  }

  void serve(unsigned index) {
    uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_ != seen && work_ != nullptr && index < wanted_; });
      seen = generation_;
      const auto* work = work_;
      lock.unlock();
      (*work)(index);
      lock.lock();
      if (--remaining_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(unsigned)>* work_ = nullptr;
  unsigned wanted_ = 0, remaining_ = 0, threads_ = 0;
  uint64_t generation_ = 0;
};

// The clusters that a worker has begun, and their blocks' turns. Without clusters each block is one of
// its own.
class BlockLoop {
 public:
  BlockLoop(Launch& launch, Worker& worker) : launch_(launch), worker_(worker) {}

  void run() {
    while (!turns_.empty() || start_next()) {
      const Turn turn = turns_.front();
      turns_.pop_front();
      Block& block = turn.block();
      if (launch_.stops(block.linear) || turn.of->broken) {
        leave(turn, true);
        continue;
      }
      switch (run_block(block, launch_)) {
        case BlockState::finished:
          if (worker_.counts != nullptr) worker_.counts->add_block(block);
          if (stop_if_late(block, launch_)) return;
          leave(turn, false);
          break;
        case BlockState::spinning:
          if (launch_.has_fault()) {  // what it waits for may have been stopped
            leave(turn, true);
            break;
          }
          let_others_run(turn);
          break;
        case BlockState::preempted:
          // It may be at work, or wait for what the fault has stopped.
          if (launch_.has_fault() && ++block.slices_after_fault > kSlicesAfterFault) {
            leave(turn, true);
            break;
          }
          let_others_run(turn);
          break;
        case BlockState::held:
          turn.of->held.push_back(turn.rank);
          open_or_report(*turn.of);
          break;
        case BlockState::aborted:
          leave(turn, true);
          break;
      }
    }
  }

 private:
  struct Resident {
    Cluster cluster;
    std::vector<std::unique_ptr<BlockSlot>> slots;  // by rank
    std::vector<uint32_t> held;                     // ranks that wait at the cluster's barrier alone
    uint32_t left = 0;                              // blocks that have not ended
    bool broken = false;                            // one of them was stopped
  };
  struct Turn {
    Resident* of;
    uint32_t rank;
    Block& block() const { return of->slots[rank]->block; }
  };

  bool start_next() {
    const uint64_t number = launch_.next_cluster.fetch_add(1, std::memory_order_relaxed);
    const uint32_t size = launch_.cluster_blocks();
    if (number >= launch_.blocks() / size || launch_.stops(linear_of(number, 0))) return false;
    if (free_.empty()) {
      all_.push_back(make_resident(size));
      free_.push_back(all_.back().get());
    }
    Resident& resident = *free_.back();
    free_.pop_back();
    resident.left = size;
    resident.broken = false;
    for (uint32_t rank = 0; rank < size; ++rank) {
      resident.slots[rank]->start(linear_of(number, rank));
      turns_.push_back({&resident, rank});
    }
    return true;
  }

  std::unique_ptr<Resident> make_resident(uint32_t size) {
    auto resident = std::make_unique<Resident>();
    std::copy_n(launch_.cluster, 3, resident->cluster.size);
    for (uint32_t rank = 0; rank < size; ++rank) {
      resident->slots.push_back(std::make_unique<BlockSlot>());
      BlockSlot& slot = *resident->slots.back();
      slot.block.cluster = &resident->cluster;
      slot.block.rank = rank;
      slot.prepare(launch_, worker_);
      resident->cluster.blocks.push_back(&slot.block);
    }
    return resident;
  }

  // Others first, this one again after them.
  void let_others_run(const Turn& turn) {
    if (launch_.cooperative || turns_.size() + 1 < kResidentBlocks) start_next();
    turns_.push_back(turn);
  }

  // The number in the grid of a block, given its cluster's number and its rank in it.
  uint64_t linear_of(uint64_t number, uint32_t rank) const {
    uint64_t linear = 0, stride = 1;
    for (uint32_t axis = 0; axis < 3; ++axis) {
      const uint32_t size = launch_.cluster[axis], clusters = launch_.grid[axis] / size;
      linear += (number % clusters * size + rank % size) * stride;
      number /= clusters;
      rank /= size;
      stride *= launch_.grid[axis];
    }
    return linear;
  }

  void leave(const Turn& turn, bool stopped) {
    turn.block().has_returned = true;
    turn.of->broken |= stopped && turn.of->slots.size() > 1;
    --turn.of->left;
    open_or_report(*turn.of);
  }

  // Opens the cluster's barrier when all its threads have arrived, or reports that they never will.
  void open_or_report(Resident& resident) {
    if (resident.left == 0) {
      free_.push_back(&resident);
      return;
    }
    const bool open = !resident.held.empty() && open_cluster_barrier(resident.cluster);
    const bool stuck = !open && resident.held.size() == resident.left;
    if (stuck && !resident.broken && !launch_.has_fault())
      report_deadlock(resident.slots[resident.held.front()]->block);
    resident.broken |= stuck;
    if (!open && !stuck) return;
    // In the order of their ranks, before the next clusters.
    std::sort(resident.held.begin(), resident.held.end());
    for (size_t k = resident.held.size(); k-- > 0;) turns_.push_front({&resident, resident.held[k]});
    resident.held.clear();
  }

  Launch& launch_;
  Worker& worker_;
  std::deque<Turn> turns_;
  std::vector<std::unique_ptr<Resident>> all_;
  std::vector<Resident*> free_;
};

void lay_out_shared(Launch& launch) {
  const Program& program = *launch.program;
  launch.shared = program.shared_variables;
  const uint32_t begin = program.dynamic_shared_begin;
  if (launch.dynamic_shared != 0)
    launch.shared.push_back({"dynamic shared memory", begin, begin + launch.dynamic_shared});
  if (launch.shared.empty()) launch.shared.push_back({"", 0, 0});
  launch.shared_bytes = begin + launch.dynamic_shared;
}

void set_up(Worker& worker, Launch& launch, unsigned index) {
  worker.launch = &launch;
  worker.index = index;
  worker.undo = launch.trial ? &launch.undo_logs[index] : nullptr;
  worker.allocations = launch.allocations->data();
  worker.allocation_count = static_cast<uint32_t>(launch.allocations->size());
  worker.init_check = settings().init_check;
  worker.race_check = settings().race_check;
  worker.touched = launch.touched;
  worker.sync_check = settings().sync_check;
  worker.observe = worker.counts != nullptr || worker.init_check || worker.race_check;
  worker.allocation_hint.assign(launch.program->code.size(), worker.allocation_count);
  worker.shared_hint.assign(launch.program->code.size(), 0);
}

unsigned worker_count(const Launch& launch) {
  const uint64_t clusters = launch.blocks() / launch.cluster_blocks();
  return static_cast<unsigned>(std::clamp<uint64_t>(clusters, 1, settings().threads));
}

// Kernels in whose launches something was found: one worker runs them from the start.
std::set<const Program*>& suspects() {
  static auto* programs = new std::set<const Program*>;
  return *programs;
}

// Runs all blocks. `counts` is empty unless counters are asked for.
void run_blocks(Launch& launch, unsigned worker_count, std::vector<WorkerCounts>& counts) {
  std::vector<Worker> workers(worker_count);
  launch.undo_logs.assign(worker_count, {});
  counts.clear();
  if (launch.touched != nullptr) launch.touched->begin(*launch.program, *launch.allocations, worker_count);
  if (launch.runtime != nullptr) ParameterBuffers::instance().reset();
  if (settings().counters) {
    counts.reserve(workers.size());
    while (counts.size() < workers.size()) counts.emplace_back(launch.program->code.size());
    for (size_t k = 0; k < workers.size(); ++k) workers[k].counts = &counts[k];
  }
  const std::function<void(unsigned)> work = [&](unsigned index) {
    set_up(workers[index], launch, index);
    std::optional<Hierarchy> hierarchy;
    if (settings().levels) workers[index].hierarchy = &hierarchy.emplace(launch);
    const std::unique_ptr<NativeContext> native = make_native_context(launch, workers[index]);
    workers[index].native = native.get();
    BlockLoop(launch, workers[index]).run();
    if (native) fold_native_counts(*native, *launch.program, workers[index]);
    workers[index].native = nullptr;
    if (!hierarchy) return;
    hierarchy->follow_all();
    counts[index].levels.add(hierarchy->counts);
    counts[index].hot = std::move(hierarchy->hot);
  };
  Pool::instance().run(worker_count, work);
}

// As if the launch had not begun.
void undo(Launch& launch) {
  launch.take_nested();
  launch.tail_launches = 0;
  launch.refusals = 0;
  for (const UndoLog& log : launch.undo_logs) log.undo(*launch.allocations);
  launch.trial = launch.spoilt = false;
  launch.stop_from = Launch::kNoBlock;
  launch.next_cluster = 0;
  launch.steps = 0;
  launch.findings.found.clear();
  launch.findings.doubtful.clear();
  launch.findings.early_exit.reset();
  launch.printed.clear();
}

// By one worker or by several, so that answers and findings are those of one.
void run_in_order(Launch& launch, std::vector<WorkerCounts>& counts) {
  std::optional<GlobalRaces> races;
  const auto follow = [&] {
    if (settings().race_check) launch.global_races = &races.emplace(launch);
  };
  follow();
  unsigned workers = worker_count(launch);
  const bool undoable = races && races->follows_all_writes() && !launch.program->allocates &&
                        !launch.program->stores_to_surfaces;
  if (undoable && suspects().contains(launch.program)) workers = 1;
  launch.trial = undoable && !launch.cooperative && workers > 1;
  run_blocks(launch, workers, counts);
  if (launch.spoilt) {
    undo(launch);
    follow();
    run_blocks(launch, 1, counts);
    suspects().insert(launch.program);
  }
  launch.global_races = nullptr;
  if (launch.touched != nullptr) launch.touched->end();
}

// Whether a note of this kind is the first of its kernel.
bool is_first_note(Finding kind, const Launch& launch) {
  static auto& reported = *new std::set<
      std::pair<Finding, std::string>>;  // never destroyed: programs launch in static destructors
  return reported.insert({kind, launch.program->name}).second;
}

// Two names of one array, where it may be meant as two.
std::optional<FoundInBlock> aliased_arrays(const Launch& launch) {
  const std::vector<DynamicArray>& arrays = launch.program->dynamic_arrays;
  if (!settings().race_check || arrays.size() < 2 || launch.dynamic_shared == 0) return std::nullopt;
  const Program::Place first = place_of(*launch.program->module, arrays[0].location),
                       second = place_of(*launch.program->module, arrays[1].location);
  Diagnostic d;
  d.kind = Finding::aliased_shared;
  d.path = second.path;
  d.line = second.line;
  d.kernel = launch.program->title;
  d.message = "the dynamic shared arrays " + arrays[0].name + " (used at " + base_name(first.path) + ":" +
              std::to_string(first.line) + ") and " + arrays[1].name +
              " begin at the same address: what is written to one is written to the other";
  d.advice =
      "All `extern __shared__` arrays of a kernel are one array. Declare one, and compute where the "
      "second part begins: `float* " +
      arrays[1].name + " = " + arrays[0].name + " + length;`.";
  return FoundInBlock{0, 0, std::move(d)};
}

// Tells what was found, in the order of the blocks. What happened behind the fault did not happen.
void report_launch(Launch& launch) {
  std::vector<FoundInBlock> all = std::move(launch.findings.found);
  for (auto& [instruction, found] : launch.findings.doubtful) {
    const Diagnostic& d = found->diagnostic;
    if (!is_known_race(d.kernel, d.path, d.line)) all.push_back(std::move(*found));
  }
  if (launch.findings.early_exit && is_first_note(Finding::early_exit, launch))
    all.push_back(std::move(*launch.findings.early_exit));
  if (auto arrays = aliased_arrays(launch); arrays && is_first_note(Finding::aliased_shared, launch))
    all.push_back(std::move(*arrays));
  std::sort(all.begin(), all.end(), [](const FoundInBlock& x, const FoundInBlock& y) {
    return std::tie(x.block, x.sequence) < std::tie(y.block, y.sequence);
  });
  for (FoundInBlock& found : all) {
    if (found.block > launch.fault_block) continue;
    if (launch.launched_at != nullptr)
      found.diagnostic.message += "; this grid was launched at " + launch.launched_at->text();
    Diagnostics::instance().add(std::move(found.diagnostic));
  }
  if (launch.printed.empty()) return;
  std::fwrite(launch.printed.data(), 1, launch.printed.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Launch::spoil_trial() {
  if (!trial) return false;
  const std::lock_guard lock(findings_mutex);
  if (!trial) return false;
  spoilt = true;
  stop_from = 0;
  return true;
}

void Launch::report(const Block& in, Diagnostic diagnostic) {
  if (spoil_trial()) return;
  const std::lock_guard lock(findings_mutex);
  findings.found.push_back({in.linear, findings.next_sequence++, std::move(diagnostic)});
}

void Launch::fail(const Block& in, Fault f) {
  if (spoil_trial()) return;
  const std::lock_guard lock(findings_mutex);
  if (stops(in.linear)) return;
  fault = f;
  stop_from = fault_block = in.linear;
}

bool Launch::end_of_time() {
  const std::lock_guard lock(findings_mutex);
  if (is_over()) return false;
  trial = false;  // there is no time to run it again
  stop_from = 0;
  if (fault != Fault::none) return false;
  fault = Fault::launch_timeout;
  return true;
}

bool Launch::add_nested(NestedWork work) {
  if (!work.memory.take(work.bytes())) return false;
  const std::lock_guard lock(findings_mutex);
  work.number = findings.next_sequence++;
  nested.push_back(std::move(work));
  return true;
}

std::vector<NestedWork> Launch::take_nested() {
  const std::lock_guard lock(findings_mutex);
  std::vector<NestedWork> all = std::move(nested);
  nested.clear();
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    const NestedWork &x = all[i], &y = all[j];
    return std::tie(x.tail, x.block, x.number) < std::tie(y.tail, y.block, y.number);
  });
  std::vector<NestedWork> sorted;
  sorted.reserve(all.size());
  for (const size_t i : order) sorted.push_back(std::move(all[i]));
  return sorted;
}

Fault run_launch(Launch& launch) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  const auto begin = std::chrono::steady_clock::now();
  if (settings().launch_timeout_s > 0 && launch.launched_at == nullptr) {
    launch.deadline = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(settings().launch_timeout_s));
  }
  if (launch.program->allocates) DeviceHeap::instance().reserve();
  launch.step_limit = step_limit();
  launch.allocations = DeviceMemory::instance().snapshot();
  launch.images = Images::instance().snapshot();
  lay_out_shared(launch);
  prepare_native(launch);
  std::vector<WorkerCounts> counts;
  run_in_order(launch, counts);
  report_launch(launch);
  if (settings().counters) {
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    for (size_t k = 1; k < counts.size(); ++k) counts[0].merge(counts[k]);
    LaunchShape shape;
    std::copy_n(launch.grid, 3, shape.grid);
    std::copy_n(launch.block, 3, shape.block);
    shape.shared_bytes = launch.program->static_shared_bytes + launch.dynamic_shared;
    shape.cooperative = launch.cooperative;
    shape.waits_for_blocks = launch.program->waits_for_blocks;
    shape.resident_blocks = resident_blocks(launch);
    KernelCounters::instance().add(*launch.program, shape, *launch.allocations, counts[0], wall.count());
  }
  return launch.fault;
}

}  // namespace warpgrade::emu
