#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "judge/judging/array_buffers.h"
#include "judge/judging/shared_host_memory.h"

namespace warpgrade {
namespace {

struct Array {
  std::unique_ptr<SharedHostMemory> shared;
  std::vector<std::byte> kept;
};

struct OutputArray {
  Array array;
  bool in_place = false;
  std::vector<std::byte> initial;  // of one in place
};

class HostArrayBuffers : public ArrayBuffers {
 public:
  bool on_gpu() const override { return false; }
  nlohmann::json describe() override { return {{"name", "libwarpemu"}}; }

  int add_input(const std::string& name, std::size_t bytes) override {
    inputs_.push_back(
        {std::make_unique<SharedHostMemory>(name, bytes, OthersMay::kRead), std::vector<std::byte>(bytes)});
    return static_cast<int>(inputs_.size()) - 1;
  }
  int add_output(const std::string& name, std::size_t bytes, bool in_place) override {
    outputs_.push_back({{std::make_unique<SharedHostMemory>(name, bytes), std::vector<std::byte>(bytes)},
                        in_place,
                        std::vector<std::byte>(in_place ? bytes : 0)});
    return static_cast<int>(outputs_.size()) - 1;
  }
  void* input(int number) override { return inputs_[number].kept.data(); }
  void* output(int number) override { return outputs_[number].array.kept.data(); }
  void* initial(int number) override { return outputs_[number].initial.data(); }

  void publish(int number) override {
    std::copy(inputs_[number].kept.begin(), inputs_[number].kept.end(),
              inputs_[number].shared->payload<std::byte>().begin());
    inputs_[number].shared->write_guards();
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override { copy_in(to, from, bytes); }

  std::vector<SharedBuffer> input_buffers() override {
    std::vector<SharedBuffer> buffers;
    for (const Array& input : inputs_) buffers.push_back(input.shared->buffer());
    return buffers;
  }
  SharedBuffer output_buffer() override { return outputs_.front().array.shared->buffer(); }
  std::vector<SharedBuffer> output_buffers() override {
    std::vector<SharedBuffer> buffers;
    for (const OutputArray& output : outputs_) buffers.push_back(output.array.shared->buffer());
    return buffers;
  }

  void poison() override {
    for (OutputArray& output : outputs_) {
      const std::span<std::byte> cells = output.array.shared->payload<std::byte>();
      if (output.in_place)
        std::copy(output.initial.begin(), output.initial.end(), cells.begin());
      else
        for (std::size_t i = 0; i < cells.size(); ++i)
          cells[i] = static_cast<std::byte>(kPoison >> (8 * (i % 4)));
      output.array.shared->write_guards();
    }
  }
  void snapshot() override {
    for (OutputArray& output : outputs_) {
      const std::span<std::byte> cells = output.array.shared->payload<std::byte>();
      std::copy(cells.begin(), cells.end(), output.array.kept.begin());
    }
  }

  Integrity check_integrity() override {
    Integrity result;
    const auto check_guards = [&](SharedHostMemory& memory) {
      const int where = memory.damaged_guard();
      if (where == 0 || !result.damaged_guard.empty()) return;
      result.damaged_guard = memory.buffer().name;
      result.guard_behind = where > 0;
    };
    for (Array& input : inputs_) {
      check_guards(*input.shared);
      const std::span<std::byte> shared = input.shared->payload<std::byte>();
      if (!std::equal(shared.begin(), shared.end(), input.kept.begin()))
        result.modified_input = input.shared->buffer().name;
    }
    for (OutputArray& output : outputs_) check_guards(*output.array.shared);
    return result;
  }

 private:
  std::vector<Array> inputs_;
  std::vector<OutputArray> outputs_;
};

}  // namespace

std::unique_ptr<ArrayBuffers> make_host_array_buffers() {
  return std::make_unique<HostArrayBuffers>();
}

// Programs without CUDA in them have this one; the judge's own stands in array_buffers_cuda.cu.
[[gnu::weak]] std::unique_ptr<ArrayBuffers> make_cuda_array_buffers() {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade
