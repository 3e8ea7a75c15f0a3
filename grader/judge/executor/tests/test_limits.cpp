// What a submission may have of the device, and what becomes of an executor whose device does not answer.
// Calls are written into the ring as the library writes them; the device is one that does nothing, with the
// behaviour in question put into it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "judge/executor/driver/timing_gate.h"
#include "judge/executor/server.h"
#include "judge/executor/server_watchdog.h"
#include "judge/executor/tests/null_backend.h"
#include "judge/executor/tests/ring_writer.h"
#include "judge/executor/visible_facts.h"

namespace warpgrade::executor {
namespace {

using wire::Op;

constexpr uint64_t kMiB = 1 << 20;

// The calls of a host process, one after the other.
class Caller {
 public:
  explicit Caller(CallServer& server) : server_(server), writer_(shared()) {}

  cudaError_t ask(Op op, std::initializer_list<uint64_t> arguments, std::span<const uint8_t> data = {}) {
    writer_.write(op, arguments, 1, data);
    server_.serve(1);
    return static_cast<cudaError_t>(shared().slot(1).error);
  }
  uint64_t value() const { return shared().slot(1).values[0]; }
  cudaError_t allocate(cudart::MemoryKind kind, uint64_t bytes) {
    return ask(Op::allocate, {static_cast<uint64_t>(kind), bytes});
  }
  cudaError_t add_module() {
    const std::vector<uint8_t> image(64, 1);
    writer_.write(Op::stage, {}, wire::kNoSlot, image);
    server_.serve(1);
    return ask(Op::add_module, {image.size()});
  }
  cudaError_t find_kernel() {
    const std::vector<uint8_t> name{'k'};
    return ask(Op::find_kernel, {0}, name);
  }
  cudaError_t launch() {
    const std::vector<uint8_t> parameters(16, 7);
    return ask(Op::launch, {0, uint64_t{1} << 32 | 1, uint64_t{32} << 32 | 1, uint64_t{1} << 32 | 1, 0, 16},
               parameters);
  }

