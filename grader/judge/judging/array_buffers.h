// Buffers of arrays: inputs with private copies, outputs with private snapshots, on the host (memfd, for the
// emulator) or on a GPU (VMM allocations). For labs whose inputs are kept, not drawn again. The lab fills
// and checks the private arrays, in memory of the buffers' kind.
#pragma once

#include <memory>

#include "judge/judging/case_buffers.h"

namespace warpgrade {

class ArrayBuffers : public CaseBuffers {
 public:
  virtual bool on_gpu() const = 0;

  // Adds an input; its private copy is to be filled, then published. Returns its number: 0, 1, ...
  virtual int add_input(const std::string& name, std::size_t bytes) = 0;
  // Adds an output. Returns its number: 0, 1, ... `in_place`: it holds an input on entry; poison() then
  // writes initial() instead of the poison.
  virtual int add_output(const std::string& name, std::size_t bytes, bool in_place) = 0;
  void set_output(const std::string& name, std::size_t bytes) { add_output(name, bytes, false); }
  void set_in_place(const std::string& name, std::size_t bytes) { add_output(name, bytes, true); }

  // Private memory, on the host or on the GPU.
  virtual void* input(int number) = 0;
  virtual void* output(int number = 0) = 0;
  virtual void* initial(int number = 0) = 0;  // what an output that is worked on in place starts as

  // The private copy of an input to the shared one, and its guard words anew.
  virtual void publish(int number) = 0;
  // From and to host memory.
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
};

std::unique_ptr<ArrayBuffers> make_host_array_buffers();
std::unique_ptr<ArrayBuffers> make_cuda_array_buffers();  // throws JudgeFault without a GPU

}  // namespace warpgrade
