// The desk's queue: turns, limits, and processes that die at any point.
#include "course/desk/queue.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/files.h"
#include "course/desk/keys.h"
#include "course/desk/worker_array.h"

namespace warpgrade::desk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Limits kNoLimits{1'000'000, 1'000'000, 1'000'000};

class DeskQueue : public ::testing::Test {
 protected:
  DeskQueue() : scratch_("desk-queue-test") { Queue::create(scratch_.path()); }

  std::variant<Entered, Refusal> enter(Queue& queue, const std::string& student, const std::string& key,
                                       double now, const Limits& limits = kNoLimits) {
    const fs::path staged = scratch_.path() / "staged" / (student + key);
    make_directories(staged);
    return queue.enter({student, key, "spmm", "hash", {"a case"}, 10, staged}, limits, now);
  }
  std::int64_t entered(Queue& queue, const std::string& student, const std::string& key, double now = 0) {
    return std::get<Entered>(enter(queue, student, key, now)).id;
  }
  std::string refused(Queue& queue, const std::string& student, const std::string& key, double now,
                      const Limits& limits) {
    const auto answer = enter(queue, student, key, now, limits);
    return std::holds_alternative<Refusal>(answer) ? std::get<Refusal>(answer).reason : "";
  }

  TemporaryDirectory scratch_;
};

unsigned fresh_seed() {
  const unsigned seed = std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  printf("seed %u\n", seed);
  return seed;
}

// 200 runs of 50 students that arrive at random moments while one worker serves: whoever is served next was
// served least recently of those who wait.
TEST_F(DeskQueue, ServesWhoWasServedLeastRecently) {
  std::mt19937 random(fresh_seed());
  Queue queue(scratch_.path());
  std::map<std::string, int> served;                      // the turn
  std::map<std::string, std::vector<std::int64_t>> open;  // by student, in order of arrival
  int turn = 0, arrived = 0;
  while (arrived < 200 || turn < 200) {
    if (arrived < 200 && (turn == arrived || random() % 3 != 0)) {
      const std::string student = "s" + std::to_string(random() % 50);
      open[student].push_back(entered(queue, student, std::to_string(arrived), arrived));
      ++arrived;
      continue;
    }
    const auto expected = queue.waiting();
    const auto request = queue.take("w", 1000);
    ASSERT_TRUE(request);
    EXPECT_EQ(expected.front().id, request->id) << "what students are told is what comes";
    for (const auto& [student, runs] : open) {
      if (!runs.empty()) {
        EXPECT_LE(served[request->student], served[student]) << request->student << " " << student;
      }
    }
    EXPECT_EQ(open[request->student].front(), request->id);
    open[request->student].erase(open[request->student].begin());
    served[request->student] = ++turn;
    EXPECT_TRUE(queue.end(*request, "judged", "accepted", "", 1001));
  }
  EXPECT_FALSE(queue.take("w", 2000));
  EXPECT_EQ(queue.counts().at("judged"), 200);
}

TEST_F(DeskQueue, JudgesOneRunOfAStudentAtATime) {
  Queue queue(scratch_.path());
  const auto first = entered(queue, "ada", "1"), second = entered(queue, "ada", "2"),
             other = entered(queue, "bo", "1");
  const auto a = queue.take("w1", 1), b = queue.take("w2", 1);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->id, first);
  EXPECT_EQ(b->id, other);
  EXPECT_FALSE(queue.take("w3", 1));
  queue.end(*a, "judged", "", "", 2);
  EXPECT_EQ(queue.take("w3", 3)->id, second);
}

TEST_F(DeskQueue, KeepsTheLimitsOfAnHourADayAndTheQueue) {
  Queue queue(scratch_.path());
  const Limits limits{2, 3, 1};
  const auto run = [&](const std::string& key, double now) {
    const std::string why = refused(queue, "ada", key, now, limits);
    if (why.empty()) queue.end(*queue.take("w", now), "judged", "", "", now + 1);
    return why;
  };
  EXPECT_EQ(run("1", 0), "");
  EXPECT_EQ(run("2", 10), "");
  EXPECT_EQ(run("3", 20), "over_hour");
  EXPECT_EQ(run("4", 3601), "");
  EXPECT_EQ(run("5", 3702), "over_day");
  EXPECT_EQ(refused(queue, "bo", "1", 3703, limits), "");
  EXPECT_EQ(refused(queue, "bo", "2", 3704, limits), "one_at_a_time");
  queue.quota("ada", 10, 10);
  EXPECT_EQ(run("6", 3705), "");
  queue.ban("ada", "a talk first");
  EXPECT_EQ(run("7", 3706), "banned");
  queue.set("drain", "an exam");
  EXPECT_EQ(refused(queue, "cy", "1", 3707, limits), "drained");
}

