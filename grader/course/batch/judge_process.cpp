#include "course/batch/judge_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "base/waiting.h"
#include "judge/sandbox/memory_above.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

std::map<std::string, std::string> environment_for(const std::string& visible_device) {
  if (visible_device.empty()) return {};
  return {{kVisible, visible_device}};
}

// Nothing that one case legitimately does takes longer: all limits of a case together, generously.
constexpr std::chrono::minutes kSilence{60};
constexpr std::size_t kMostWords = 1000;  // of a fault

}  // namespace

class JudgeClient::Process {
 public:
  explicit Process(const std::string& visible_device) {
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
      throw JudgeFault("the system gave no pipe for the judge");
    FileDescriptor their_input(input[0]), their_output(output[1]);
    input_ = FileDescriptor(input[1]);
    output_ = FileDescriptor(output[0]);
    const std::string program = (program_directory() / "warpgrade-judge").string();
    pid_ = fork();
    if (pid_ < 0) throw JudgeFault("cannot start the judge: {}", std::strerror(errno));
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      setpgid(0, 0);  // Ctrl-C reaches the CLI, which ends the judge
      dup2(their_input.get(), 0);
      dup2(their_output.get(), 1);
      if (!visible_device.empty()) setenv(kVisible, visible_device.c_str(), 1);
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
  }

  void send(const nlohmann::json& request) {
    const std::string text = json_text(request) + "\n";
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(input_.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;  // it died: the reading side will tell
      done += static_cast<size_t>(n);
    }
  }

  int pid() const { return pid_; }

