#include <nlohmann/json.hpp>

#include "judge/judging/array_buffers.h"
#include "judge/judging/buffer_kernels.cuh"
#include "judge/judging/cuda_memory.h"
#include "judge/judging/staged_copy.h"

namespace warpgrade {
namespace {

struct Array {
  std::unique_ptr<SharedDeviceMemory> shared;
  DeviceArray<unsigned char> kept;
};

struct OutputArray {
  std::unique_ptr<SharedDeviceMemory> shared;
  DeviceArray<unsigned char> snapshot;
  bool in_place = false;
  DeviceArray<unsigned char> initial;  // of one in place
};

class CudaArrayBuffers : public ArrayBuffers {
 public:
  CudaArrayBuffers() {
    WARPGRADE_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    WARPGRADE_CUDA(cudaFree(nullptr));
    device_ = describe_cuda_device();
    blocks_ = device_.at("sm_count").get<int>() * 8;
    flags_ = DeviceArray<unsigned>(2 * kMostArrays);
  }

  bool on_gpu() const override { return true; }
  nlohmann::json describe() override { return device_; }

  int add_input(const std::string& name, std::size_t bytes) override {
    inputs_.push_back({std::make_unique<SharedDeviceMemory>(name, bytes), DeviceArray<unsigned char>(bytes)});
    return static_cast<int>(inputs_.size()) - 1;
  }
  int add_output(const std::string& name, std::size_t bytes, bool in_place) override {
    OutputArray output;
    output.shared = std::make_unique<SharedDeviceMemory>(name, bytes);
    output.snapshot = DeviceArray<unsigned char>(bytes);
    output.in_place = in_place;
    if (in_place) {
      output.initial = DeviceArray<unsigned char>(bytes);
      WARPGRADE_CUDA(cudaMemset(output.initial.get(), 0, bytes));
    }
    outputs_.push_back(std::move(output));
    poison(outputs_.back());
    return static_cast<int>(outputs_.size()) - 1;
  }
  void* input(int number) override { return inputs_[number].kept.get(); }
  void* output(int number) override { return outputs_[number].snapshot.get(); }
  void* initial(int number) override { return outputs_[number].initial.get(); }

  void publish(int number) override {
    const Array& array = inputs_[number];
    WARPGRADE_CUDA(cudaMemcpyAsync(array.shared->payload<void>(), array.kept.get(),
                                   array.shared->buffer().bytes, cudaMemcpyDeviceToDevice));
    guards(*array.shared, nullptr);
    synchronize();
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    copies_.to_device(to, from, bytes);
    synchronize();
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override { copies_.to_host(to, from, bytes); }

  std::vector<SharedBuffer> input_buffers() override {
    std::vector<SharedBuffer> buffers;
    for (const Array& input : inputs_) buffers.push_back(input.shared->buffer());
    return buffers;
  }
  SharedBuffer output_buffer() override { return outputs_.front().shared->buffer(); }
  std::vector<SharedBuffer> output_buffers() override {
    std::vector<SharedBuffer> buffers;
    for (const OutputArray& output : outputs_) buffers.push_back(output.shared->buffer());
    return buffers;
  }

  void poison() override {
    for (const OutputArray& output : outputs_) poison(output);
  }

  void snapshot() override {
    for (const OutputArray& output : outputs_) {
      const SharedDeviceMemory& memory = *output.shared;
      WARPGRADE_CUDA(cudaMemcpyAsync(output.snapshot.get(), memory.payload<void>(), memory.buffer().bytes,
                                     cudaMemcpyDeviceToDevice));
    }
    synchronize();
  }

  Integrity check_integrity() override {
    unsigned flags[2 * kMostArrays] = {};
    WARPGRADE_CUDA(cudaMemsetAsync(flags_.get(), 0, sizeof flags));
    std::vector<const SharedDeviceMemory*> guarded;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const SharedDeviceMemory& shared = *inputs_[i].shared;
      guarded.push_back(&shared);
      differs_kernel<<<blocks_, kBufferThreads>>>(
          shared.payload<unsigned>(), reinterpret_cast<const unsigned*>(inputs_[i].kept.get()),
          shared.count_of(sizeof(unsigned)), flags_.get() + kMostArrays + i);
      const std::size_t rest = shared.buffer().bytes % sizeof(unsigned), whole = shared.buffer().bytes - rest;
      if (rest > 0)
        differs_kernel<<<1, kBufferThreads>>>(shared.payload<unsigned char>() + whole,
                                              inputs_[i].kept.get() + whole, rest,
                                              flags_.get() + kMostArrays + i);
    }
    for (const OutputArray& output : outputs_) guarded.push_back(output.shared.get());
    for (std::size_t i = 0; i < guarded.size(); ++i) guards(*guarded[i], flags_.get() + i);
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(flags, flags_.get(), sizeof flags, cudaMemcpyDeviceToHost));
    Integrity result;
    for (std::size_t i = 0; i < guarded.size() && result.damaged_guard.empty(); ++i) {
      if (flags[i] == 0) continue;
      result.damaged_guard = guarded[i]->buffer().name;
      result.guard_behind = (flags[i] & 2) != 0;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (flags[kMostArrays + i] != 0) result.modified_input = inputs_[i].shared->buffer().name;
    }
    return result;
  }

 private:
  static constexpr int kMostArrays = 32;

  void poison(const OutputArray& output) {
    const SharedDeviceMemory& memory = *output.shared;
    if (output.in_place) {
      WARPGRADE_CUDA(cudaMemcpyAsync(memory.payload<void>(), output.initial.get(), memory.buffer().bytes,
                                     cudaMemcpyDeviceToDevice));
    } else {
      fill_words_kernel<<<blocks_, kBufferThreads>>>(memory.payload<unsigned>(),
                                                     memory.count_of(sizeof(unsigned)), kPoison);
      const std::size_t rest = memory.buffer().bytes % sizeof(unsigned);
      if (rest > 0)
        WARPGRADE_CUDA(cudaMemcpy(memory.payload<unsigned char>() + memory.buffer().bytes - rest, &kPoison,
                                  rest, cudaMemcpyHostToDevice));
    }
    guards(memory, nullptr);
    synchronize();
  }

  static void synchronize() {
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaDeviceSynchronize());
  }
  // A granule of 2 MB is checked whole.
  static void guards(const SharedDeviceMemory& memory, unsigned* damaged) {
    const SharedBuffer& buffer = memory.buffer();
    guard_kernel<<<64, kBufferThreads>>>(memory.base(), buffer.offset, buffer.offset + buffer.bytes,
                                         buffer.mapped_bytes, damaged);
  }

  nlohmann::json device_;
  int blocks_ = 0;
  std::vector<Array> inputs_;
  std::vector<OutputArray> outputs_;
  DeviceArray<unsigned> flags_;
  StagedCopy copies_;
};

}  // namespace

std::unique_ptr<ArrayBuffers> make_cuda_array_buffers() {
  return std::make_unique<CudaArrayBuffers>();
}

}  // namespace warpgrade
