#include "course/profile/estimate.h"

#include <algorithm>
#include <cmath>

#include "judge/judging/figures.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr double kSectorBytes = 32, kLanes = 32, kSample = 16, kMicro = 1e6, kSchedulers = 4;

// The figures of one launch: those of its group over the number of launches.
class Launch {
 public:
  Launch(const json& group, Cure cure) : group_(group), cure_(cure), launches_(figure(group, "launches")) {}

  double get(const char* name) const { return figure(group_, name) / launches_; }
  double total(const char* name) const { return figure(group_, name); }
  double of_class(const char* name) const {
    const auto classes = group_.find("classes");
    return classes == group_.end() ? 0 : figure(*classes, name) / launches_;
  }
  // Of sectors or passes, as the cure leaves them.
  double cost(const std::string& what, bool ideal) const {
    return get((what + (ideal ? "_ideal" : "")).c_str());
  }
  bool cured(Cure cure) const { return cure_ == cure; }

 private:
  const json& group_;
  const Cure cure_;
  const double launches_;
};

// "void (anonymous namespace)::f<3>(int)" -> "f<3>" as the emulator's titles have it.
std::string bare(const std::string& name) {
  const std::string anonymous = "(anonymous namespace)";
  std::string text = name;
  for (std::size_t at; (at = text.find(anonymous)) != std::string::npos;)
    text.replace(at, anonymous.size(), "_");
  int depth = 0;
  std::size_t begin = 0, end = text.size();
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (depth == 0 && c == ' ') begin = k + 1;
    if (depth == 0 && c == '(') {
      end = k;
      break;
    }
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
  }
  return text.substr(begin, end - begin);
}

// Of a grid or a block; 1 where nothing of use is said.
double side(const json& group, const char* shape, std::size_t which) {
  const auto found = group.find(shape);
  if (found == group.end() || !found->is_array() || found->size() <= which || !(*found)[which].is_number())
    return 1;
  return std::max(1.0, (*found)[which].get<double>());
}

double registers_of(const json& kernels, const std::string& title) {
  if (!kernels.is_array()) return 0;
  for (const json& kernel : kernels) {
    if (bare(word(kernel, "name")) == bare(title)) return figure(kernel, "registers");
  }
  return 0;
}

class Model {
 public:
  Model(const Launch& launch, const json& group, double registers, const DeviceRates& device,
        const Coefficients& k)
      : launch_(launch), device_(device), k_(k) {
    threads_ = side(group, "block", 0) * side(group, "block", 1) * side(group, "block", 2);
    warps_per_block_ = std::ceil(threads_ / kLanes);
    blocks_ = launch.get("blocks");
    resident_ = std::max(1.0, launch.get("resident_blocks"));
    if (registers > 0) {
      const double by_registers =
          device.registers_per_multiprocessor / (std::ceil(registers / 8) * 8 * warps_per_block_ * kLanes);
      resident_ = std::max(1.0, std::min(resident_, std::floor(by_registers)));
    }
    if (launch.cured(Cure::occupancy))
      resident_ = std::max(1.0, std::floor(device.threads_per_multiprocessor / (warps_per_block_ * kLanes)));
    multiprocessors_ = std::min(device.multiprocessors, std::max(1.0, blocks_));
    rows_ = side(group, "grid", 1) * side(group, "grid", 2);
  }

