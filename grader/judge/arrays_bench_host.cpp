#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "judge/arrays_bench.h"
#include "judge/shared_host_memory.h"

namespace warpgrade {
namespace {

struct Array {
  std::unique_ptr<SharedHostMemory> shared;
  std::vector<std::byte> kept;
};

class HostArraysBench : public ArraysBench {
 public:
  bool on_gpu() const override { return false; }
  nlohmann::json describe() override { return {{"name", "libwarpemu"}}; }

  int add_input(const std::string& name, std::size_t bytes) override {
    inputs_.push_back(
        {std::make_unique<SharedHostMemory>(name, bytes, OthersMay::kRead), std::vector<std::byte>(bytes)});
    return static_cast<int>(inputs_.size()) - 1;
  }
  void set_output(const std::string& name, std::size_t bytes, bool with_baseline) override {
    if (with_baseline) throw JudgeFault("no baseline runs on the emulator");
    output_ = {std::make_unique<SharedHostMemory>(name, bytes), std::vector<std::byte>(bytes)};
  }
  void set_in_place(const std::string& name, std::size_t bytes, bool with_baseline) override {
    set_output(name, bytes, with_baseline);
    initial_.resize(bytes);
  }
  void* input(int number) override { return inputs_[number].kept.data(); }
  void* output() override { return output_.kept.data(); }
  void* initial() override { return initial_.data(); }

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
  SharedBuffer output_buffer(Output) override { return output_.shared->buffer(); }

  void poison(Output) override {
    if (initial_.empty()) {
      const std::span<std::uint32_t> cells = output_.shared->payload<std::uint32_t>();
      std::fill(cells.begin(), cells.end(), kPoison);
    } else {
      std::copy(initial_.begin(), initial_.end(), output_.shared->payload<std::byte>().begin());
    }
    output_.shared->write_guards();
  }
  void snapshot(Output) override {
    const std::span<std::byte> cells = output_.shared->payload<std::byte>();
    std::copy(cells.begin(), cells.end(), output_.kept.begin());
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
    check_guards(*output_.shared);
    return result;
  }

 private:
  std::vector<Array> inputs_;
  Array output_;
  std::vector<std::byte> initial_;  // of an output in place
};

}  // namespace

std::unique_ptr<ArraysBench> make_host_arrays_bench() {
  return std::make_unique<HostArraysBench>();
}

// Programs without CUDA in them have this one; the judge's own stands in arrays_bench_cuda.cu.
[[gnu::weak]] std::unique_ptr<ArraysBench> make_cuda_arrays_bench() {
  throw JudgeFault("this program has no GPU bench; warpgrade-judge has");
}

}  // namespace warpgrade