  ~Process() { end(0); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The next line; nothing when the judge has ended.
  std::optional<std::string> next_line() {
    const auto deadline = std::chrono::steady_clock::now() + kSilence;
    for (;;) {
      if (const size_t at = buffer_.find('\n'); at != std::string::npos) {
        std::string line = buffer_.substr(0, at);
        buffer_.erase(0, at + 1);
        return line;
      }
      if (interrupted()) {
        end(SIGTERM);
        throw Interrupted();
      }
      if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
      pollfd poll_output{output_.get(), POLLIN, 0};
      if (poll(&poll_output, 1, 200) <= 0) continue;
      char chunk[65536];
      const ssize_t n = read(output_.get(), chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      buffer_.append(chunk, static_cast<size_t>(n));
    }
  }

  std::string end(int signal_number) {
    if (pid_ <= 0) return ending_;
    int status = 0;
    // It ends by itself after its last line, and where nothing more can be asked. One that hangs does not,
    // nor one that was told to end before it listened to signals.
    input_.reset();
    if (signal_number != 0) kill(pid_, signal_number);
    const int most_tries = signal_number == 0 ? 100 : 500;
    for (int i = 0; i < most_tries && pid_ > 0; ++i) {
      if (waitpid(pid_, &status, WNOHANG) != 0) pid_ = -1;
      if (pid_ > 0) usleep(20'000);
    }
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      if (waitpid(pid_, &status, 0) < 0) status = 0;
    }
    pid_ = -1;
    ending_ = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                                  : fmt::format("ended with exit code {}", WEXITSTATUS(status));
    return ending_;
  }

 private:
  pid_t pid_ = -1;
  FileDescriptor input_, output_;
  std::string buffer_, ending_;
};

struct JudgeClient::Attempt {
  std::string started;  // the case in progress
  std::string fault;    // what the judge said of it
  bool memory_short = false;
};

JudgeClient::JudgeClient(std::string visible_device) : visible_device_(std::move(visible_device)) {}
JudgeClient::~JudgeClient() = default;

double JudgeClient::start() {
  if (process_) return 0;
  const auto begin = std::chrono::steady_clock::now();
  process_ = std::make_unique<Process>(visible_device_);
  process_->send({{"hello", true}});
  process_->next_line();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void JudgeClient::start_early(const JudgeJob& outline) {
  start();
  process_->send({{"warm_up", outline.to_json()}});
}

// Runs a judge until the job is done or the judge ends; finished cases leave the job.
JudgeClient::Attempt JudgeClient::run_once(JudgeJob& job, const JudgeEvents& events) {
  Attempt attempt;
  start();
  process_->send(job.to_json());
  while (const auto line = next_line(job.context.gpu_lease)) {
    const nlohmann::json message = nlohmann::json::parse(*line, nullptr, false);
    if (!message.is_object()) continue;
    if (message.contains("done")) {
      if (job.context.first_refusal_ends) job.cases.clear();
      return attempt;
    }
    if (message.contains("opened")) {
      if (events.on_opened) events.on_opened(message["opened"]);
      continue;
    }
    const std::string id = message.value("case", "");
    if (message.contains("started")) {
      attempt.started = id;
      if (events.on_started) events.on_started(id);
      continue;
    }
    if (message.contains("fault")) {
      attempt.fault = plain_line(message.value("fault", ""), kMostWords);
      attempt.memory_short = message.value("memory_short", false);
      process_.reset();
      return attempt;
    }
    // What came to an end because this program is being ended says nothing about the submission.
    if (!outcome_of(message.at("record")).accepted()) throw_if_interrupted();
    events.on_record(id, message.at("record"));
    std::erase_if(job.cases, [&](const Case& input) { return input.id == id; });
    attempt.started.clear();
    if (events.wants_to_stop && events.wants_to_stop()) {
      job.cases.clear();
      process_->end(SIGTERM);  // it is at the next case already
      process_.reset();
      return attempt;
    }
  }
  attempt.fault = "the judge " + process_->end(SIGKILL);
  process_.reset();
  return attempt;
}

// What is silent for long may wait for another run's judge, which is told.
std::optional<std::string> JudgeClient::next_line(const std::string& lease) {
  if (lease.empty() || !on_wait_ || has_reported_wait_) return process_->next_line();
  const SlowNote note([&] { return waiting_text(lease); },
                      [&](const std::string& text) {
                        has_reported_wait_ = true;
                        on_wait_(text);
                      });
  return process_->next_line();
}

std::string JudgeClient::waiting_text(const std::string& lease) const {
  for (const std::string& file : {lease, lease + ".turn"}) {
    const auto owner = lock_owner(file);
    if (!owner || owner->pid == process_->pid()) continue;
    return fmt::format("waiting for {}: {} is using it", device_name_,
                       owner->parent == getpid() ? "another judge of this run" : owner->text);
  }
  return "";
}

void JudgeClient::report_waits(std::string device_name, std::function<void(const std::string&)> on_wait) {
  device_name_ = std::move(device_name);
  on_wait_ = std::move(on_wait);
}

void JudgeClient::run(JudgeJob job, const JudgeEvents& events) {
  has_reported_wait_ = false;
  try {
    run_cases(job, events);
  } catch (...) {
    process_.reset();  // it is in the middle of this job: its next lines belong to nobody
    throw;
  }
}

void JudgeClient::run_cases(JudgeJob& job, const JudgeEvents& events) {
  std::map<std::string, std::vector<std::string>> causes;
  const bool gpu = job.context.backend == "cuda";
  while (!job.cases.empty()) {
    const std::size_t kills_before = memory_kills_above();
    Attempt attempt = run_once(job, events);
    if (!attempt.fault.empty() && memory_kills_above() > kills_before) attempt.memory_short = true;
    if (gpu && !attempt.fault.empty()) {
      if (const auto wedged = device_fault()) throw GpuWedged("{}", *wedged);
    }
    if (job.cases.empty()) return;
    const std::string id = attempt.started.empty() ? job.cases.front().id : attempt.started;
    if (attempt.memory_short && events.on_memory_short) {
      events.on_memory_short(id, attempt.fault);
      std::erase_if(job.cases, [&](const Case& input) { return input.id == id; });
      continue;
    }
    if (events.on_death) events.on_death(id, attempt.fault);
    causes[id].push_back(attempt.fault);
    if (causes[id].size() < 2) continue;
    events.on_fault(id, causes[id]);
    std::erase_if(job.cases, [&](const Case& input) { return input.id == id; });
  }
}

std::optional<std::string> JudgeClient::device_fault() const {
  ProcessOptions options;
  options.environment = environment_for(visible_device_);
  options.command = {(program_directory() / "warpgrade-judge").string(), "--check-device"};
  options.timeout = std::chrono::seconds(60);
  const ProcessResult result = run_process(options);
  if (result.ok()) return std::nullopt;
  const std::string words = result.standard_error.substr(0, 200);
  return fmt::format("the GPU does not answer a small kernel: {}{}", result.describe(),
                     words.empty() ? "" : ": " + words);
}

nlohmann::json probe_gpu(const std::string& visible_device) {
  ProcessOptions options;
  options.environment = environment_for(visible_device);
  options.command = {(program_directory() / "warpgrade-judge").string(), "--probe"};
  options.timeout = std::chrono::seconds(60);
  const ProcessResult result = run_process(options);
  const nlohmann::json device = nlohmann::json::parse(result.standard_output, nullptr, false);
  if (device.is_object() && device.contains("without_gpu_side"))
    throw UsageError(
        "this machine has a GPU, but warpgrade was compiled without the kernels that measure on one: run "
        "`make build` here, or give BACKEND=emulator (warpgrade: --backend emulator)");
  return device.is_object() ? device : nlohmann::json::object();
}

}  // namespace warpgrade