  std::map<std::string, double> bounds() const {
    return {{"dram", dram()},   {"l2", l2()},           {"l1", l1()},           {"shared", shared()},
            {"issue", issue()}, {"atomics", atomics()}, {"latency", latency()}, {"tail", tail()}};
  }
  // What the busiest warp gets done, in microseconds of its own time, while the others run for `bulk`. It
  // begins late, since blocks wait for room on a multiprocessor in their order; and where something else than
  // latency binds, each of its waits is longer in the same measure (Little's law: as many loads are under
  // way, and take bulk / latency times as long), so that it gets done what it would do in the launch's
  // latency. Where the busiest block stands is not counted: in the middle, and in the middle of the last row
  // of a grid whose second dimension repeats the same work (a strip of columns).
  double busiest_done_in(double bulk) const {
    const double at_once = multiprocessors_ * resident_;
    const double begin = std::max(0.0, (rows_ - 0.5) / rows_ - at_once / std::max(1.0, blocks_));
    return (1 - begin) * std::min(bulk, latency() / coefficient("overlap"));
  }
  // What the cure adds before the launch: equal work needs results that are zero.
  double preparation() const {
    if (!launch_.cured(Cure::balance) || results() <= 0) return 0;
    return coefficient("launch") +
           kMicro * kSectorBytes * results() / (device_.dram_bytes_per_s * coefficient("fill"));
  }

 private:
  double coefficient(const char* name) const { return k_.at(name); }

  // Sectors that lanes load: as they are, or as neighbouring lanes could ask for them.
  double load_sectors() const { return launch_.cost("global_load_sectors", launch_.cured(Cure::coalescing)); }
  double results() const { return launch_.cost("global_store_sectors", launch_.cured(Cure::coalescing)); }
  // Equal work comes from cutting what is long, and the pieces of a result are added up in global memory:
  // what was stored is updated (`joined`), after it was filled with zeros.
  double store_sectors() const { return launch_.cured(Cure::balance) ? 0 : results(); }
  double joined() const { return launch_.cured(Cure::balance) ? results() : 0; }
  double missing_in_l1() const {
    const double sampled = launch_.total("sampled_loads");
    return sampled > 0 ? launch_.total("sampled_l1_misses") / sampled : 1;
  }
  double l2_loads() const {
    const double all = load_sectors() * missing_in_l1();
    return launch_.cured(Cure::reuse) ? std::min(all, launch_.get("distinct_sectors_read")) : all;
  }
  // Of the sectors that the second level is asked for, those that it does not hold.
  double missing_in_l2() const {
    const double misses = launch_.total("sampled_l1_misses");
    return misses > 0 ? std::min(1.0, launch_.total("sampled_l2_read_misses") / misses) : 0;
  }