// What the machine spoilt does not count; what was cancelled before it began does, and leaves no file.
TEST_F(DeskQueue, CountsEveryRunThatWasEnteredButThoseThatTheDeskSpoilt) {
  Queue queue(scratch_.path());
  const Limits limits{2, 10, 5};
  EXPECT_EQ(refused(queue, "ada", "1", 0, limits), "");
  EXPECT_TRUE(queue.end(*queue.take("w", 1), "failed", "", "", 2));
  EXPECT_EQ(refused(queue, "ada", "2", 3, limits), "");
  EXPECT_TRUE(queue.end(*queue.take("w", 4), "judged", "", "", 5));
  const auto id = std::get<Entered>(enter(queue, "ada", "3", 6, limits)).id;
  EXPECT_TRUE(fs::exists(queue.folder_of(id)));
  EXPECT_EQ(queue.cancel("ada", id, 7), "cancelled");
  EXPECT_FALSE(fs::exists(queue.folder_of(id)));
  EXPECT_EQ(queue.cancel("ada", id, 8), "cancelled") << "once more is the same";
  EXPECT_EQ(refused(queue, "ada", "4", 9, limits), "over_hour");
  ASSERT_TRUE(queue.refusal("ada", limits, 9)) << "known before an archive is sent";
  EXPECT_EQ(queue.refusal("ada", limits, 9)->reason, "over_hour");
}

// Each run of 10 bytes; the limits are 35 of a student and 55 of all.
TEST_F(DeskQueue, BoundsTheBytesOfAStudentAndOfTheDesk) {
  Queue queue(scratch_.path());
  const Limits limits{1000, 1000, 1000, 35, 55};
  const auto judged = [&](const std::string& student, const std::string& key) {
    const auto id = std::get<Entered>(enter(queue, student, key, 0, limits)).id;
    EXPECT_TRUE(queue.end(*queue.take("w", 1), "judged", "", "", 2));
    return id;
  };
  const auto first = judged("ada", "1"), second = judged("ada", "2"), third = judged("ada", "3");
  EXPECT_EQ(queue.kept_bytes("ada"), 30);
  queue.set_kept(third, 15);
  const auto fourth = judged("ada", "4");
  EXPECT_FALSE(fs::exists(queue.folder_of(first))) << "the oldest one goes";
  EXPECT_TRUE(fs::exists(queue.folder_of(second)) && fs::exists(queue.folder_of(fourth)));
  EXPECT_EQ(queue.kept_bytes("ada"), 35);
  queue.set_kept(fourth, 30);  // the last judged run keeps its files
  EXPECT_EQ(refused(queue, "ada", "5", 3, limits), "your_space");
  EXPECT_TRUE(fs::exists(queue.folder_of(second)) && fs::exists(queue.folder_of(third)))
      << "whom room would not help keeps all";
  EXPECT_EQ(refused(queue, "bo", "1", 4, limits), "desk_space");
  queue.drop_files(third);
  queue.drop_files(second);
  EXPECT_EQ(refused(queue, "bo", "2", 5, limits), "");
  EXPECT_EQ(queue.kept_bytes(""), 40);
}

TEST_F(DeskQueue, TakesOverAQueueOfTheVersionBefore) {
  {
    SQLite::Database before((scratch_.path() / "queue.sqlite").string(), SQLite::OPEN_READWRITE);
    before.exec("ALTER TABLE requests DROP COLUMN kept");
    before.exec("ALTER TABLE requests DROP COLUMN kind");
    before.exec("PRAGMA user_version = 1");
    before.exec(
        "INSERT INTO requests (student, key, lab, cases, hash, bytes, state, arrived) VALUES ('ada', 'k', "
        "'spmm', "
        "'[]', 'h', 7, 'judged', 1)");
  }
  Queue queue(scratch_.path());
  EXPECT_EQ(queue.kept_bytes("ada"), 7) << "its archive, until it is measured";
  EXPECT_EQ(queue.ended_and_not_measured(), std::vector<std::int64_t>{1});
  queue.set_kept(1, 9);
  EXPECT_EQ(Queue(scratch_.path()).kept_bytes("ada"), 9);
}

