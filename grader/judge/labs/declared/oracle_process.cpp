#include "judge/labs/declared/oracle_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/descriptor_message.h"
#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "judge/judging/shared_host_memory.h"
#include "judge/sandbox/memory_above.h"

namespace warpgrade::declared {
namespace fs = std::filesystem;

namespace {

constexpr const char* kInside = "/run/warpgrade/lab";
constexpr const char* kProgramInside = "/run/warpgrade/oracle";
constexpr const char* kWorkerInside = "/run/warpgrade/oracle_worker.py";
constexpr int kSocketInside = 3;
constexpr std::chrono::milliseconds kLongestStart{60'000};  // Python and NumPy, on a busy machine
constexpr std::size_t kLongestReply = 1 << 16;
constexpr std::size_t kMostOutput = 64 << 10;

// The folders that Python and its packages lie in, beside /usr: .venv, and the Python that it was made of.
std::vector<Mount> python_mounts(const fs::path& program) {
  std::vector<Mount> mounts;
  const auto add = [&](const fs::path& folder) {
    const bool in_system = folder.string().starts_with("/usr/") && !folder.string().starts_with("/usr/local");
    if (!in_system && folder != "/usr") mounts.push_back({folder, folder, false});
  };
  const fs::path environment = program.parent_path().parent_path();
  add(environment);
  if (fs::is_symlink(environment)) add(fs::canonical(environment));
  add(fs::canonical(program).parent_path().parent_path());
  return mounts;
}

SandboxSpec box_of(const OracleSpec& spec) {
  SandboxSpec box;
  box.mode = spec.sandbox;
  if (!spec.program.empty()) {
    box.mounts = {{spec.program, kProgramInside, false}};
    box.command = {kProgramInside};
    box.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"}, {"LC_ALL", "C.UTF-8"}};
    return box;
  }
  const fs::path program = python_program().value_or("/usr/bin/python3");
  box.mounts = python_mounts(program);
  box.mounts.push_back({spec.folder, kInside, false});
  box.mounts.push_back(
      {project_root() / "grader/judge/labs/declared/oracle_worker.py", kWorkerInside, false});
  box.command = {program.string(), "-I", "-B", kWorkerInside, kInside, spec.function, spec.oracle};
  if (!spec.check.empty()) box.command.push_back(spec.check);
  const std::string threads = std::to_string(std::max(1, spec.threads));
  box.environment = {{"PATH", "/usr/bin:/bin"},       {"HOME", "/tmp"},
                     {"LC_ALL", "C.UTF-8"},           {"OPENBLAS_NUM_THREADS", threads},
                     {"OMP_NUM_THREADS", threads},    {"PYTHONHASHSEED", "0"},
                     {"OPENBLAS_THREAD_TIMEOUT", "4"}};  // idle threads sleep: a program may be timed
  return box;
}

// The request as a program of C++ reads it (oracle_main.h).
std::string lines_of(const nlohmann::json& request) {
  const std::string op = request.at("op");
  if (op == "memory") return fmt::format("memory {}\n", request.at("bytes").get<std::size_t>());
  std::string text = op + "\n";
  for (const auto& [name, value] : request.at("values").items()) {
    text += fmt::format("value {} ", name);
    text += value.is_number_float() ? fmt::format("{:.17g}\n", value.get<double>()) : value.dump() + "\n";
  }
  const auto add = [&](const char* kind, const char* list, const char* suffix) {
    for (const nlohmann::json& entry : request.at(list)) {
      std::size_t cells = 1;
      for (const nlohmann::json& extent : entry.at("shape")) cells *= extent.get<std::size_t>();
      text += fmt::format("{} {}{} {} {}\n", kind, entry.at("name").get<std::string>(), suffix,
                          entry.at("at").get<std::size_t>(), cells);
    }
  };
  add("input", "inputs", "");
  add("output", "outputs", "/out");
  return text;
}

std::string program_of(const OracleSpec& spec) {
  return (spec.folder / spec.oracle).string();
}

}  // namespace

void UnmapMemory::operator()(std::byte* memory) const {
  munmap(memory, bytes);
}

OracleProcess::OracleProcess(const OracleSpec& spec)
    : spec_(spec), output_(std::make_shared<ProgramOutput>(kMostOutput)) {}

void OracleProcess::start() {
  if (process_ != nullptr) return;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw JudgeFault("no socket for the oracle: {}", std::strerror(errno));
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  BoxedProcess::Options options;
  options.label = "the oracle " + program_of(spec_);
  options.wrapped = wrap(box_of(spec_));
  options.descriptors.push_back({theirs.get(), kSocketInside});
  options.limits.memory_bytes = spec_.memory_bytes;
  options.limits.processes = 256;
  options.output = output_;
  process_ = std::make_unique<BoxedProcess>(std::move(options));
}

void OracleProcess::set_memory(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  FileDescriptor fd = sealed_memory("oracle", size);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) throw JudgeFault("cannot map {} MiB for the oracle", size >> 20);
  mapping_ = std::unique_ptr<std::byte, UnmapMemory>(static_cast<std::byte*>(mapped), UnmapMemory{size});
  memory_ = {mapping_.get(), bytes};
  if (process_ == nullptr)
    unsent_memory_ = std::move(fd);
  else
    send_memory(fd.get());
}

void OracleProcess::send_memory(int descriptor) {
  exchange({{"op", "memory"}, {"bytes", std::max<std::size_t>(memory_.size(), 1)}}, descriptor);
}

void OracleProcess::release_memory() noexcept {
  if (memory_.empty()) return;
  try {
    set_memory(0);
  } catch (...) {
    memory_ = {};
    mapping_.reset();
    if (process_ != nullptr) process_->kill();
  }
}

nlohmann::json OracleProcess::ask(const nlohmann::json& request) {
  start();
  if (const FileDescriptor memory = std::move(unsent_memory_)) send_memory(memory.get());
  return exchange(request, -1);
}

nlohmann::json OracleProcess::exchange(const nlohmann::json& request, int descriptor) {
  if (!greeted_) {
    const nlohmann::json greeting = receive(std::max(spec_.limit, kLongestStart));
    if (greeting.contains("error")) give_up(greeting.at("error"));
    greeted_ = true;
  }
  const std::string text = spec_.program.empty() ? json_text(request) : lines_of(request);
  if (!send_message(socket_.get(), text.data(), text.size(), descriptor)) give_up("it has ended");
  nlohmann::json answer = receive(spec_.limit);
  if (answer.contains("error"))  // a mistake in the lab's own code: it serves on
    throw JudgeFault("{}: {}", program_of(spec_), answer.at("error").get<std::string>());
  return answer;
}

nlohmann::json OracleProcess::receive(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    throw_if_interrupted();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      give_up(fmt::format("no answer within {:.0f} s (limits.oracle_s in lab.yaml)",
                          1e-3 * static_cast<double>(limit.count())));
    pollfd waiting{socket_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long long>(left.count(), 200)));
    if (ready <= 0) continue;
    std::vector<char> text(kLongestReply);
    const ssize_t size = recv(socket_.get(), text.data(), text.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) give_up("it has ended");
    nlohmann::json answer = nlohmann::json::parse(text.begin(), text.begin() + size, nullptr, false);
    if (!answer.is_object()) give_up("its answer is no message");
    return answer;
  }
}

// The process is of no use any more: what it printed says why.
void OracleProcess::give_up(const std::string& why) {
  process_->wait_for_exit();
  std::string words = why;
  if (process_->lacked_memory_above())
    throw MemoryShort("the oracle {} was ended by the system: the task or the machine{} has no memory left",
                      program_of(spec_), memory_limit_words());
  if (process_->out_of_memory()) words += "; it needed more memory than limits.oracle_memory_mb in lab.yaml";
  const std::string printed = plain_text(output_->text());
  if (printed.find("No module named 'numpy'") != std::string::npos)
    words += "; NumPy is missing: scripts/bootstrap installs it";
  else if (!printed.empty())
    words += ": " + std::string(tail_of(printed, 2000));
  throw JudgeFault("the oracle {}: {}", program_of(spec_), words);
}

}  // namespace warpgrade::declared