  double dram() const {
    double read = std::max(kSample * launch_.get("sampled_l2_read_misses"), 0.0);
    if (launch_.cured(Cure::reuse)) read = std::min(read, launch_.get("distinct_sectors_read"));
    read += joined();  // an update reads what it adds to
    const double written = kSample * launch_.get("sampled_written_back");
    return kMicro * kSectorBytes * (read + coefficient("write_back") * written) /
           (device_.dram_bytes_per_s * coefficient("dram"));
  }
  // Contention is removed as if each block that is resident had counted in a copy of its own and added it
  // once, where what is updated fits into shared memory; else as if each warp had added up first. What is
  // left of the updates, and of their sectors.
  bool fits_shared_memory() const {
    return launch_.get("distinct_sectors_written") * kSectorBytes <= device_.shared_per_block;
  }
  double left_of_updates() const {
    const double all = launch_.get("global_atomic_sectors");
    if (!launch_.cured(Cure::contention) || all <= 0) return 1;
    if (!fits_shared_memory()) return 1 / kLanes;
    return std::min(1 / kLanes, multiprocessors_ * resident_ * launch_.get("distinct_sectors_written") / all);
  }
  double updates() const { return left_of_updates() * launch_.get("global_atomic_sectors") + joined(); }
  double update_rate() const { return device_.scattered_updates_per_s * coefficient("scattered"); }
  double l2() const {
    const double sectors =
        l2_loads() + coefficient("l2_store") * store_sectors() + coefficient("l2_atomic") * updates();
    const double moved = kMicro * kSectorBytes * sectors / (device_.l2_bytes_per_s * coefficient("l2"));
    return std::max(moved, kMicro * partly_written() / update_rate());
  }
  // Sectors of which a request writes a part, in units of two words a sector. The second level reads, changes
  // and writes them. On an H200 a sector takes as long as its words: 8 bytes of each of 29 G a second (`gcn`
  // naive log-softmax and step 1 of X W, as many as it does updates), 4 bytes of each of 61 to 68 G a second
  // (column_stores of calibration/diseases.cu, `transpose` naive). More than two words of a sector are not
  // told apart from two.
  double partly_written() const {
    constexpr double kOfWhichLanesWriteAFifth = 1.25, kWords = 8;
    const double all = launch_.get("global_store_sectors"), ideal = launch_.get("global_store_sectors_ideal");
    if (launch_.cured(Cure::coalescing) || launch_.cured(Cure::balance)) return 0;  // balance: updates
    const double words = all > 0 ? std::clamp(kWords * ideal / all, 1.0, 2.0) : 1;
    return words / 2 * std::min(all, kOfWhichLanesWriteAFifth * (all - ideal));
  }
  double clocks(double cycles_of_all) const {
    return kMicro * cycles_of_all / (multiprocessors_ * device_.clock_hz) * waves();
  }
  // Of blocks that are all alike the last ones leave multiprocessors idle.
  double waves() const {
    const double each = blocks_ / multiprocessors_;
    return launch_.cured(Cure::balance) ? 1 : 1 + coefficient("waves") * (std::ceil(each) / each - 1);
  }
  // The part of the loads that is left where each sector is read once.
  double once() const {
    if (!launch_.cured(Cure::reuse) || load_sectors() <= 0) return 1;
    return std::min(1.0, launch_.get("distinct_sectors_read") / load_sectors());
  }
  // A line of 128 bytes is looked up in a clock.
  double lines() const {
    // Counters of older versions have no lines; a request touches one at least.
    const double requests = launch_.get("global_load_requests") + launch_.get("global_store_requests");
    const double all = std::max(launch_.get("lines"), requests) * once();
    if (!launch_.cured(Cure::coalescing)) return all;
    return std::min(all, std::max(requests, (load_sectors() + store_sectors()) / 4));
  }
  double l1() const {
    return clocks(coefficient("l1_sector") * (load_sectors() * once() + store_sectors()) +
                  coefficient("l1_line") * lines());
  }
  double shared() const {
    const bool ideal = launch_.cured(Cure::bank_conflicts);
    // Updates in a block's own copy, without conflicts.
    const double moved_here =
        launch_.cured(Cure::contention) && fits_shared_memory() ? launch_.get("global_atomic_requests") : 0;
    const double passes = moved_here + launch_.cost("shared_load_passes", ideal) +
                          launch_.cost("shared_store_passes", ideal) +
                          launch_.cost("shared_atomic_passes", ideal || launch_.cured(Cure::contention)) *
                              coefficient("shared_atomic");
    return clocks(coefficient("shared") * passes);
  }
  double issue() const {
    const double slots =
        coefficient("fp32") * launch_.of_class("fp32") +
        coefficient("integer") * launch_.of_class("integer") +
        coefficient("fp64") * launch_.of_class("fp64") * kLanes / device_.fp64_lanes * kSchedulers / 2 +
        coefficient("moves") * (launch_.of_class("conversion") + launch_.of_class("control")) +
        coefficient("special") * launch_.of_class("special") * kLanes / device_.special_lanes * kSchedulers /
            8 +
        coefficient("matrix") * launch_.of_class("matrix") + launch_.of_class("fp16") +
        coefficient("memory") *
            (launch_.of_class("global") + launch_.of_class("shared") + launch_.of_class("generic") +
             launch_.of_class("local") + launch_.of_class("atomic") + launch_.of_class("warp")) +
        coefficient("barrier") * launch_.of_class("barrier");
    double part = 1;
    if (launch_.cured(Cure::divergence) && launch_.get("warp_instructions") > 0)
      part = launch_.get("thread_instructions") / (kLanes * launch_.get("warp_instructions"));
    return part * clocks(slots / kSchedulers);
  }
  double atomics() const {
    const double hottest = launch_.get("hottest_sector_updates") / device_.updates_of_one_sector_per_s;
    return kMicro * std::max(updates() / update_rate(), left_of_updates() * hottest);
  }

