#include "judge/executor/judge_mode.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "judge/executor/driver/imported_memory.h"
#include "judge/executor/judge_service.h"

#ifdef WARPGRADE_EXECUTOR_EMULATOR
#include "backend/command_order.h"
#include "backend/emulated.h"
#include "backend/host_finding.h"
#include "backend/leaks.h"
#include "findings/diagnostics.h"
#include "report/counters.h"
#include "warpemu/warpemu.h"
#endif

namespace warpgrade::executor {
namespace {

constexpr unsigned kJudgeSleepMicroseconds = 2000;

// The memory that an executor shares with its host processes, one after another, and the server of the one
// that is there.
class HostConnection {
 public:
  // `pins`: the device reads the calls' memory as well.
  HostConnection(SharedMemory& memory, cudart::Backend& backend, const Limits& limits, bool pins)
      : memory_(memory), backend_(backend), limits_(limits), pins_(pins) {}

  CallServer& server() {
    if (!server_) throw std::runtime_error("there is no host process yet");
    return *server_;
  }
  bool host_is_there() const { return socket_ && !is_closed(socket_.get()); }

  // Throws std::runtime_error when the context is not what it was before that host process.
  void leave() {
    if (!server_) return;
    const bool is_clean = server_->leaves_context_clean();
    server_.reset();
    socket_ = {};
    if (pins_) backend_.unregister_host(memory_.calls());
    is_used_ = true;
    if (!is_clean || backend_.synchronize_device() != cudaSuccess || backend_.sticky() != cudaSuccess)
      throw std::runtime_error(
          "the device is not as it was before the host process: another executor is needed");
  }

  void take(Descriptor socket) {
    if (is_used_) memory_.renew();
    if (pins_ && backend_.register_host(memory_.calls(), wire::kCallBytes) != cudaSuccess)
      throw std::runtime_error("the calls' memory cannot be registered with the driver");
    server_ = std::make_unique<CallServer>(backend_, memory_, limits_);
    socket_ = std::move(socket);
    // One that is gone already is told at the next command, like one that goes later.
    send_descriptors(socket_.get(), memory_.calls_descriptor(), memory_.window_descriptor());
  }

 private:
  SharedMemory& memory_;
  cudart::Backend& backend_;
  const Limits limits_;
  const bool pins_;
  bool is_used_ = false;
  Descriptor socket_;
  std::unique_ptr<CallServer> server_;
};

#ifdef WARPGRADE_EXECUTOR_EMULATOR

class EmulatedDevice final : public JudgedDevice {
 public:
  explicit EmulatedDevice(HostConnection& connection) : host_connection_(connection) {
    emu::CommandOrder::instance().name_first_stream_as_argument();
  }

  CallServer& server() override { return host_connection_.server(); }
  void end_host() override { host_connection_.leave(); }
  void begin_host(Descriptor socket) override { host_connection_.take(std::move(socket)); }

  uint64_t import(const protocol::Command& attach, int fd) override {
    void* pointer = nullptr;
    const int error = warpemu_import_memory(fd, attach.offset, attach.bytes, attach.name,
                                            static_cast<int>(attach.read_only), &pointer);
    close(fd);
    if (error != 0)
      throw std::runtime_error("the emulator cannot map the buffer: error " + std::to_string(error));
    if (attach.element_bytes != 0) warpemu_name_memory(pointer, attach.name, attach.element_bytes);
    return reinterpret_cast<uint64_t>(pointer);
  }

  void release(const protocol::Command&, uint64_t address) override {
    warpemu_release_memory(reinterpret_cast<void*>(address));
  }

  // Each call is carried out when it is taken: nothing is left to wait for.
  TimedResult carry_out(const wire::Command& command, bool is_run) override {
    TimedResult result;
    emu::KernelCounters::instance().begin_call(is_run);
    const double begin = steady_us();
    const unsigned turns = turns_before_sleep();
    CallServer& server = host_connection_.server();
    server.take_late_error();
    server.send_command(command);
    for (unsigned idle = 0;;) {
      const bool was_idle = server.serve(64) == 0;
      if (const auto said = server.take_result()) {
        // Else it would be luck whether a host process that closes its socket is found out: an executor that
        // is never idle would not look there.
        if (!host_connection_.host_is_there()) return end_of_host(result);
        result.status = said->status;
        result.message = said->message;
        break;
      }
      if (!was_idle) {
        idle = 0;
        continue;
      }
      if (++idle % turns != 0) continue;
      if (!host_connection_.host_is_there() && server.serve(64) == 0) return end_of_host(result);
      server.sleep(kJudgeSleepMicroseconds);
    }
    result.error = emu::Emulated::instance().sticky();
    if (result.error == cudaSuccess) result.error = server.take_late_error();
    result.host_us = steady_us() - begin;
    return result;
  }

  void limit_steps(uint64_t warp_instructions) override { warpemu_limit_steps(warp_instructions); }
  void forget_allocations() override { emu::forget_allocations(); }
  std::vector<uint64_t> leaks() override { return emu::leaked_addresses(); }
  void report_leaks(const std::map<uint64_t, CallServer::Place>& leaks) override {
    std::map<uint64_t, cudart::HostPlace> places;
    for (const auto& [address, place] : leaks) places[address] = {place.path, place.line};
    emu::report_leaks("not freed with the plan", places);
  }

