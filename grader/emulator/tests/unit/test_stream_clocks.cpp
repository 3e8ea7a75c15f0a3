// What comes before what among streams and the host (cudart/stream_clocks.h). Each test says which rule it
// holds: "reference" is the CUDA runtime API reference ("Stream synchronization behavior", and the pages of
// the calls), "guide" the CUDA programming guide ("Asynchronous Concurrent Execution").
#include <gtest/gtest.h>

#include <thread>

#include "cudart/stream_clocks.h"

namespace warpgrade::cudart {
namespace {

constexpr StreamId kA = 10, kB = 11, kFree = 12;  // kFree: non-blocking

struct Streams : StreamClocks {
  Streams() {
    create(kA, true);
    create(kB, true);
    create(kFree, false);
  }
};

bool is_before(const StreamClocks::Command& first, const StreamClocks::Command& second) {
  return first.moment.is_in(second.before);
}

TEST(Clock, knows_of_a_line_what_was_raised_or_joined_and_nothing_else) {
  Clock clock;
  EXPECT_FALSE(clock.covers(3, 1));
  clock.raise(3, 5);
  EXPECT_TRUE(clock.covers(3, 5));
  EXPECT_TRUE(clock.covers(3, 1));
  EXPECT_FALSE(clock.covers(3, 6));
  EXPECT_FALSE(clock.covers(2, 1));
  EXPECT_FALSE(clock.covers(4, 1));
}

TEST(Clock, never_goes_back) {
  Clock clock, behind;
  clock.raise(1, 7);
  clock.raise(1, 2);
  EXPECT_TRUE(clock.covers(1, 7));
  behind.raise(1, 3);
  behind.raise(4, 9);
  clock.join(behind);
  EXPECT_TRUE(clock.covers(1, 7));
  EXPECT_TRUE(clock.covers(4, 9));
  behind.join(Clock());
  EXPECT_TRUE(behind.covers(4, 9));
}

// Guide, "Streams": a stream is a sequence of commands that execute in order.
TEST(StreamClocks, commands_of_one_stream_come_in_order) {
  for (const StreamId stream : {kLegacyStream, kPerThreadStream, kA, kFree}) {
    Streams clocks;
    const auto first = clocks.begin(stream), second = clocks.begin(stream);
    EXPECT_TRUE(is_before(first, second)) << stream;
    EXPECT_FALSE(is_before(second, first)) << stream;
    EXPECT_FALSE(is_before(first, first)) << stream;
  }
}

// Guide, "Streams": different streams may execute their commands out of order with respect to one another.
TEST(StreamClocks, commands_of_two_streams_come_in_any_order) {
  Streams clocks;
  const auto a = clocks.begin(kA), b = clocks.begin(kB), free = clocks.begin(kFree);
  EXPECT_FALSE(is_before(a, b));
  EXPECT_FALSE(is_before(a, free));
  EXPECT_FALSE(is_before(b, free));
}

// Reference, "Legacy default stream": with k_1 in s, k_2 in the default stream, k_3 in s, k_2 blocks on k_1
// and k_3 on k_2. It is so for all blocking streams, also for those that are used or made later.
TEST(StreamClocks, the_legacy_stream_waits_for_blocking_streams_and_they_for_it) {
  Streams clocks;
  const auto first = clocks.begin(kA), second = clocks.begin(kLegacyStream), third = clocks.begin(kA),
             other = clocks.begin(kB);
  EXPECT_TRUE(is_before(first, second));
  EXPECT_TRUE(is_before(second, third));
  EXPECT_TRUE(is_before(second, other));
  EXPECT_TRUE(is_before(first, other)) << "by way of the default stream";
  EXPECT_FALSE(is_before(third, other));
  clocks.create(20, true);
  EXPECT_TRUE(is_before(second, clocks.begin(20)));
}

// Reference, "Legacy default stream": streams made with cudaStreamNonBlocking do not synchronize with it.
TEST(StreamClocks, the_legacy_stream_and_a_non_blocking_one_do_not_wait_for_each_other) {
  Streams clocks;
  const auto before = clocks.begin(kFree), in_default = clocks.begin(kLegacyStream),
             behind = clocks.begin(kFree);
  EXPECT_FALSE(is_before(before, in_default));
  EXPECT_FALSE(is_before(in_default, behind));
}

// Reference, "Per-thread default stream": local to the thread; does not synchronize with other streams; is
// not a non-blocking stream, and synchronizes with the legacy default stream.
TEST(StreamClocks, the_threads_default_stream_is_a_blocking_stream_of_one_thread) {
  Streams clocks;
  const auto mine = clocks.begin(kPerThreadStream), created = clocks.begin(kA);
  StreamClocks::Command theirs;
  std::thread([&] { theirs = clocks.begin(kPerThreadStream); }).join();
  EXPECT_FALSE(is_before(mine, created));
  EXPECT_FALSE(is_before(mine, theirs));
  EXPECT_NE(mine.moment.line, theirs.moment.line);
  const auto legacy = clocks.begin(kLegacyStream);
  EXPECT_TRUE(is_before(mine, legacy));
  EXPECT_TRUE(is_before(theirs, legacy));
  EXPECT_TRUE(is_before(legacy, clocks.begin(kPerThreadStream)));
}

// Reference, cudaEventRecord: captures the contents of the stream at the time of the call; later uses of
// the stream do not change the event. cudaStreamWaitEvent: all future work of the stream waits for what
// it captured.
TEST(StreamClocks, a_stream_waits_for_what_an_event_captured) {
  Streams clocks;
  const auto captured = clocks.begin(kA);
  const Clock event = clocks.now(kA);
  const auto later = clocks.begin(kA), early = clocks.begin(kFree);
  clocks.wait(kFree, event);
  const auto waits = clocks.begin(kFree);
  EXPECT_TRUE(is_before(captured, waits));
  EXPECT_FALSE(is_before(later, waits));
  EXPECT_FALSE(is_before(captured, early));
  EXPECT_FALSE(is_before(captured, clocks.begin(kB)));
}

TEST(StreamClocks, waits_are_handed_on_from_stream_to_stream) {
  Streams clocks;
  const auto first = clocks.begin(kA);
  clocks.wait(kFree, clocks.now(kA));
  clocks.wait(kB, clocks.now(kFree));
  EXPECT_TRUE(is_before(first, clocks.begin(kB)));
}

// Reference, "Legacy default stream": cudaStreamWaitEvent in it is such an action; all blocking streams wait.
TEST(StreamClocks, what_the_legacy_stream_waits_for_blocking_streams_wait_for) {
  Streams clocks;
  const auto free = clocks.begin(kFree);
  clocks.wait(kLegacyStream, clocks.now(kFree));
  EXPECT_TRUE(is_before(free, clocks.begin(kA)));
}

// Reference, "Legacy default stream": an action in it first waits on all blocking streams. An event that is
// recorded there captures their work.
TEST(StreamClocks, an_event_of_the_legacy_stream_captures_the_work_of_blocking_streams) {
  Streams clocks;
  const auto a = clocks.begin(kA);
  clocks.wait(kFree, clocks.now(kLegacyStream));
  EXPECT_TRUE(is_before(a, clocks.begin(kFree)));
}

// Reference, cudaStreamSynchronize: blocks until the stream has completed all operations. What the host calls
// later, in whatever stream, is behind them.
TEST(StreamClocks, what_is_called_behind_a_synchronization_comes_behind_that_streams_work_alone) {
  Streams clocks;
  const auto a = clocks.begin(kA), b = clocks.begin(kB);
  clocks.host_saw_stream(kA);
  const auto next = clocks.begin(kFree), late = clocks.begin(kA);
  EXPECT_TRUE(is_before(a, next));
  EXPECT_FALSE(is_before(b, next));
  EXPECT_FALSE(late.moment.is_in(clocks.host()));
}

// As above for the legacy stream: it first waits on all blocking streams.
TEST(StreamClocks, to_synchronize_the_legacy_stream_is_to_wait_for_blocking_streams) {
  Streams clocks;
  const auto a = clocks.begin(kA), free = clocks.begin(kFree);
  clocks.host_saw_stream(kLegacyStream);
  EXPECT_TRUE(a.moment.is_in(clocks.host()));
  EXPECT_FALSE(free.moment.is_in(clocks.host()));
}

// Reference, cudaDeviceSynchronize: blocks until the device has completed all preceding requested tasks.
TEST(StreamClocks, to_synchronize_the_device_is_to_wait_for_every_stream) {
  Streams clocks;
  std::vector<StreamClocks::Command> all;
  for (const StreamId stream : {kA, kFree, kLegacyStream, kPerThreadStream})
    all.push_back(clocks.begin(stream));
  clocks.destroy(kFree);
  clocks.host_saw_all();
  for (const auto& command : all) EXPECT_TRUE(command.moment.is_in(clocks.host())) << command.name;
}

// Reference, cudaStreamDestroy: returns at once when the device is still doing work in the stream. So the
// host has seen nothing end, and the legacy stream and cudaDeviceSynchronize wait for that work still.
TEST(StreamClocks, the_work_of_a_destroyed_stream_goes_on) {
  Streams clocks;
  const auto a = clocks.begin(kA), free = clocks.begin(kFree);
  clocks.destroy(kA);
  clocks.destroy(kFree);
  EXPECT_FALSE(a.moment.is_in(clocks.host()));
  EXPECT_FALSE(is_before(a, clocks.begin(kB)));
  const auto legacy = clocks.begin(kLegacyStream);
  EXPECT_TRUE(is_before(a, legacy));
  EXPECT_FALSE(is_before(free, legacy));
  clocks.host_saw_all();
  EXPECT_TRUE(free.moment.is_in(clocks.host()));
}

// A new stream is not ordered with the work of one that is destroyed, though the runtime may give it the
// same handle.
TEST(StreamClocks, a_new_stream_with_the_handle_of_a_destroyed_one_is_another) {
  Streams clocks;
  const auto old = clocks.begin(kA);
  clocks.destroy(kA);
  clocks.create(kA, true);
  const auto fresh = clocks.begin(kA);
  EXPECT_FALSE(is_before(old, fresh));
  EXPECT_NE(old.moment.line, fresh.moment.line);
}

TEST(StreamClocks, a_line_is_used_again_when_its_work_has_ended_and_its_old_commands_stay_before) {
  Streams clocks;
  const auto old = clocks.begin(kA);
  const Clock event = clocks.now(kA);
  clocks.host_saw_stream(kA);
  clocks.destroy(kA);
  clocks.create(20, false);
  const auto other = clocks.begin(kB), fresh = clocks.begin(20);
  ASSERT_EQ(fresh.moment.line, old.moment.line);
  EXPECT_TRUE(is_before(old, fresh));
  EXPECT_TRUE(is_before(old, other));
  EXPECT_FALSE(is_before(fresh, clocks.begin(kB)));
  EXPECT_FALSE(fresh.moment.is_in(clocks.host()));
  clocks.wait(kB, event);  // an event of the old stream
  EXPECT_FALSE(is_before(fresh, clocks.begin(kB)));
}

TEST(StreamClocks, a_line_with_a_wait_that_may_not_have_ended_is_not_used_again) {
  Streams clocks;
  const auto free = clocks.begin(kFree);
  clocks.wait(kA, clocks.now(kFree));
  clocks.destroy(kA);
  EXPECT_TRUE(is_before(free, clocks.begin(kLegacyStream)));
}

// What was told once is not told for each later command.
TEST(StreamClocks, an_order_that_is_assumed_holds_for_later_commands_of_that_stream) {
  Streams clocks;
  const auto before = clocks.begin(kA), told = clocks.begin(kA), b = clocks.begin(kB);
  clocks.assume(told, b.moment.line);
  const auto later = clocks.begin(kB);
  EXPECT_TRUE(is_before(told, later));
  EXPECT_TRUE(is_before(before, later));
  EXPECT_FALSE(is_before(told, clocks.begin(kFree)));
}

TEST(StreamClocks, one_blocking_stream_and_the_legacy_one_are_never_concurrent) {
  StreamClocks one;
  EXPECT_FALSE(one.may_be_concurrent());
  one.create(kA, true);
  EXPECT_FALSE(one.may_be_concurrent());
  one.create(kB, true);
  EXPECT_TRUE(one.may_be_concurrent());
  one.destroy(kA);
  one.destroy(kB);
  one.host_saw_all();
  EXPECT_FALSE(one.may_be_concurrent()) << "as if the program had just begun";

  StreamClocks free;
  free.create(kFree, false);
  EXPECT_TRUE(free.may_be_concurrent());
  StreamClocks of_thread;
  of_thread.begin(kPerThreadStream);
  EXPECT_TRUE(of_thread.may_be_concurrent()) << "other threads have one of their own";
}

TEST(StreamClocks, streams_have_names_for_people) {
  Streams clocks;
  EXPECT_EQ(clocks.begin(kLegacyStream).name, "the default stream");
  EXPECT_TRUE(clocks.begin(kLegacyStream).is_default);
  EXPECT_EQ(clocks.begin(kPerThreadStream).name, "the thread's default stream");
  EXPECT_EQ(clocks.begin(kB).name, "stream #2");
  EXPECT_FALSE(clocks.begin(kB).is_default);
  EXPECT_EQ(clocks.first(), kA);
  clocks.name_first_as_argument();
  EXPECT_EQ(clocks.begin(kA).name, "`stream`, the argument,");
  EXPECT_EQ(clocks.begin(kB).name, "own stream #1");
  for (const StreamId stream : {kA, kB, kFree}) clocks.destroy(stream);
  EXPECT_EQ(clocks.first(), kLegacyStream);
}

}  // namespace
}  // namespace warpgrade::cudart