  // Cycles that a wait for global memory takes, by where it is served.
  // The slowest of `together` loads that are under way at once counts.
  double global_wait(double together) const {
    const double in_l2 = missing_in_l1(), in_dram = in_l2 * missing_in_l2();
    const auto any = [&](double part) { return 1 - std::pow(1 - std::min(part, 1.0), together); };
    return coefficient("wait_l1") + any(in_l2) * coefficient("wait_l2") +
           any(in_dram) * coefficient("wait_dram");
  }
  double chain(double global, double shared, double cycles, double loads) const {
    return global * global_wait(global > 0 ? std::max(1.0, loads / global) : 1) +
           shared * coefficient("wait_shared") + cycles * coefficient("wait_plain");
  }
  double warps() const { return std::max(1.0, blocks_ * warps_per_block_); }
  double chain_of_all() const {
    double part = 1;
    if (launch_.cured(Cure::divergence) && launch_.get("warp_instructions") > 0)
      part = launch_.get("thread_instructions") / (kLanes * launch_.get("warp_instructions"));
    return part * (chain(launch_.get("chain_global"), launch_.get("chain_shared"),
                         launch_.get("chain_cycles"), launch_.get("chain_loads")) +
                   coefficient("wait_barrier") * launch_.get("barriers"));
  }
  double latency() const {
    const double at_once =
        multiprocessors_ * std::min(resident_, std::ceil(blocks_ / multiprocessors_)) * warps_per_block_;
    return kMicro * chain_of_all() * coefficient("overlap") / (at_once * device_.clock_hz);
  }
  // The busiest warp: what the mean warp does, and the loads beyond that as the block of instructions with
  // most loads does them, which is where long loops stay.
  double tail() const {
    const double mean = chain_of_all() / warps();
    if (launch_.cured(Cure::balance)) return kMicro * mean / device_.clock_hz;
    const double loads = launch_.get("global_load_requests") / warps(), most = launch_.get("max_warp_loads");
    const double widest = launch_.total("widest_loads");  // of the code: the same in each launch
    double busiest = mean;
    if (widest > 0 && most > loads) {
      const double one = chain(launch_.total("widest_global"), launch_.total("widest_shared"),
                               launch_.total("widest_cycles"), widest);
      busiest += (most - loads) * one / widest;
    } else if (launch_.get("warp_instructions") > 0) {
      busiest *= launch_.get("max_warp_instructions") * warps() / launch_.get("warp_instructions");
    }
    return kMicro * coefficient("tail") * busiest / device_.clock_hz;
  }

  const Launch& launch_;
  const DeviceRates& device_;
  const Coefficients& k_;
  double threads_ = 1, warps_per_block_ = 1, blocks_ = 1, resident_ = 1, multiprocessors_ = 1, rows_ = 1;
};

double norm(const std::map<std::string, double>& bounds, double p) {
  double largest = 0, sum = 0;
  for (const auto& [name, us] : bounds) largest = std::max(largest, us);
  if (largest <= 0) return 0;
  for (const auto& [name, us] : bounds) sum += std::pow(us / largest, p);
  return largest * std::pow(sum, 1 / p);
}

// Copies and fills within the device.
double moves(const json& group, double runs, const DeviceRates& device, const Coefficients& k) {
  const double bytes = figure(group, "bytes_read") + figure(group, "bytes_written");
  return kMicro * bytes / runs / (device.dram_bytes_per_s * k.at("fill")) +
         k.at("launch") * figure(group, "launches") / runs;
}

