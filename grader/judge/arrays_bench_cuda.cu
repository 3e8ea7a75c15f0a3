#include "judge/arrays_bench.h"
#include "judge/bench_kernels.cuh"
#include "judge/cuda_memory.h"

namespace warpgrade {
namespace {

struct Array {
  std::unique_ptr<SharedDeviceMemory> shared;
  DeviceArray<unsigned char> kept;
};

class CudaArraysBench : public ArraysBench {
 public:
  CudaArraysBench() {
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
  void set_output(const std::string& name, std::size_t bytes, bool with_baseline) override {
    outputs_[0] = std::make_unique<SharedDeviceMemory>(name, bytes);
    if (with_baseline) outputs_[1] = std::make_unique<SharedDeviceMemory>(name, bytes);
    snapshot_ = DeviceArray<unsigned char>(bytes);
    for (const Output output : {Output::kSubmission, Output::kBaseline}) {
      if (outputs_[static_cast<int>(output)] != nullptr) poison(output);
    }
  }
  void set_in_place(const std::string& name, std::size_t bytes, bool with_baseline) override {
    initial_ = DeviceArray<unsigned char>(bytes);
    WARPGRADE_CUDA(cudaMemset(initial_.get(), 0, bytes));
    set_output(name, bytes, with_baseline);
  }
  void* input(int number) override { return inputs_[number].kept.get(); }
  void* output() override { return snapshot_.get(); }
  void* initial() override { return initial_.get(); }

  void publish(int number) override {
    const Array& array = inputs_[number];
    WARPGRADE_CUDA(cudaMemcpyAsync(array.shared->payload<void>(), array.kept.get(),
                                   array.shared->buffer().bytes, cudaMemcpyDeviceToDevice));
    guards(*array.shared, nullptr);
    synchronize();
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    WARPGRADE_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    synchronize();
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    WARPGRADE_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  }

  std::vector<SharedBuffer> input_buffers() override {
    std::vector<SharedBuffer> buffers;
    for (const Array& input : inputs_) buffers.push_back(input.shared->buffer());
    return buffers;
  }
  SharedBuffer output_buffer(Output output) override { return outputs_[static_cast<int>(output)]->buffer(); }

  void poison(Output output) override {
    const SharedDeviceMemory& memory = *outputs_[static_cast<int>(output)];
    if (initial_.get() == nullptr) {
      fill_words_kernel<<<blocks_, kBenchThreads>>>(memory.payload<unsigned>(),
                                                    memory.count_of(sizeof(unsigned)), kPoison);
    } else {
      WARPGRADE_CUDA(cudaMemcpyAsync(memory.payload<void>(), initial_.get(), memory.buffer().bytes,
                                     cudaMemcpyDeviceToDevice));
    }
    guards(memory, nullptr);
    synchronize();
  }

  void snapshot(Output output) override {
    const SharedDeviceMemory& memory = *outputs_[static_cast<int>(output)];
    WARPGRADE_CUDA(cudaMemcpyAsync(snapshot_.get(), memory.payload<void>(), memory.buffer().bytes,
                                   cudaMemcpyDeviceToDevice));
    synchronize();
  }

  Integrity check_integrity() override {
    unsigned flags[2 * kMostArrays] = {};
    WARPGRADE_CUDA(cudaMemsetAsync(flags_.get(), 0, sizeof flags));
    std::vector<const SharedDeviceMemory*> guarded;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const SharedDeviceMemory& shared = *inputs_[i].shared;
      guarded.push_back(&shared);
      differs_kernel<<<blocks_, kBenchThreads>>>(
          shared.payload<unsigned>(), reinterpret_cast<const unsigned*>(inputs_[i].kept.get()),
          shared.count_of(sizeof(unsigned)), flags_.get() + kMostArrays + i);
    }
    for (const auto& output : outputs_) {
      if (output != nullptr) guarded.push_back(output.get());
    }
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
  static constexpr int kMostArrays = 16;

  static void synchronize() {
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaDeviceSynchronize());
  }
  // A granule of 2 MB is checked whole.
  static void guards(const SharedDeviceMemory& memory, unsigned* damaged) {
    const SharedBuffer& buffer = memory.buffer();
    guard_kernel<<<64, kBenchThreads>>>(memory.base(), buffer.offset, buffer.offset + buffer.bytes,
                                        buffer.mapped_bytes, damaged);
  }

  nlohmann::json device_;
  int blocks_ = 0;
  std::vector<Array> inputs_;
  std::unique_ptr<SharedDeviceMemory> outputs_[2];
  DeviceArray<unsigned char> snapshot_;
  DeviceArray<unsigned char> initial_;  // of an output in place
  DeviceArray<unsigned> flags_;
};

}  // namespace

std::unique_ptr<ArraysBench> make_cuda_arrays_bench() {
  return std::make_unique<CudaArraysBench>();
}

}  // namespace warpgrade
