// A lab's oracle, Python with NumPy or a program of C++, in a process of its own: started once a judge
// process, boxed, with limits; arrays go in and out through memory that both map.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/files.h"
#include "judge/judging/boxed_process.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade::declared {

struct OracleSpec {
  std::filesystem::path folder;        // reference/<lab>
  std::string function;                // the lab's name
  std::string oracle;                  // "oracle.py"
  std::filesystem::path program = {};  // of an oracle.cpp (built_oracle.h)
  std::string check;                   // "check.py", or empty
  std::chrono::milliseconds limit{60'000};
  std::size_t memory_bytes = std::size_t{8} << 30;
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  int threads = 1;
};

struct UnmapMemory {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

class OracleProcess {
 public:
  // The process is sent on its way by start(), or by the first request, which tells what is wrong with it.
  explicit OracleProcess(const OracleSpec& spec);
  // Of a process that is there already, nothing. It ends with the thread that starts it: one that stays.
  void start();

  // New memory of this size for the requests that follow, zeroed; what was there before is gone.
  void set_memory(std::size_t bytes);
  // Gives the memory back. An oracle that cannot be told so is ended.
  void release_memory() noexcept;
  std::span<std::byte> memory() const { return memory_; }

  // Sends the request and waits for its answer. Throws JudgeFault with the oracle's own words when it failed,
  // died or took too long.
  nlohmann::json ask(const nlohmann::json& request);

  // Or not yet started.
  bool alive() const { return process_ == nullptr || process_->alive(); }

 private:
  void send_memory(int descriptor);
  nlohmann::json exchange(const nlohmann::json& request, int descriptor);
  nlohmann::json receive(std::chrono::milliseconds limit);
  [[noreturn]] void give_up(const std::string& why);

  OracleSpec spec_;
  FileDescriptor socket_;
  std::shared_ptr<ProgramOutput> output_;
  std::unique_ptr<BoxedProcess> process_;
  bool greeted_ = false;
  FileDescriptor unsent_memory_;  // for a process that is not there yet
  std::unique_ptr<std::byte, UnmapMemory> mapping_;
  std::span<std::byte> memory_;
};

}  // namespace warpgrade::declared
