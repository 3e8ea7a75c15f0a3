// Host functions run on a thread of their own, one for each stream that has some, as NVIDIA's runtime does
// it: the thread that enqueues one goes on, and the function may wait for it. A backend knows no host
// functions. So until such a function has returned, what the program puts into the stream behind it is
// held here.
//
// Held are launches, fills, copies between memory of the device and pinned memory, events, graphs and more
// host functions. Any other call waits until the stream holds nothing. So does work in the default stream
// while a stream that it waits for holds something, and the other way round.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <optional>

#include "cudart/stream.h"

namespace warpgrade::cudart {

// Puts work into a stream, on the calling thread; the stream as the backend knows it.
using StreamWork = std::function<cudaError_t(StreamId)>;

// A place behind held work that is reached or not.
class HeldPlace;

// Nothing is held anywhere: the common case, decided without a lock.
bool nothing_is_held();
bool is_held(const Stream& stream);
bool is_reached(const std::shared_ptr<HeldPlace>& place);  // true of none

// Runs work that calls host functions on the stream's thread, behind all that is in the stream. Its errors
// are told like those of other work that runs later. `place`: reached when the work is done.
cudaError_t run_beside(Stream& stream, StreamWork work, std::shared_ptr<HeldPlace>* place = nullptr);

// Runs work on the calling thread, or holds it. `place`: as above, none when the work was run.
cudaError_t run_in_order(Stream& stream, const StreamWork& work, std::shared_ptr<HeldPlace>* place = nullptr);

// The same for work that is dear to keep: empty when it is to be run now, else the call's result. `work`
// makes what is kept.
std::optional<cudaError_t> hold(Stream& stream, const std::function<StreamWork()>& work,
                                std::shared_ptr<HeldPlace>* place = nullptr);

// These wait, and return cudaErrorNotPermitted where a host function would wait, perhaps for itself:
// until the stream holds nothing;
cudaError_t wait_for_held(const Stream& stream);
// until work that cannot be held may be put into the stream;
cudaError_t wait_to_enqueue(const Stream& stream);
// until nothing is held anywhere;
cudaError_t wait_for_all_held();
// until a place is reached.
cudaError_t wait_for(const std::shared_ptr<HeldPlace>& place);

// Calls a host function as CUDA does: in it, no call may wait for held work.
void call_host_function(const std::function<void()>& function);

// The error of held work that failed, once.
cudaError_t take_held_error();

}  // namespace warpgrade::cudart