  uint64_t end_command(bool is_run) override {
    unfinished_ = emu::CommandOrder::instance().end_command(is_run);
    return unfinished_ ? unfinished_->call : 0;
  }
  void report_unfinished(const CallServer::Place& place) override {
    emu::Diagnostic& told = unfinished_->diagnostic;
    if (place.line != 0) told.path = place.path, told.line = place.line;
    emu::Diagnostics::instance().add(std::move(told));
    unfinished_.reset();
  }

  std::vector<uint64_t> named_allocations() override {
    std::vector<uint64_t> addresses;
    for (const std::string& name : emu::Diagnostics::instance().unplaced()) {
      const uint64_t address = emu::address_of_allocation(name);
      if (address != 0) names_[address] = name, addresses.push_back(address);
    }
    return addresses;
  }
  void place_allocation(uint64_t address, const CallServer::Place& place) override {
    if (place.line != 0) emu::Diagnostics::instance().place({names_[address], place.path, place.line});
  }

  size_t drain_report(int kind, char* text, size_t capacity) override {
    emu::place_finding({}, 0);  // of a process that ended before it told
    return kind == 0 ? warpemu_drain_diagnostics(text, capacity) : warpemu_drain_counters(text, capacity);
  }

 private:
  static TimedResult end_of_host(TimedResult result) {
    result.ending = Ending::host_ended;
    result.message = "the host process has ended";
    return result;
  }

  HostConnection& host_connection_;
  std::optional<emu::CommandOrder::Unfinished> unfinished_;
  std::map<uint64_t, std::string> names_;  // of allocations whose places were asked for
};

#endif

class Gpu final : public JudgedDevice {
 public:
  Gpu(Driver& driver, HostConnection& connection) : host_connection_(connection), runs_(driver) {
    host_.is_alive = [this] { return host_connection_.host_is_there(); };
  }

  CallServer& server() override { return host_connection_.server(); }
  void end_host() override {
    runs_.leave();
    host_connection_.leave();
  }
  void begin_host(Descriptor socket) override {
    host_connection_.take(std::move(socket));
    runs_.take(host_connection_.server());
  }

  uint64_t import(const protocol::Command& attach, int fd) override { return import_buffer(attach, fd); }
  void release(const protocol::Command& attach, uint64_t address) override {
    release_buffer(address, attach.offset, attach.mapped_bytes);
  }

  // Its limit is the judge's, who ends this process.
  TimedResult carry_out(const wire::Command& command, bool is_run) override {
    constexpr double kForEver = 1e6;
    host_connection_.server();  // there must be one
    if (!is_run) return runs_.plain(command, host_, kForEver);
    const auto constant_us = runs_.gate().constant_us();
    TimedResult result = runs_.run(command, host_, kForEver);
    result.constant_us = constant_us.value_or(0);
    if (!constant_us) result.is_void = true;
    return result;
  }

  size_t drain_report(int kind, char* text, size_t capacity) override {
#ifdef WARPGRADE_EXECUTOR_EMULATOR
    if (kind != 0) return 0;
    for (const cudart::HostFinding& finding : host_connection_.server().findings())
      emu::add_finding(finding, "executor");
    emu::place_finding({}, 0);
    return emu::Diagnostics::instance().drain(text, capacity);
#endif
    static_cast<void>(kind), static_cast<void>(text), static_cast<void>(capacity);
    return 0;
  }

 private:
  HostConnection& host_connection_;
  TimedRuns runs_;
  TimedRuns::Host host_;
};

}  // namespace

#ifdef WARPGRADE_EXECUTOR_EMULATOR
cudart::Backend& emulator_backend() {
  emu::take_places_from_elsewhere();
  return emu::Emulated::instance();
}
#else
cudart::Backend& emulator_backend() {
  throw std::runtime_error("this executor was built without the emulator: --backend gpu");
}
#endif

int serve_judge(const std::string& name, const Limits& limits) {
  if (name != "gpu" && name != "emulator")
    throw std::runtime_error("--judge is `emulator` or `gpu`, not `" + name + "`");
  try {
    static SharedMemory memory = SharedMemory::create();  // first: the driver takes much of the address space
    std::unique_ptr<Driver> driver;
    if (name == "gpu") driver = std::make_unique<Driver>();
    cudart::Backend& backend = driver ? static_cast<cudart::Backend&>(*driver) : emulator_backend();
    // Never destroyed: the system takes back all that the process has, and nothing is waited for.
    auto& connection = *new HostConnection(memory, backend, limits, driver != nullptr);
    JudgedDevice* device = nullptr;
    if (driver) device = new Gpu(*driver, connection);
#ifdef WARPGRADE_EXECUTOR_EMULATOR
    else
      device = new EmulatedDevice(connection);
#endif
    JudgeService(protocol::kSocketFd, *device).serve();
    static_cast<void>(driver.release());
  } catch (const std::exception& error) {
    JudgeService::refuse(protocol::kSocketFd, error.what());
  }
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace warpgrade::executor
