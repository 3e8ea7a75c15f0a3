// The runner: the submission's objects and this thin main, untrusted, in the sandbox. It serves one command
// at a time on descriptor 3 and ends when the judge hangs up. Nothing that it says is believed.
#include <cuda_runtime.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "device_memory.h"
#include "gate.h"
#include "launch_watch.h"
#include "protocol.h"
#include "runner_lab.h"

namespace warpgrade::runner {
namespace {

using protocol::Command;
using protocol::Op;
using protocol::Reply;
using protocol::Status;

// One command and, with kAttach, its descriptor; false when the judge has hung up.
bool receive(Command& command, int& fd) {
  fd = -1;
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(protocol::kSocketFd, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof command) || command.magic != protocol::kMagic) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  }
  return true;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// "std::runtime_error: no idea", "int": for people, of the exception that is being handled.
std::string thrown(const char* what) {
  const std::type_info* type = abi::__cxa_current_exception_type();
  int status = -1;
  const std::unique_ptr<char, void (*)(void*)> name(
      type != nullptr ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &status) : nullptr, std::free);
  std::string text = status == 0 ? name.get() : "something";
  if (what != nullptr) text += std::string(": ") + what;
  return text;
}

class Server {
 public:
  Server() : lab_(make_lab_runner()) {
    cudaSetDeviceFlags(cudaDeviceScheduleSpin);
    check(cudaFree(nullptr), "no CUDA device");
    // A blocking stream: a kernel launched without the stream argument is still ordered with it.
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
    gate_ = std::make_unique<Gate>();
  }

  Reply serve(const Command& command, int fd) {
    Reply reply;
    reply.op = command.op;
    reply.sequence = command.sequence;
    try {
      dispatch(command, fd, reply);
    } catch (const std::exception& error) {
      reply.status = Status::kRunnerFault;
      std::snprintf(reply.message, sizeof reply.message, "%s", error.what());
    }
    return reply;
  }

 private:
  void dispatch(const Command& command, int fd, Reply& reply) {
    switch (command.op) {
      case Op::kAttach:
        return attach(command, fd);
      case Op::kPlan:
        watch_for_leaks();
        return submissions_own(reply,
                               [&] { timed(reply, [&] { return lab_->plan(command, buffers_, stream_); }); });
      case Op::kRun:
        return submissions_own(reply,
                               [&] { timed(reply, [&] { return lab_->run(command, buffers_, stream_); }); });
      case Op::kNull:
        return timed(reply, [&] {
          if (command.arguments[0] > 0)
            gate_->wait(static_cast<unsigned long long>(command.arguments[0]), stream_);
          return cudaSuccess;
        });
      case Op::kFree:
        submissions_own(reply, [&] { finish(reply, (lab_->free(), cudaSuccess)); });
        return report_leaks();
      case Op::kReport:
        if (report_ != nullptr) {
          reply.written = drain_report(static_cast<int>(command.arguments[0]), report_, report_bytes_);
        }
        return;
      case Op::kDetach:
        return detach();
      case Op::kEnd:
        return;
    }
  }

  // Whatever the submission's code throws, in its call or in a callback that the runtime makes for it, is its
  // own fault: never one of this runner.
  template <typename Work>
  void submissions_own(Reply& reply, Work work) {
    std::string what;
    try {
      return work();
    } catch (const std::exception& error) {
      what = thrown(error.what());
    } catch (...) {
      what = thrown(nullptr);
    }
    reply.status = Status::kException;
    std::snprintf(reply.message, sizeof reply.message, "%s", what.c_str());
  }

  void attach(const Command& command, int fd) {
    if (fd < 0) throw std::runtime_error("no descriptor came with the buffer");
    if (std::strcmp(command.name, "report") != 0) {
      void* memory = import_device_memory(command, fd);
      buffers_[command.name] = memory;
      mappings_.push_back({memory, command.offset, command.mapped_bytes});
      return;
    }
    void* memory = mmap(nullptr, command.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map the report buffer");
    report_ = static_cast<char*>(memory);
    report_bytes_ = command.bytes;
  }

  void detach() {
    cudaDeviceSynchronize();
    for (const Mapping& mapping : mappings_)
      release_device_memory(mapping.memory, mapping.offset, mapping.bytes);
    mappings_.clear();
    buffers_.clear();
  }

  template <typename Work>
  void timed(Reply& reply, Work work) {
    gate_->close(stream_);
    cudaEventRecord(start_, stream_);
    watch_launches(true);
    const cudaError_t returned = work();
    watch_launches(false);
    cudaEventRecord(stop_, stream_);
    finish(reply, returned);
    float milliseconds = 0;
    if (reply.status == Status::kOk && cudaEventElapsedTime(&milliseconds, start_, stop_) == cudaSuccess) {
      reply.event_us = 1e3 * milliseconds;
    }
  }

  // What the submission returned, what the stream says, and what an unchecked launch left behind.
  void finish(Reply& reply, cudaError_t returned) {
    const cudaError_t synchronized = cudaStreamSynchronize(stream_);
    const cudaError_t left = cudaGetLastError();
    cudaError_t error = returned;
    if (error == cudaSuccess) error = synchronized;
    if (error == cudaSuccess && left != cudaSuccess && is_older_interface()) {
      reply.notes |= protocol::kNoteUnreadError;
      std::snprintf(reply.message, sizeof reply.message, "%s: %s", cudaGetErrorName(left),
                    cudaGetErrorString(left));
      return;
    }
    if (error == cudaSuccess) error = left;
    if (error == cudaSuccess) {
      const bool elsewhere = default_stream_launches() > 0 && !is_older_interface();
      if (elsewhere) reply.notes |= protocol::kNoteDefaultStream;
      return;
    }
    reply.status = returned == cudaErrorNotSupported && synchronized == cudaSuccess ? Status::kNotImplemented
                                                                                    : Status::kCudaError;
    reply.cuda_error = error;
    std::snprintf(reply.message, sizeof reply.message, "%s: %s", cudaGetErrorName(error),
                  cudaGetErrorString(error));
  }

  std::unique_ptr<LabRunner> lab_;
  std::unique_ptr<Gate> gate_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  Buffers buffers_;
  struct Mapping {
    void* memory;
    std::uint64_t offset, bytes;
  };
  std::vector<Mapping> mappings_;
  char* report_ = nullptr;
  std::size_t report_bytes_ = 0;
};

int serve_until_end() {
  Command command;
  int fd;
  std::unique_ptr<Server> server;
  std::string why;
  try {
    server = std::make_unique<Server>();
  } catch (const std::exception& error) {
    why = error.what();
  }
  while (receive(command, fd)) {
    Reply reply;
    if (server != nullptr) {
      reply = server->serve(command, fd);
    } else {
      reply.op = command.op;
      reply.sequence = command.sequence;
      reply.status = Status::kRunnerFault;
      std::snprintf(reply.message, sizeof reply.message, "%s", why.c_str());
    }
    if (send(protocol::kSocketFd, &reply, sizeof reply, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof reply))
      return 1;
    if (command.op == Op::kEnd) return 0;
  }
  return 0;
}

}  // namespace
}  // namespace warpgrade::runner

int main() {
  prctl(PR_SET_DUMPABLE, 0);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return warpgrade::runner::serve_until_end();
}