struct LaunchTime {
  std::map<std::string, double> bounds;
  double work = 0;  // microseconds, without what it costs to start the launch
};

LaunchTime time_of(const json& group, double registers, const DeviceRates& device, const Coefficients& k,
                   Cure cure) {
  const Launch launch(group, cure);
  const Model model(launch, group, registers, device, k);
  LaunchTime time{model.bounds(), 0};
  auto others = time.bounds;
  others.erase("tail");
  const double bulk = norm(others, k.at("norm"));
  time.work = bulk + std::max(0.0, time.bounds["tail"] - model.busiest_done_in(bulk)) + model.preparation();
  return time;
}

std::string why_not(const json& groups) {
  if (!groups.is_array() || groups.empty()) return "no launch was counted";
  for (const json& group : groups) {
    const auto classes = group.find("classes");
    if (figure(group, "in_run") == 0 || figure(group, "warp_instructions") == 0) continue;
    if (figure(group, "cooperative") != 0)
      return "a cooperative launch: what its barriers cost was not validated";
    if (figure(group, "local_requests") > 0.05 * figure(group, "warp_instructions"))
      return "more than 5 % of the instructions touch local memory, which was not validated";
    if (classes != group.end() && figure(*classes, "matrix") > 0.2 * figure(group, "warp_instructions"))
      return "mostly matrix instructions, which were not validated";
  }
  return {};
}

}  // namespace

const char* name_of(Cure cure) {
  switch (cure) {
    case Cure::coalescing:
      return "uncoalesced";
    case Cure::bank_conflicts:
      return "bank_conflicts";
    case Cure::balance:
      return "imbalance";
    case Cure::occupancy:
      return "occupancy";
    case Cure::divergence:
      return "divergence";
    case Cure::contention:
      return "contention";
    case Cure::reuse:
      return "redundant";
    case Cure::nothing:
      break;
  }
  return "nothing";
}

std::string Estimate::bound() const {
  const auto largest = std::max_element(binding.begin(), binding.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == binding.end() ? "" : largest->first;
}

Estimate estimate_run(const json& groups, const json& kernels, const DeviceRates& device,
                      const Coefficients& k, Cure cure) {
  Estimate estimate;
  estimate.refusal = why_not(groups);
  if (!groups.is_array()) return estimate;
  for (const json& group : groups) {
    const double runs = figure(group, "runs");
    if (figure(group, "in_run") == 0 || runs == 0 || figure(group, "launches") == 0) continue;
    estimate.launches += figure(group, "launches") / runs;
    if (figure(group, "warp_instructions") == 0) {
      const double us = moves(group, runs, device, k);
      estimate.microseconds += us;
      estimate.bounds["dram"] += us;
      estimate.binding["dram"] += us;
      continue;
    }
    const double times = figure(group, "launches") / runs;
    const double registers = registers_of(kernels, word(group, "kernel"));
    LaunchTime time = time_of(group, registers, device, k, cure);
    if (cure == Cure::balance) {  // what is equal already stays: a cut would only cost its updates
      LaunchTime as_it_is = time_of(group, registers, device, k, Cure::nothing);
      if (as_it_is.work < time.work) time = std::move(as_it_is);
    }
    const auto& bounds = time.bounds;
    const double work = time.work, us = times * (work + k.at("launch"));
    const auto largest = std::max_element(bounds.begin(), bounds.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [name, each] : bounds) estimate.bounds[name] += times * each;
    estimate.bounds["launch"] += times * k.at("launch");
    estimate.binding[k.at("launch") > work ? "launch" : largest->first] += us;
    estimate.kernels[word(group, "kernel")] += us;
    estimate.microseconds += us;
  }
  if (estimate.microseconds > 0) estimate.microseconds += k.at("run");
  if (estimate.microseconds <= 0 && estimate.refusal.empty()) estimate.refusal = "no run was counted";
  return estimate;
}

}  // namespace warpgrade