TEST_F(DeskQueue, TakesOverAQueueThatKnewRunsAlone) {
  {
    SQLite::Database before((scratch_.path() / "queue.sqlite").string(), SQLite::OPEN_READWRITE);
    before.exec("ALTER TABLE requests DROP COLUMN kind");
    before.exec("PRAGMA user_version = 2");
    before.exec(
        "INSERT INTO requests (student, key, lab, cases, hash, bytes, state, arrived) VALUES ('ada', 'k', "
        "'spmm', "
        "'[]', 'h', 7, 'judged', 1)");
  }
  EXPECT_EQ(Queue(scratch_.path()).find("ada", 1)->kind, kRun);
  EXPECT_EQ(Queue(scratch_.path()).latest_judged("spmm").size(), 1u) << "opened again";
}

constexpr Limits kTwoProfiles{2, 2, 1, 1 << 20, 1 << 20, kProfile};

TEST_F(DeskQueue, GivesProfilesAQuotaOfTheirOwnAndCountsThemNowhereElse) {
  Queue queue(scratch_.path());
  const Limits one_run{1, 1, 1};
  EXPECT_EQ(refused(queue, "ada", "r1", 1, one_run), "");
  EXPECT_EQ(refused(queue, "ada", "p1", 2, kTwoProfiles), "") << "beside a run that waits";
  EXPECT_EQ(refused(queue, "ada", "p2", 3, kTwoProfiles), "one_at_a_time");
  EXPECT_EQ(queue.take("w", 4)->kind, kRun) << "one of a student at a time, in their order";
  EXPECT_FALSE(queue.take("w", 5));
  ASSERT_TRUE(queue.end(queue.running().at(0), "judged", "accepted", "", 6));
  const auto profile = queue.take("w", 7);
  ASSERT_EQ(profile->kind, kProfile);
  ASSERT_TRUE(queue.end(*profile, "judged", "", "", 8));
  EXPECT_EQ(queue.latest_judged("spmm").at(0).id, 1) << "the profile came later, and judged nothing";
  EXPECT_EQ(queue.all_judged("spmm", {"a case"}, 100).size(), 1u);
  EXPECT_EQ(refused(queue, "ada", "p2", 9, kTwoProfiles), "");
  ASSERT_TRUE(queue.end(*queue.take("w", 10), "judged", "", "", 11));
  EXPECT_EQ(refused(queue, "ada", "p3", 12, kTwoProfiles), "over_hour");
  EXPECT_EQ(refused(queue, "ada", "r2", 13, one_run), "over_hour") << "profiles are no runs";
  queue.quota("ada", 5, 5);
  EXPECT_EQ(refused(queue, "ada", "p3", 14, kTwoProfiles), "over_hour")
      << "an administrator's numbers are of runs";
  EXPECT_EQ(refused(queue, "ada", "p3", 86412, kTwoProfiles), "") << "a day later";
}

TEST_F(DeskQueue, EndsTheClassOfProfilesAndGoesOnWithRuns) {
  Queue queue(scratch_.path());
  ASSERT_EQ(refused(queue, "ada", "p", 1, kTwoProfiles), "");
  ASSERT_EQ(refused(queue, "bo", "p", 2, kTwoProfiles), "");
  entered(queue, "cy", "r", 3);
  const auto hung = queue.take("w", 4);
  queue.end_counters("the GPU hung", 5);
  ASSERT_TRUE(queue.end(*hung, "failed", "", "", 6));
  EXPECT_EQ(queue.find("bo", 2)->state, "failed") << "who waited is told";
  EXPECT_NE(queue.find("bo", 2)->message.find("the GPU hung"), std::string::npos);
  EXPECT_EQ(refused(queue, "bo", "q", 7, kTwoProfiles), "counters_ended");
  EXPECT_EQ(queue.take("w", 8)->student, "cy") << "runs go on";
  queue.set(kCountersEnded, "");
  EXPECT_EQ(refused(queue, "bo", "q", 9, kTwoProfiles), "");
  EXPECT_EQ(refused(queue, "ada", "q", 10, kTwoProfiles), "") << "what failed counts for no quota";
  EXPECT_EQ(queue.take("w", 11)->kind, kProfile);
}

