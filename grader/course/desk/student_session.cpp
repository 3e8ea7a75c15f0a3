#include "course/desk/student_session.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "course/batch/class_run.h"
#include "course/desk/config.h"
#include "course/desk/counted_run.h"
#include "course/desk/open_cases.h"
#include "course/desk/protocol.h"
#include "course/desk/queue.h"
#include "course/ingest/snapshot.h"
#include "judge/compile/submission.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using Clock = Channel::Clock;

constexpr std::chrono::seconds kFirstWord{20};          // until the connection has said what it wants
constexpr std::chrono::seconds kArchive{120};           // for the whole of it
constexpr std::chrono::hours kLongest{12};              // of a connection
constexpr std::chrono::milliseconds kLookAtQueue{200};  // at the queue
constexpr std::chrono::seconds kAlive{10};              // a line at least so often
constexpr int kMostConnections = 6;                     // of one student at a time
constexpr int kMostLines = 50;                          // of a history

// What a decompressor that reads hostile bytes may take.
void limit_this_process() {
  const auto limit = [](__rlimit_resource_t what, rlim_t most) {
    const rlimit both{most, most};
    setrlimit(what, &both);
  };
  limit(RLIMIT_AS, rlim_t{2} << 30);
  limit(RLIMIT_CPU, 600);
  limit(RLIMIT_FSIZE, rlim_t{1} << 30);
  limit(RLIMIT_CORE, 0);
}

json refused(const Refusal& refusal) {
  return {{"tell", "refused"},
          {"reason", refusal.reason},
          {"message", refusal.message},
          {"next_step", refusal.next_step}};
}

bool is_profile(std::string_view kind) {
  return kind == kProfile;
}

class StudentSession {
 public:
  explicit StudentSession(const StudentSessionOptions& options)
      : student_(options.student),
        desk_(options.desk),
        config_(Config::read(desk_)),
        queue_(desk_, config_.executor == "slurm"),
        log_(desk_),
        channel_(STDIN_FILENO, STDOUT_FILENO, kMostAskBytes) {}

  int serve() {
    const char* given = std::getenv("SSH_ORIGINAL_COMMAND");
    const std::string asked = given != nullptr ? given : "";
    if (asked == "get-client") return send_client();
    if (!asked.empty())
      return refuse({"no_commands", "this account only accepts runs, and carries out no command",
                     "warpgrade test LAB --remote HOST", ""},
                    {{"command", plain_line(asked)}});
    if (isatty(STDIN_FILENO) == 1)
      return refuse({"no_terminal", "this account only accepts runs", "warpgrade test LAB --remote HOST", ""},
                    {});
    const FileDescriptor slot = free_slot();
    if (!slot)
      return refuse({"too_many_connections", fmt::format("you have {} open connections", kMostConnections),
                     "end one of them", ""},
                    {});
    if (const auto why = queue_.ban_of(student_))
      return refuse({"banned", "your runs are stopped: " + *why, "ask your instructor", ""}, {});
    channel_.send({{"tell", "hello"},
                   {"protocol", kProtocol},
                   {"oldest", kOldestProtocol},
                   {"student", student_},
                   {"course", config_.course},
                   {"archive_bytes", kMostArchiveBytes}});
    const auto ask = channel_.next(Clock::now() + kFirstWord);
    if (!ask) throw ChannelError(ChannelError::Kind::kTooSlow, "nothing was asked");
    return answer(*ask);
  }

  // What is wrong with the connection is logged, and told while it still listens.
  int broken(const ChannelError& error) {
    log_.add("connection", {{"student", student_}, {"trouble", error.what()}});
    if (error.kind != ChannelError::Kind::kEnded) {
      try {
        channel_.send(refused({"protocol", error.what(), "use `warpgrade test LAB --remote HOST`", ""}));
      } catch (const ChannelError&) {
        return kExitUsage;
      }
    }
    return kExitUsage;
  }

