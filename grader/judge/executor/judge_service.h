// The executor as the judge uses it: serves the protocol of judge/protocol/protocol.h on a descriptor, for a
// submission whose host process the judge has started. All that it says of a run is its own: the host process
// is heard through the server alone.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "judge/executor/driver/timed_run.h"
#include "judge/executor/judge_commands.h"
#include "judge/executor/server.h"
#include "judge/protocol/protocol.h"

namespace warpgrade::executor {

// What differs between the emulator and a GPU.
class JudgedDevice {
 public:
  virtual ~JudgedDevice() = default;
  // Of the host process that is there. Throws std::runtime_error when there is none.
  virtual CallServer& server() = 0;
  // The device has back what the host process's server had of it.
  virtual void end_host() = 0;
  // Serves another host process. Takes over the socket. Throws std::runtime_error when the device is not as
  // it was at first: then the executor is to be replaced.
  virtual void begin_host(Descriptor socket) = 0;
  // Maps a buffer of the judge's and takes over `fd`. The payload's address. Throws std::runtime_error.
  virtual uint64_t import(const protocol::Command& attach, int fd) = 0;
  virtual void release(const protocol::Command& attach, uint64_t address) = 0;
  // Has the host process carry the command out, and waits for the device. On a GPU a run is a timed one, so
  // that no program can tell for what it runs. Throws ProtocolError.
  virtual TimedResult carry_out(const wire::Command& command, bool is_run) = 0;
  virtual void limit_steps(uint64_t /*warp_instructions*/) {}
  virtual void forget_allocations() {}
  // Of what was allocated since and not freed; then the report with the places that were told.
  virtual std::vector<uint64_t> leaks() { return {}; }
  virtual void report_leaks(const std::map<uint64_t, CallServer::Place>& /*places*/) {}
  // A command has ended, and the judge waits for all of it. Of a run the number of the call whose work
  // nothing orders before that end, 0: there is none; then the report with its place, which may be unknown.
  virtual uint64_t end_command(bool /*is_run*/) { return 0; }
  virtual void report_unfinished(const CallServer::Place& /*place*/) {}
  // Allocations that findings name, by address; and where the program made one.
  virtual std::vector<uint64_t> named_allocations() { return {}; }
  virtual void place_allocation(uint64_t /*address*/, const CallServer::Place& /*place*/) {}
  virtual size_t drain_report(int /*kind*/, char* /*text*/, size_t /*capacity*/) { return 0; }
};

class JudgeService {
 public:
  // `judge`: the socket. The device outlives the service.
  JudgeService(int judge, JudgedDevice& device) : judge_(judge), device_(device) {}

  // Until the judge hangs up or says so.
  void serve();
  // The device could not be had: every command is answered with this.
  static void refuse(int judge, const std::string& why);

 private:
  protocol::Reply answer(const protocol::Command& command, int fd);
  void dispatch(const protocol::Command& command, int fd, protocol::Reply& reply);
  void new_host(int fd);
  void release_buffers();
  void attach(const protocol::Command& command, int fd, protocol::Reply& reply);
  void detach(protocol::Reply& reply);
  void call(HostCommand number, const protocol::Command& command, protocol::Reply& reply);
  void follow(protocol::Follow what);
  void end_command(bool is_run);
  void name_allocations();
  std::map<uint64_t, CallServer::Place> places_of(std::span<const uint64_t> addresses);
  void make_plan(const protocol::Command& command, protocol::Reply& reply);
  void free_plan(const protocol::Command& command, protocol::Reply& reply);
  bool ask_host(wire::Command command, bool is_run, TimedResult& result, protocol::Reply& reply);
  void report(const protocol::Command& command, protocol::Reply& reply);

  int judge_;
  JudgedDevice& device_;
  struct Buffer {
    protocol::Command attach;
    uint64_t address;
  };
  std::vector<Buffer> buffers_;
  int report_ = -1;
  uint64_t report_bytes_ = 0;
  std::string broken_;  // how the host process broke the protocol: nothing of it is served any more
};

}  // namespace warpgrade::executor
