// What a call of the submission's comes to: one rule for the executor and for the runner without one.
#pragma once

#include <cstdio>
#include <string>

#include "judge/protocol/protocol.h"

namespace warpgrade::protocol {

// What the submission's function did; CUDA error codes. Untrusted: it can only make a verdict worse,
// or explain one.
struct CallSummary {
  bool threw = false;
  std::int32_t returned = 0;
  std::int32_t left = 0;  // by an unchecked launch
  bool launched_on_default_stream = false;
  bool leaves_errors_unread = false;  // an older interface, whose courses never looked
};

inline void say(Reply& reply, Status status, const std::string& words) {
  reply.status = status;
  std::snprintf(reply.message, sizeof reply.message, "%s", words.c_str());
}

// What was returned comes first, then what the device says (`synchronized`), then what was left behind.
// `words_of`: "cudaErrorInvalidValue: invalid argument".
template <typename WordsOf>
void set_result(Reply& reply, const CallSummary& call, std::int32_t synchronized, WordsOf words_of) {
  constexpr std::int32_t kNotSupported = 801;  // cudaErrorNotSupported: the stub returns it
  std::int32_t error = call.returned != 0 ? call.returned : synchronized;
  if (error == 0 && call.left != 0 && call.leaves_errors_unread) {
    reply.notes |= kNoteUnreadError;
    std::snprintf(reply.message, sizeof reply.message, "%s", words_of(call.left).c_str());
    return;
  }
  if (error == 0) error = call.left;
  if (error == 0) {
    if (call.launched_on_default_stream && !call.leaves_errors_unread) reply.notes |= kNoteDefaultStream;
    return;
  }
  const bool not_written = call.returned == kNotSupported && synchronized == 0;
  reply.cuda_error = error;
  say(reply, not_written ? Status::kNotImplemented : Status::kCudaError, words_of(error));
}

}  // namespace warpgrade::protocol