TEST_F(DeskQueue, KnowsARunByItsKeyAndShowsItToItsStudentAlone) {
  Queue queue(scratch_.path());
  const auto id = entered(queue, "ada", "key");
  const auto again = std::get<Entered>(enter(queue, "ada", "key", 5));
  EXPECT_TRUE(again.known);
  EXPECT_EQ(again.id, id);
  EXPECT_NE(entered(queue, "bo", "key"), id);
  EXPECT_FALSE(queue.find("bo", id));
  EXPECT_EQ(queue.cancel("bo", id, 1), "");
  EXPECT_EQ(queue.find("ada", id)->state, "queued");
}

TEST_F(DeskQueue, ALateWorkerCannotEndWhatAnotherHasBegun) {
  Queue queue(scratch_.path());
  entered(queue, "ada", "1");
  const auto stale = queue.take("w1", 1);
  queue.give_back(*stale, true, 2);
  const auto fresh = queue.take("w2", 3);
  EXPECT_FALSE(queue.add_event(*stale, "case:a", {{"tell", "case"}}));
  EXPECT_FALSE(queue.end(*stale, "judged", "", "", 4));
  EXPECT_TRUE(queue.add_event(*fresh, "case:a", {{"tell", "case"}}));
  EXPECT_FALSE(queue.add_event(*fresh, "case:a", {{"tell", "case"}})) << "a case is told once";
  EXPECT_TRUE(queue.end(*fresh, "judged", "", "", 5));
  EXPECT_FALSE(queue.end(*fresh, "judged", "", "", 6));
}

TEST_F(DeskQueue, ARunAtWhichTwoJudgesDiedEndsWithAWord) {
  Queue queue(scratch_.path());
  const auto id = entered(queue, "ada", "1");
  queue.give_back(*queue.take("w", 1), true, 2);
  EXPECT_EQ(queue.find("ada", id)->state, "queued");
  queue.give_back(*queue.take("w", 3), true, 4);
  EXPECT_EQ(queue.find("ada", id)->state, "failed");
  EXPECT_NE(queue.find("ada", id)->message.find("does not count as one of your runs"), std::string::npos);
}

// A worker of the tests: it does what a real one does to the queue, and judges nothing.
[[noreturn]] void work_until_killed(const fs::path& desk, const std::string& name) {
  Queue queue(desk);
  for (;;) {
    const auto request = queue.take(name, now_s());
    if (!request) {
      usleep(1000);
      continue;
    }
    queue.add_event(*request, "begun", {{"tell", "begun"}});
    std::ofstream(queue.folder_of(request->id) / "judged", std::ios::app) << "1";
    queue.add_event(*request, "case:a", {{"tell", "case"}});
    queue.end(*request, "judged", "accepted", "", now_s());
  }
}

pid_t start_worker(const fs::path& desk, const std::string& name) {
  const pid_t pid = fork();
  if (pid == 0) work_until_killed(desk, name);
  return pid;
}