  int failed(const std::exception& error) {
    log_.add("fault", {{"student", student_}, {"trouble", error.what()}});
    try {
      channel_.send(
          refused({"fault", "the desk has a fault; it is logged", "try again, or tell your instructor", ""}));
    } catch (const ChannelError&) {
      return kExitJudgeFault;
    }
    return kExitJudgeFault;
  }

 private:
  int refuse(const Refusal& refusal, json facts) {
    facts.update({{"student", student_}, {"reason", refusal.reason}, {"message", refusal.message}});
    log_.add("refused", std::move(facts));
    channel_.send(refused(refusal));
    return kExitUsage;
  }

  // The program for laptops, as it lies in the hand-out: `ssh HOST get-client >warpgrade_remote.py`.
  int send_client() {
    log_.add("client", {{"student", student_}});
    channel_.send_bytes(read_text(project_root() / "student" / "warpgrade_remote.py"));
    return kExitGraded;
  }

  // One of a student's connections: a locked file, which the kernel frees when this process ends.
  FileDescriptor free_slot() const {
    make_directories(desk_ / "connections");
    for (int i = 0; i < kMostConnections; ++i) {
      const fs::path file = desk_ / "connections" / fmt::format("{}.{}", student_, i);
      FileDescriptor slot(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (slot && flock(slot.get(), LOCK_EX | LOCK_NB) == 0) return slot;
    }
    return {};
  }

  int answer(const json& ask) {
    const auto protocol = whole_of(ask, "protocol");
    if (!protocol || *protocol < kOldestProtocol || *protocol > kProtocol)
      return refuse({"protocol",
                     fmt::format("this desk speaks {} of the protocol, and your program {}",
                                 versions_text(kOldestProtocol, kProtocol),
                                 protocol ? versions_text(*protocol, *protocol) : "names none"),
                     "take the program that belongs to this desk, with `ssh ACCOUNT@HOST get-client` or from "
                     "the course's hand-out",
                     ""},
                    {});
    const std::string what = text_of(ask, "ask");
    if (what == "run") return take_in(ask, kRun);
    if (what == "profile") return take_in(ask, kProfile);
    if (what == "status" || what == "history") return list(what == "status");
    const auto id = whole_of(ask, "run");
    // Another's run and one that never was are answered alike.
    const auto request = id ? queue_.find(student_, *id) : std::nullopt;
    if ((what == "follow" || what == "cancel") && !request)
      return refuse(
          {"no_such_run", fmt::format("you have no run {}", id.value_or(0)), "warpgrade remote history", ""},
          {});
    if (what == "follow") return follow(*request, whole_of(ask, "after").value_or(0));
    if (what == "cancel") {
      const std::string state = queue_.cancel(student_, request->id, now_s());
      log_.add("cancel", {{"student", student_}, {"run", request->id}, {"state", state}});
      channel_.send({{"tell", "cancelled"}, {"run", request->id}, {"state", state}});
      return kExitGraded;
    }
    return refuse({"protocol", "the desk does not know this request", "use `warpgrade remote`", ""},
                  {{"asked", plain_line(what, 60)}});
  }

  int list(bool open_alone) {
    json runs = json::array();
    for (const Request& request : queue_.of_student(student_, kMostLines))
      if (!open_alone || !request.ended_for_good()) runs.push_back(request.to_json());
    channel_.send({{"tell", "runs"}, {"runs", runs}, {"now", now_s()}});
    return kExitGraded;
  }

  // ---- a new run

  // The cases that a run of this kind has: those that are open, or the one that a profile counts.
  std::vector<std::string> cases_of(const char* kind, const std::string& lab, const Policy& policy,
                                    const std::string& pattern) const {
    if (is_profile(kind)) return public_cases(lab, policy, pattern);
    return open_cases(lab, policy, queue_.setting("backend"), pattern);
  }

  int take_in(const json& ask, const char* kind) {
    const std::string lab = text_of(ask, "lab"), key = text_of(ask, "key"), pattern = text_of(ask, "case");
    if (key.size() < 16 || key.size() > 64 || key.find_first_not_of("0123456789abcdef") != std::string::npos)
      return refuse({"protocol", "the run has no key", "use `warpgrade test LAB --remote HOST`", ""}, {});
    const std::int64_t count = whole_of(ask, "bytes").value_or(0);
    if (count <= 0 || count > static_cast<std::int64_t>(kMostArchiveBytes))
      return refuse(
          {"too_large", fmt::format("the archive has {} bytes, and {} are allowed", count, kMostArchiveBytes),
           "hand in sources alone", ""},
          {});
    if (const auto known = queue_.find_key(student_, key)) return follow_known(*known);
    if (is_profile(kind) && !config_.counters)
      return refuse({"no_counters", "this desk does not count on its GPU",
                     "the emulator counts: warpgrade profile FOLDER --lab LAB --case CASE", ""},
                    {});
    try {
      config_.policy_file(lab);
    } catch (const UsageError& error) {
      return refuse({"no_such_lab", error.what(), "name a lab of this course", ""}, {});
    }
    const Policy policy =
        config_.policy(lab);  // what is wrong with it is logged, and not the student's to read
    const std::vector<std::string> cases = cases_of(kind, lab, policy, pattern);
    if (cases.empty() && is_profile(kind))
      return refuse(
          {"no_such_case", fmt::format("lab {} has no public case '{}' here", lab, plain_line(pattern, 60)),
           fmt::format("name one: warpgrade labs {}", lab), ""},
          {});
    if (cases.empty())
      return refuse(
          {"no_such_case", fmt::format("no case '{}' of lab {} is judged here", plain_line(pattern, 60), lab),
           "leave CASE out: then all that are open are judged", ""},
          {});
    // Who may not run now sends nothing.
    if (const auto why = queue_.refusal(student_, limits_of(policy, kind), now_s()))
      return refuse(*why, {{"lab", lab}});
    channel_.send({{"tell", "send"}});
    const std::string bytes = channel_.bytes(static_cast<std::size_t>(count), Clock::now() + kArchive);
    if (sha256(bytes) != text_of(ask, "sha256"))
      return refuse({"damaged", "the archive did not arrive as it was sent", "run it again", ""}, {});
    return enter(lab, key, cases, limits_of(policy, kind), bytes);
  }

  Limits limits_of(const Policy& policy, const char* kind) const {
    if (is_profile(kind)) {
      const int most = config_.counters ? config_.counters->runs_per_day : 0;
      return {most, most, 1, config_.student_bytes, config_.desk_bytes, kind};
    }
    return {policy.remote.runs_per_hour, policy.remote.runs_per_day, policy.remote.waiting,
            config_.student_bytes,       config_.desk_bytes,         kind};
  }

  int enter(const std::string& lab, const std::string& key, const std::vector<std::string>& cases,
            const Limits& limits, const std::string& bytes) {
    const fs::path staged =
        desk_ / "staged" / fmt::format("{}.{}", getpid(), Clock::now().time_since_epoch().count());
    make_directories(staged);
    const struct Removing {
      const fs::path& folder;
      ~Removing() {
        std::error_code none;
        fs::remove_all(folder, none);
      }
    } removing{staged};
    write_text(staged / "submission.tar.gz", bytes);
    const std::variant<std::string, Refusal> looked = look_at(staged / "submission.tar.gz", lab);
    if (const auto* refusal = std::get_if<Refusal>(&looked)) return refuse(*refusal, {{"lab", lab}});
    const auto entered = queue_.enter(
        {student_, key, lab, std::get<std::string>(looked), cases, bytes.size(), staged}, limits, now_s());
    if (const auto* refusal = std::get_if<Refusal>(&entered)) return refuse(*refusal, {{"lab", lab}});
    const std::int64_t id = std::get<Entered>(entered).id;
    log_.add(
        "entered",
        {{"student", student_}, {"run", id}, {"lab", lab}, {"kind", limits.kind}, {"bytes", bytes.size()}});
    return follow_known(*queue_.find(student_, id));
  }

  // Everything that arrives goes the way of a class's hand-ins before it is queued. The hash of what is
  // in it.
  std::variant<std::string, Refusal> look_at(const fs::path& archive, const std::string& lab) const {
    const TemporaryDirectory scratch("warpgrade-session");
    RawAttempt raw;
    raw.origin = "your archive";
    raw.files = {{archive, "submission.tar.gz"}};
    const auto taken = take_snapshot(raw, scratch.path() / "snapshots", {});
    if (const auto* refusal = std::get_if<Refusal>(&taken)) return *refusal;
    const Submission submission = read_submission(std::get<Snapshot>(taken).folder, lab, Role::kStudent);
    if (submission.problem)
      return Refusal{"no_submission", *submission.problem, "pack a folder with the lab's sources", ""};
    return submission.hash;
  }

  // ---- a run's lines

  int follow_known(const Request& request) {
    channel_.send({{"tell", "accepted"}, {"run", request.id}, {"cases", request.cases.size()}});
    return follow(request, 0);
  }

  int follow(Request request, std::int64_t after) {
    const auto end = Clock::now() + kLongest;
    int place = -1;
    auto said = Clock::now();
    for (;;) {
      for (const Event& event : queue_.events_after(request.id, after)) {
        json line = event.body;
        line["number"] = after = event.number;
        said = Clock::now();
        if (line.value("tell", "") == "end") return finish(request.id, line);
        channel_.send(line);
      }
      if (request.state == "queued" && request.place > 0 && request.place != place) {
        place = request.place;
        said = Clock::now();
        channel_.send({{"tell", "place"}, {"place", place}, {"wait_s", request.wait_s}});
      }
      if (Clock::now() - said > kAlive) {
        said = Clock::now();
        channel_.send({{"tell", request.state == "queued" && nobody_judges() ? "closed" : "alive"}});
      }
      if (Clock::now() > end)
        throw ChannelError(ChannelError::Kind::kTooSlow, "the connection has been open for too long");
      if (const auto ask = channel_.next(Clock::now() + kLookAtQueue)) interrupt(request.id, *ask);
      request = *queue_.find(student_, request.id);
    }
  }

  bool nobody_judges() const {
    constexpr double kGone = 60;  // seconds without a sign of life
    for (const Worker& worker : queue_.workers())
      if (now_s() - worker.seen < kGone) return false;
    return true;
  }

  // While a run is followed only its end can be asked for.
  void interrupt(std::int64_t id, const json& ask) {
    if (text_of(ask, "ask") != "cancel")
      throw ChannelError(ChannelError::Kind::kMalformed, "only `cancel` is possible here");
    log_.add("cancel", {{"student", student_}, {"run", id}, {"state", queue_.cancel(student_, id, now_s())}});
  }

  // The page, where there is one, and then the last line.
  int finish(std::int64_t id, const json& line) {
    const fs::path file = queue_.folder_of(id) / "page.tar.gz";
    if (fs::exists(file)) {
      const std::string page = read_text(file);
      if (page.size() <= kMostPageBytes) {
        channel_.send({{"tell", "page"}, {"bytes", page.size()}, {"sha256", sha256(page)}});
        channel_.send_bytes(page);
      }
    }
    channel_.send(line);
    return kExitGraded;
  }

  std::string student_;
  fs::path desk_;
  Config config_;
  Queue queue_;
  Log log_;
  Channel channel_;
};

}  // namespace

int serve_connection(const StudentSessionOptions& options) {
  if (!is_plain_id(options.student))
    throw UsageError("--student: an id consists of letters, digits and . _ @ + -, 64 at most");
  limit_this_process();
  StudentSession session(options);
  try {
    return session.serve();
  } catch (const ChannelError& error) {
    return session.broken(error);
  } catch (const std::exception& error) {
    return session.failed(error);
  }
}

}  // namespace warpgrade::desk