 private:
  CallServer& server_;
  Writer writer_;
};

Limits with_memory(uint64_t bytes) {
  Limits limits;
  limits.device_bytes = bytes;
  return limits;
}

constexpr auto kDevice = cudart::MemoryKind::device, kManaged = cudart::MemoryKind::managed,
               kPinned = cudart::MemoryKind::pinned;

TEST(DeviceMemoryLimit, counts_every_kind_of_allocation) {
  NullBackend device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.allocate(kDevice, 5 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.allocate(kManaged, 5 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::allocate_async, {5 * kMiB, 0}), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.allocate(kPinned, 5 * kMiB), cudaSuccess);  // memory of the host
  EXPECT_EQ(caller.allocate(kDevice, 2 * kMiB), cudaSuccess);
  const uint64_t first = caller.value();
  EXPECT_EQ(caller.allocate(kManaged, kMiB), cudaSuccess);
  EXPECT_EQ(caller.ask(Op::allocate_async, {kMiB, 0}), cudaSuccess);
  const uint64_t last = caller.value();
  EXPECT_EQ(caller.allocate(kDevice, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::memory_info, {}), cudaSuccess);
  EXPECT_EQ(caller.value(), 0u);
  EXPECT_EQ(caller.ask(Op::release, {first, 1}), cudaSuccess);
  EXPECT_EQ(caller.ask(Op::release_async, {last, 0}), cudaSuccess);
  EXPECT_EQ(caller.allocate(kDevice, 3 * kMiB), cudaSuccess);
}

TEST(DeviceMemoryLimit, counts_what_small_allocations_take) {
  NullBackend device;
  CallServer server(device, shared(), with_memory(kMiB));
  Caller caller(server);
  unsigned given = 0;
  while (given < 5000 && caller.allocate(kDevice, 1) == cudaSuccess) ++given;
  EXPECT_EQ(given, kMiB / 512);
}

TEST(DeviceMemoryLimit, zero_is_no_limit) {
  NullBackend device;
  CallServer server(device, shared(), with_memory(0));
  EXPECT_EQ(Caller(server).allocate(kDevice, uint64_t{1} << 35), cudaSuccess);
}

// Memory that was freed in a stream stays with the pool until somebody waits.
TEST(DeviceMemoryLimit, counts_what_the_pool_keeps) {
  struct : NullBackend {
    uint64_t pool_bytes() override { return pool; }
    void trim_pool() override {
      if (can_trim) pool = 0;
    }
    cudaError_t allocate_async(uint64_t bytes, cudart::StreamId stream, uint64_t& address) override {
      pool += grows_by;
      return NullBackend::allocate_async(bytes, stream, address);
    }
    uint64_t pool = 0, grows_by = 0;
    bool can_trim = false;
  } device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  device.pool = 3 * kMiB;
  EXPECT_EQ(caller.allocate(kDevice, 2 * kMiB), cudaErrorMemoryAllocation);
  device.can_trim = true;
  EXPECT_EQ(caller.allocate(kDevice, 2 * kMiB), cudaSuccess);
  device.can_trim = false;
  device.grows_by = 3 * kMiB;  // more than was asked for
  EXPECT_EQ(caller.ask(Op::allocate_async, {kMiB, 0}), cudaErrorMemoryAllocation);
}

TEST(DeviceMemoryLimit, counts_the_variables_of_modules) {
  struct : NullBackend {
    cudaError_t add_module(std::span<const std::span<const uint8_t>> all, cudart::ModuleId& module) override {
      taken += 3 * kMiB;
      return NullBackend::add_module(all, module);
    }
    void remove_module(cudart::ModuleId) override { taken -= 3 * kMiB; }
    cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override {
      NullBackend::memory_info(free_bytes, total_bytes);
      free_bytes -= taken;
      return cudaSuccess;
    }
    uint64_t taken = 0;
  } device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 3 * kMiB);
  EXPECT_EQ(caller.allocate(kDevice, 2 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.add_module(), cudaErrorMemoryAllocation);
  EXPECT_EQ(device.taken, 3 * kMiB);  // the refused one is gone
  ASSERT_EQ(server.reports().size(), 1u);
  EXPECT_NE(server.reports()[0].find("memory_limit"), std::string::npos);
}

// The first object of an array takes memory, which counts until the array is freed.
TEST(DeviceMemoryLimit, counts_what_texture_objects_take_for_arrays) {
  struct : NullBackend {
    cudaError_t create_image(const cudart::Image& image, uint64_t& object) override {
      if (image.is_array != 0) taken += 2 * kMiB;
      return NullBackend::create_image(image, object);
    }
    cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override {
      NullBackend::memory_info(free_bytes, total_bytes);
      free_bytes -= taken;
      return cudaSuccess;
    }
    uint64_t taken = 0;
  } device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  ASSERT_EQ(caller.allocate(kDevice, kMiB), cudaSuccess);
  cudart::Image image;
  image.address = caller.value();
  image.pitch = image.slice = image.width = 256;
  image.channels = 1;
  image.channel_bits = 8;
  image.is_array = 1;
  const auto create = [&] {
    return caller.ask(Op::create_image, {}, {reinterpret_cast<const uint8_t*>(&image), sizeof image});
  };
  EXPECT_EQ(create(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 3 * kMiB);
  EXPECT_EQ(create(), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::release, {image.address, 1u << static_cast<int>(kDevice)}), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 0u);
}

// Others take memory while a module is loaded: that is not the submission's.
TEST(DeviceMemoryLimit, does_not_take_another_process_for_a_module) {
  struct : NullBackend {
    cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override {
      NullBackend::memory_info(free_bytes, total_bytes);
      if (++asked == 2) taken = 30 * kMiB;
      free_bytes -= taken;
      return cudaSuccess;
    }
    uint64_t taken = 0;
    int asked = 0;
  } device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 0u);
}

// Backends on a GPU load a module with the first use of a kernel or variable.
struct LoadsWhenUsed : NullBackend {
  bool loads_code_when_used() const override { return true; }
  cudaError_t find_kernel(cudart::ModuleId module, const std::string& name, cudart::KernelId& kernel,
                          cudart::KernelFacts& facts) override {
    variables = 3 * kMiB;
    return NullBackend::find_kernel(module, name, kernel, facts);
  }
  void remove_module(cudart::ModuleId) override { variables = 0; }
  cudaError_t memory_info(uint64_t& free_bytes, uint64_t& total_bytes) override {
    NullBackend::memory_info(free_bytes, total_bytes);
    if (variables > 0 && others_at_first_use > 0) others += std::exchange(others_at_first_use, 0);
    free_bytes -= variables + others;
    return cudaSuccess;
  }
  uint64_t variables = 0, others = 0, others_at_first_use = 0;
};

TEST(DeviceMemoryLimit, counts_variables_at_their_first_use) {
  LoadsWhenUsed device;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 0u);
  EXPECT_EQ(caller.find_kernel(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 3 * kMiB);
  EXPECT_EQ(caller.allocate(kDevice, 2 * kMiB), cudaErrorMemoryAllocation);
}

TEST(DeviceMemoryLimit, refuses_a_first_use_that_takes_too_much) {
  LoadsWhenUsed device;
  CallServer server(device, shared(), with_memory(2 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(caller.find_kernel(), cudaErrorMemoryAllocation);
}

TEST(DeviceMemoryLimit, does_not_take_another_process_for_a_first_use) {
  LoadsWhenUsed device;
  device.others_at_first_use = 30 * kMiB;
  CallServer server(device, shared(), with_memory(4 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(caller.find_kernel(), cudaSuccess);
  EXPECT_EQ(server.device_bytes(), 3 * kMiB);
}

TEST(DeviceMemoryLimit, counts_stacks_and_the_heap) {
  struct : NullBackend {
    cudaError_t find_kernel(cudart::ModuleId module, const std::string& name, cudart::KernelId& kernel,
                            cudart::KernelFacts& facts) override {
      NullBackend::find_kernel(module, name, kernel, facts);
      facts.local_bytes = 8 << 10;
      return cudaSuccess;
    }
  } device;
  CallServer server(device, shared(), with_memory(1024 * kMiB));
  Caller caller(server);
  EXPECT_EQ(caller.ask(Op::set_limit, {cudaLimitMallocHeapSize, 2048 * kMiB}), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::set_limit, {cudaLimitStackSize, 8 << 10}), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::set_limit, {cudaLimitMallocHeapSize, 512 * kMiB}), cudaSuccess);
  EXPECT_EQ(caller.allocate(kDevice, 600 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::set_limit, {cudaLimitMallocHeapSize, kMiB}), cudaSuccess);
  EXPECT_EQ(caller.allocate(kDevice, 600 * kMiB), cudaSuccess);
  EXPECT_EQ(caller.add_module(), cudaSuccess);
  EXPECT_EQ(caller.find_kernel(), cudaErrorMemoryAllocation);  // 7 KiB for each of 270,336 threads
}

TEST(DeviceMemoryLimit, counts_launches_of_kernels_that_may_wait) {
  NullBackend device;
  CallServer server(device, shared(), with_memory(1024 * kMiB));
  Caller caller(server);
  constexpr auto kPending = cudaLimitDevRuntimePendingLaunchCount;
  EXPECT_EQ(caller.ask(Op::set_limit, {kPending, 1 << 20}), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::set_limit, {kPending, 64 << 10}), cudaSuccess);
  EXPECT_EQ(caller.allocate(kDevice, 600 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(caller.ask(Op::set_limit, {kPending, 2048}), cudaSuccess);  // what a context has from its start
  EXPECT_EQ(caller.allocate(kDevice, 600 * kMiB), cudaSuccess);
}

TEST(HandleLimit, holds_for_streams_events_modules_and_kernels) {
  NullBackend device;
  Limits limits;
  limits.streams = 5;
  limits.events = 3;
  limits.modules = 2;
  limits.allocations = 2;
  CallServer server(device, shared(), limits);
  Caller caller(server);
  const auto count = [](const auto& make) {
    int made = 0;
    while (made < 100 && make() == cudaSuccess) ++made;
    return made;
  };
  EXPECT_EQ(count([&] { return caller.ask(Op::create_stream, {0, 0}); }), 3);  // and the two default ones
  EXPECT_EQ(count([&] { return caller.ask(Op::create_event, {0}); }), 3);
  EXPECT_EQ(count([&] { return caller.add_module(); }), 2);
  EXPECT_EQ(count([&] { return caller.allocate(kDevice, 1); }), 2);
}

// A device that never finishes what it has.
struct Endless : NullBackend {
  cudaError_t query_stream(cudart::StreamId) override { return state; }
  cudaError_t state = cudaErrorNotReady;
};

TEST(Clusters, are_asked_about_with_a_configuration_that_a_launch_could_have) {
  NullBackend device;
  CallServer server(device, shared(), {});
  Caller caller(server);
  ASSERT_EQ(caller.add_module(), cudaSuccess);
  ASSERT_EQ(caller.find_kernel(), cudaSuccess);
  const auto ask = [&](uint64_t kernel, uint64_t threads, uint64_t parameter_bytes, uint64_t attributes = 0,
                       std::span<const uint8_t> data = {}) {
    // No grid: it does not decide how many clusters a device holds.
    return caller.ask(
        Op::active_clusters,
        {kernel, 0, threads << 32, uint64_t{1} << 32 | 1, 0, attributes << 32 | parameter_bytes}, data);
  };
  EXPECT_EQ(ask(0, 32, 0), cudaSuccess);
  EXPECT_EQ(caller.value(), 66u);
  EXPECT_EQ(ask(7, 32, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(ask(0, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(ask(0, 1025, 0), cudaErrorInvalidValue);
  EXPECT_EQ(caller.ask(Op::active_clusters, {0, 0, uint64_t{64} << 32, uint64_t{1} << 32 | 64, 0, 0}),
            cudaErrorInvalidValue);                                               // 64 x 64 threads
  EXPECT_EQ(ask(0, 32, 16, 0, std::vector<uint8_t>(16)), cudaErrorInvalidValue);  // parameters
  wire::Attribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  std::vector<uint8_t> bytes(sizeof attribute);
  std::memcpy(bytes.data(), &attribute, sizeof attribute);
  EXPECT_EQ(ask(0, 32, 0, 1, bytes), cudaSuccess);
  attribute.id = cudaLaunchAttributeProgrammaticEvent;  // it holds a handle
  std::memcpy(bytes.data(), &attribute, sizeof attribute);
  EXPECT_EQ(ask(0, 32, 0, 1, bytes), cudaErrorNotSupported);
  EXPECT_EQ(ask(0, 32, 0, 2, bytes), cudaErrorInvalidValue);  // two are announced, one came
}

TEST(GivingUp, answers_a_call_that_waits_for_an_endless_kernel) {
  Endless device;
  Limits limits;
  limits.wait_seconds = 0.05;
  CallServer server(device, shared(), limits);
  Writer writer(shared());
  writer.write(Op::synchronize_stream, {0}, 1);
  const auto begin = std::chrono::steady_clock::now();
  while (!server.gave_up() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    server.serve(4);
  ASSERT_TRUE(server.gave_up());
  EXPECT_STREQ(name_of(server.gave_up()->ending), "device_did_not_finish");
  EXPECT_EQ(server.gave_up()->call, "synchronize_stream");
  EXPECT_EQ(shared().slot(1).done.load(), writer.sequence());
  EXPECT_EQ(shared().slot(1).error, cudaErrorLaunchTimeout);
  EXPECT_FALSE(server.has_waiting_calls());
  EXPECT_EQ(Caller(server).allocate(kDevice, 1), cudaErrorLaunchTimeout);
  EXPECT_EQ(shared().control().sticky.load(), cudaErrorLaunchTimeout);
}

TEST(GivingUp, does_not_happen_while_kernels_end_in_time) {
  Endless device;
  Limits limits;
  limits.wait_seconds = 5;
  CallServer server(device, shared(), limits);
  Writer writer(shared());
  writer.write(Op::synchronize_stream, {0}, 1);
  for (int k = 0; k < 1000; ++k) server.serve(4);
  EXPECT_TRUE(server.has_waiting_calls());
  device.state = cudaSuccess;
  server.serve(4);
  EXPECT_FALSE(server.gave_up());
  EXPECT_EQ(shared().slot(1).error, cudaSuccess);
}

TEST(GivingUp, ends_the_owners_wait_for_an_idle_device) {
  Endless device;
  CallServer server(device, shared(), {});
  EXPECT_EQ(server.wait_until_idle(0.02, "free"), cudaErrorLaunchTimeout);
  ASSERT_TRUE(server.gave_up());
  EXPECT_EQ(server.gave_up()->text().find("device_did_not_finish: free waited"), 0u);
}

TEST(Watchdog, tells_of_a_driver_call_that_does_not_return) {
  struct : NullBackend {
    cudaError_t launch(const cudart::LaunchCall&, std::span<const uint8_t>) override {
      while (!may_return) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return cudaSuccess;
    }
    std::atomic<bool> may_return{false};
  } device;
  CallServer server(device, shared(), {});
  Caller caller(server);
  ASSERT_EQ(caller.add_module(), cudaSuccess);
  ASSERT_EQ(caller.find_kernel(), cudaSuccess);
  GaveUp reported;
  const Watchdog watchdog(server, 0.1, [&](const GaveUp& why) {
    reported = why;
    device.may_return = true;
  });
  EXPECT_EQ(caller.launch(), cudaSuccess);
  EXPECT_STREQ(name_of(reported.ending), "driver_did_not_return");
  EXPECT_EQ(reported.call, "launch");
}

TEST(Watchdog, is_silent_while_calls_return) {
  NullBackend device;
  CallServer server(device, shared(), {});
  Caller caller(server);
  std::atomic<bool> has_given_up{false};
  const Watchdog watchdog(server, 0.05, [&](const GaveUp&) { has_given_up = true; });
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(200)) caller.ask(Op::ping, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // idle, not stuck
  EXPECT_FALSE(has_given_up);
}

TEST(VisibleFacts, hide_what_does_not_hold_through_the_executor) {
  NullBackend device;
  const auto& facts = device.device();
  auto changed = facts;
  changed.attributes[cudaDevAttrPageableMemoryAccess] = 1;
  changed.attributes[cudaDevAttrMemoryPoolSupportedHandleTypes] = 7;
  changed.attributes[cudaDevAttrManagedMemory] = 1;
  const auto visible = visible_attributes(changed);
  EXPECT_EQ(visible[cudaDevAttrPageableMemoryAccess], 0);
  EXPECT_EQ(visible[cudaDevAttrMemoryPoolSupportedHandleTypes], 0);
  EXPECT_EQ(visible[cudaDevAttrConcurrentManagedAccess], 1);
  EXPECT_EQ(visible[cudaDevAttrMultiProcessorCount], 132);
}

TEST(VisibleFacts, object_to_a_device_that_reaches_host_memory) {
  NullBackend device;
  auto facts = device.device();
  EXPECT_EQ(objection_to(facts, false), "");
  facts.attributes[cudaDevAttrPageableMemoryAccess] = 1;
  EXPECT_NE(objection_to(facts, false).find("uvm_disable_hmm=1"), std::string::npos);
  EXPECT_EQ(objection_to(facts, true), "");
}

TEST(TimingGate, believes_a_start_only_while_its_own_clock_says_that_the_gate_was_closed) {
  const GateOpening honest{30, 2.3, 123456};
  EXPECT_TRUE(is_sound(honest));
  EXPECT_FALSE(is_sound({30, 2.3, 0})) << "the start was never seen";
  EXPECT_FALSE(is_sound({30, 11, 123456})) << "kernels may have run before the start was read";
  // The gate ended by itself, and a kernel wrote a later start into the page, which is there at once.
  EXPECT_FALSE(is_sound({4.5e6, 0.1, 123456}));
}

}  // namespace
}  // namespace warpgrade::executor