// 60 runs enter while workers, and whoever enters, are killed at random: each run ends once.
TEST_F(DeskQueue, LosesNothingAndEndsNothingTwiceWhereverProcessesDie) {
  std::mt19937 random(fresh_seed());
  const fs::path desk = scratch_.path();
  std::map<int, pid_t> workers;
  const auto name = [](int worker) { return "w" + std::to_string(worker); };
  std::set<std::string> keys;
  const auto all_ended = [&] {
    const json counts = Queue(desk).counts();
    return counts.at("queued") == 0 && counts.at("running") == 0;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int round = 0; keys.size() < 60 || !all_ended(); ++round) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    for (int worker = 0; worker < 2; ++worker)
      if (!workers.contains(worker)) workers[worker] = start_worker(desk, name(worker));
    if (keys.size() < 60) {
      // The one who enters is killed as well, and comes again with the same key.
      const std::string key = std::to_string(keys.size()), student = "s" + std::to_string(random() % 10);
      const pid_t door = fork();
      if (door == 0) {
        Queue queue(desk);
        entered(queue, student, key, now_s());
        _exit(0);
      }
      if (random() % 4 == 0) {
        usleep(random() % 8000);
        kill(door, SIGKILL);
      }
      waitpid(door, nullptr, 0);
      Queue queue(desk);
      entered(queue, student, key, now_s());
      keys.insert(key);
    }
    if (random() % 3 == 0 || keys.size() == 60) {
      const int victim = static_cast<int>(random() % 2);
      usleep(random() % 10000);
      if (keys.size() < 60 || random() % 4 == 0) {
        kill(workers[victim], SIGKILL);
        waitpid(workers[victim], nullptr, 0);
        workers.erase(victim);
        Queue queue(desk);
        if (const auto lost = queue.running_at(name(victim))) queue.give_back(*lost, false, now_s());
      }
    }
  }
  for (const auto& [worker, pid] : workers) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  Queue queue(desk);
  EXPECT_EQ(queue.counts().at("judged"), 60);
  for (std::int64_t id = 1; id <= 60; ++id) {
    std::map<std::string, int> events;
    for (const Event& event : queue.events_after(id, 0)) ++events[event.body.at("tell")];
    EXPECT_EQ(events, (std::map<std::string, int>{{"begun", 1}, {"case", 1}, {"end", 1}})) << "run " << id;
    EXPECT_TRUE(fs::exists(queue.folder_of(id) / "judged")) << "run " << id;
  }
}

// ---- a cluster

TEST(DeskWorkerArray, AsksForTasksWhereRunsWaitForWhichThereIsNoWorker) {
  EXPECT_EQ(tasks_to_submit(4, 0, 0), 0);
  EXPECT_EQ(tasks_to_submit(4, 2, 0), 2);
  EXPECT_EQ(tasks_to_submit(4, 9, 1), 3);
  EXPECT_EQ(tasks_to_submit(4, 9, 4), 0);
  EXPECT_EQ(tasks_to_submit(4, 1, 3), 0) << "more than are wanted are there";
}

// ---- who may come

constexpr const char* kKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1JpNq0m1dJ0WcLk3kqJ0kC9s3uH8vQxk1rXn2yTQ0a";

TEST_F(DeskQueue, KeysBecomeLinesThatRunOneStudentsDeskAndNothingElse) {
  const fs::path roster = scratch_.path() / "roster.csv", keys = scratch_.path() / "keys";
  write_text(roster, "id,name\nada,Ada\nbo,Bo\ncy,Cy\n");
  make_directories(keys);
  write_text(keys / "ada.pub", std::string(kKey) + " ada@laptop\n");
  write_text(keys / "bo.pub", "command=\"sh\" " + std::string(kKey) + "\n");
  write_text(keys / "eve.pub", std::string(kKey) + "\n");
  const AuthorizedKeys made = make_authorized_keys(scratch_.path(), roster, keys);
  EXPECT_EQ(made.students, std::vector<std::string>{"ada"});
  EXPECT_EQ(made.without, (std::vector<std::string>{"bo", "cy"}));
  EXPECT_EQ(made.refused.size(), 2u);
  EXPECT_TRUE(made.text.starts_with("restrict,command=\""));
  EXPECT_NE(made.text.find("--student ada\" " + std::string(kKey)), std::string::npos);
  EXPECT_EQ(std::count(made.text.begin(), made.text.end(), '\n'), 1);
}

TEST_F(DeskQueue, TwoStudentsCannotShareAKey) {
  const fs::path roster = scratch_.path() / "roster.csv", keys = scratch_.path() / "all-keys";
  write_text(roster, "id\nada\nbo\n");
  write_text(keys, std::string("ada ") + kKey + "\nbo " + kKey + "\n");
  const AuthorizedKeys made = make_authorized_keys(scratch_.path(), roster, keys);
  EXPECT_EQ(made.without, std::vector<std::string>{"bo"});
  ASSERT_EQ(made.refused.size(), 1u);
  EXPECT_NE(made.refused[0].find("ada has the same key"), std::string::npos);
}

}  // namespace
}  // namespace warpgrade::desk
