#include "submission_calls.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include "launch_watch.h"

namespace warpgrade::runner {
namespace {

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

cudaError_t call(LabRunner& lab, const protocol::Command& command, const Buffers& buffers,
                 cudaStream_t stream) {
  switch (command.op) {
    case protocol::Op::kPlan:
      return lab.plan(command, buffers, stream);
    case protocol::Op::kRun:
      return lab.run(command, buffers, stream);
    default:
      lab.free();
      return cudaSuccess;
  }
}

}  // namespace

// Whatever the submission's code throws, in its call or in a callback that the runtime makes for it, is its
// own fault: never one of this runner.
CallResult call_submission(LabRunner& lab, const protocol::Command& command, const Buffers& buffers,
                           cudaStream_t stream) {
  CallResult result;
  result.summary.threw = true;
  watch_launches(true);
  try {
    result.summary.returned = call(lab, command, buffers, stream);
    result.summary.threw = false;
  } catch (const std::exception& error) {
    result.message = thrown(error.what());
  } catch (...) {
    result.message = thrown(nullptr);
  }
  watch_launches(false);
  result.summary.launched_on_default_stream = default_stream_launches() > 0;
  result.summary.leaves_errors_unread = is_older_interface();
  result.summary.left = cudaGetLastError();
  return result;
}

}  // namespace warpgrade::runner
