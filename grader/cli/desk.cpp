// `warpgrade desk`: students' runs on the course's GPU, the server's side. README.md of grader/course/desk.
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/say.h"
#include "base/tables.h"
#include "cli/commands.h"
#include "course/desk/config.h"
#include "course/desk/keys.h"
#include "course/desk/queue.h"
#include "course/desk/serve.h"
#include "course/desk/student_session.h"
#include "course/desk/work.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct DeskOptions {
  fs::path folder = desk::default_desk();
  std::string student, course = "a course", why, name, gpu;
  fs::path roster, keys;
  std::optional<int> per_hour, per_day;
  double until_idle_s = 0;
  bool as_json = false;
  std::vector<std::string> command;
};

int init(const DeskOptions& options) {
  make_directories(options.folder);
  fs::permissions(options.folder, fs::perms::owner_all);
  desk::Queue::create(options.folder);
  const std::string text = fmt::format(
      "# What the desk does: grader/course/desk/README.md has every key.\nschema: warpgrade.desk.v1\ncourse: "
      "{}\n"
      "# labs: {{spmm: {{policy: spmm.yaml}}}}   # without it every lab, with the policies of "
      "grader/policies\n",
      json(options.course).dump());
  const bool fresh = write_new_text(options.folder / "desk.yaml", text);
  desk::Config::read(options.folder);
  tell("{} {}; next: {} desk keys --folder {} --roster ROSTER.csv --keys KEYS\n", options.folder.string(),
       fresh ? "is a desk" : "was a desk already", own_command(), options.folder.string());
  return kExitGraded;
}

int keys(const DeskOptions& options) {
  const desk::AuthorizedKeys made = desk::make_authorized_keys(options.folder, options.roster, options.keys);
  tell("{}", made.text);
  for (const std::string& line : made.refused) say("left out {}\n", line);
  if (!made.without.empty()) say("without a key: {}\n", fmt::join(made.without, ", "));
  say("{} students have a key\n", made.students.size());
  return kExitGraded;
}

std::string seconds_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// "on: 4 a student and day", "off", "ended: the GPU ...".
std::string counters_text(const fs::path& folder) {
  const desk::Config config = desk::Config::read(folder);
  if (!config.counters) return "runs with counters: off (`counters` in desk.yaml)";
  const std::string why = desk::Queue(folder).setting(desk::kCountersEnded);
  if (why.empty())
    return fmt::format("runs with counters: on, {} a student and day", config.counters->runs_per_day);
  return fmt::format("runs with counters: ended: {}; `{} desk counters` begins them again", why,
                     own_command());
}

int status(const DeskOptions& options) {
  const desk::Queue queue(options.folder);
  const json counts = queue.counts();
  const auto waiting = queue.waiting(), running = queue.running();
  const double now = desk::now_s();
  if (options.as_json) {
    json list = json::array(), workers = json::array();
    for (const auto* requests : {&running, &waiting})
      for (const desk::Request& request : *requests) {
        list.push_back(request.to_json());
        list.back()["student"] = request.student;
      }
    for (const desk::Worker& worker : queue.workers())
      workers.push_back({{"name", worker.name},
                         {"device", worker.device},
                         {"run", worker.request},
                         {"seen_s", now - worker.seen}});
    fmt::print("{}\n", json_text(json{{"schema", "warpgrade.desk-status.v1"},
                                      {"counts", counts},
                                      {"runs", list},
                                      {"workers", workers},
                                      {"drain", queue.setting("drain")},
                                      {"counters", counters_text(options.folder)}},
                                 1));
    return kExitGraded;
  }
  if (const std::string why = queue.setting("drain"); !why.empty()) tell("takes no new runs: {}\n", why);
  tell("{}\n", counters_text(options.folder));
  for (const desk::Worker& worker : queue.workers())
    tell("{:<10} {:<12} {}\n", worker.name, worker.device,
         worker.request == 0
             ? "idle"
             : fmt::format("run {} since {}", worker.request, seconds_text(now - worker.since)));
  if (queue.workers().empty())
    tell("no worker judges at this desk; start one: {} desk serve --folder {}\n", own_command(),
         options.folder.string());
  for (const desk::Request& request : running)
    tell("{:<8} run {:<6} {:<20} {}\n", request.kind == desk::kProfile ? "counted" : "judged", request.id,
         request.student, request.lab);
  for (const desk::Request& request : waiting)
    tell("waits    run {:<6} {:<20} {} since {}\n", request.id, request.student, request.lab,
         seconds_text(now - request.arrived));
  tell("{} wait, {} are judged now, {} were judged, {} failed, {} cancelled", waiting.size(), running.size(),
       counts["judged"].get<int>(), counts["failed"].get<int>(), counts["cancelled"].get<int>());
  if (counts.contains("wait_p95_s"))
    tell("; of the last 100, 95 % waited less than {}", seconds_text(counts["wait_p95_s"].get<double>()));
  tell("\n");
  return kExitGraded;
}

// An administrator's changes stand in the log.
void note(const DeskOptions& options, const char* what, json facts) {
  facts["by"] = getuid();
  desk::Log(options.folder).add(what, std::move(facts));
}

int drain(const DeskOptions& options, bool on) {
  desk::Queue queue(options.folder);
  const std::string why = options.why.empty() ? "the instructor has paused it" : options.why;
  queue.set("drain", on ? why : "");
  note(options, on ? "drain" : "reopen", {{"why", on ? why : ""}});
  tell("{}\n",
       on ? fmt::format(
                "no new runs are taken; those that wait are still judged. `{} desk reopen` takes them again",
                own_command())
          : "runs are taken");
  return kExitGraded;
}

int ban(const DeskOptions& options, bool on) {
  desk::Queue queue(options.folder);
  const std::string why = !on ? "" : options.why.empty() ? "by the instructor" : options.why;
  queue.ban(options.student, why);
  int ended = 0;
  if (on)
    for (const desk::Request& request : queue.of_student(options.student, 1000))
      if (!request.ended_for_good() && !queue.cancel(options.student, request.id, desk::now_s()).empty())
        ++ended;
  note(options, on ? "ban" : "unban", {{"student", options.student}, {"why", why}});
  tell("{} {}\n", options.student, on ? fmt::format("is stopped; {} open runs end", ended) : "may run again");
  return kExitGraded;
}

int quota(const DeskOptions& options) {
  desk::Queue queue(options.folder);
  queue.quota(options.student, options.per_hour, options.per_day);
  note(options, "quota",
       {{"student", options.student},
        {"per_hour", options.per_hour ? json(*options.per_hour) : json()},
        {"per_day", options.per_day ? json(*options.per_day) : json()}});
  const auto text = [](const std::optional<int>& number) {
    return number ? std::to_string(*number) : std::string("as the policy says");
  };
  tell("{}: runs an hour: {}; a day: {}\n", options.student, text(options.per_hour), text(options.per_day));
  return kExitGraded;
}

// The class of runs with counters, which ends by itself where the GPU does not answer after one.
int counters(const DeskOptions& options, bool off) {
  desk::Queue queue(options.folder);
  const std::string why = options.why.empty() ? "the instructor has ended it" : options.why;
  if (off)
    queue.end_counters(why, desk::now_s());
  else
    queue.set(desk::kCountersEnded, "");
  note(options, "counters", {{"on", !off}, {"why", off ? why : ""}});
  tell("{}\n", off ? "no more runs with counters are begun; those that waited have ended"
                   : counters_text(options.folder));
  return kExitGraded;
}

// Runs a command before every student: while it goes on, no further run begins. The lock is this process's
// alone: what the command starts, submissions among it, never sees it.
int first(const DeskOptions& options) {
  const desk::Queue queue(options.folder);  // says what is wrong where it is none
  const fs::path file = options.folder / "first.lock";
  const FileDescriptor lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_SH) != 0) throw UsageError("cannot lock {}", file.string());
  note(options, "first", {{"command", fmt::format("{}", fmt::join(options.command, " "))}});
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw JudgeFault("cannot start {}", words.front());
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_DFL);
    execvp(arguments[0], arguments.data());
    say("error: {}: cannot be started\n", words.front());
    _exit(kExitUsage);
  }
  int status = 0;
  // Ctrl-C reaches the command as well, which ends in its own way.
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void add_administration(CLI::App& desk_command, const std::shared_ptr<DeskOptions>& options, int& code) {
  const auto with_folder = [&](const char* name, const char* what) {
    CLI::App* command = desk_command.add_subcommand(name, what);
    command->add_option("--folder", options->folder, "the desk's; default: $WARPGRADE_DESK, or ~/desk");
    return command;
  };
  const auto with_student = [&](const char* name, const char* what) {
    CLI::App* command = with_folder(name, what);
    command->add_option("student", options->student, "the id on the roster")->required();
    return command;
  };
  CLI::App* drain_command = with_folder("drain", "take no new runs; those that wait are judged");
  drain_command->add_option("--why", options->why, "students are told");
  drain_command->callback([options, &code] { code = drain(*options, true); });
  with_folder("reopen", "take runs again")->callback([options, &code] { code = drain(*options, false); });
  CLI::App* ban_command = with_student("ban", "take no runs of this student, and end the open ones");
  ban_command->add_option("--why", options->why, "the student is told");
  ban_command->callback([options, &code] { code = ban(*options, true); });
  with_student("unban", "take this student's runs again")->callback([options, &code] {
    code = ban(*options, false);
  });
  CLI::App* quota_command = with_student(
      "quota", "give this student another number of runs; without a number, the policy's number");
  quota_command->add_option("--per-hour", options->per_hour, "runs an hour")->check(CLI::NonNegativeNumber);
  quota_command->add_option("--per-day", options->per_day, "runs a day")->check(CLI::NonNegativeNumber);
  quota_command->callback([options, &code] { code = quota(*options); });
  CLI::App* counters_command =
      with_folder("counters", "begin runs with counters again, after they have ended");
  const auto off = std::make_shared<bool>(false);
  CLI::Option* off_option = counters_command->add_flag("--off", *off, "end them instead; other runs go on");
  counters_command->add_option("--why", options->why, "students are told")->needs(off_option);
  counters_command->callback([options, off, &code] { code = counters(*options, *off); });
  CLI::App* status_command = with_folder("status", "who waits, how long, and what is judged");
  status_command->add_flag("--json", options->as_json, "for programs");
  status_command->callback([options, &code] { code = status(*options); });
  CLI::App* first_command =
      with_folder("first", "run a command, `warpgrade batch ...`, before every student's run");
  first_command->add_option("command", options->command, "behind --")->required();
  first_command->callback([options, &code] { code = first(*options); });
}

}  // namespace

void add_desk_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<DeskOptions>();
  CLI::App* command = app.add_subcommand("desk", "students' runs on the course's GPU: the server's side");
  command->require_subcommand(0, 1);
  command->add_option("--folder", options->folder, "the desk's; default: $WARPGRADE_DESK, or ~/desk");
  command->add_option("--student", options->student,
                      "serve this student's connection (a forced command of sshd)");
  command->callback([command, options, &code] {
    if (!command->get_subcommands().empty()) return;
    if (options->student.empty())
      throw UsageError("give a command of the desk; `warpgrade desk --help` lists them");
    code = desk::serve_connection({options->folder, options->student});
  });
  CLI::App* init_command = command->add_subcommand("init", "make a desk");
  init_command->add_option("folder", options->folder, "a new folder")->required();
  init_command->add_option("--course", options->course, "its name, which students read");
  init_command->callback([options, &code] { code = init(*options); });
  CLI::App* keys_command =
      command->add_subcommand("keys", "print authorized_keys, from the roster and the students' public keys");
  keys_command->add_option("--folder", options->folder, "the desk's; default: $WARPGRADE_DESK, or ~/desk");
  keys_command->add_option("--roster", options->roster, "CSV, as `batch` takes it")->required();
  keys_command->add_option("--keys", options->keys, "a folder of STUDENT.pub, or a file of lines STUDENT KEY")
      ->required();
  keys_command->callback([options, &code] { code = keys(*options); });
  CLI::App* serve_command =
      command->add_subcommand("serve", "judge what students hand in, until it is ended");
  serve_command->add_option("--folder", options->folder, "the desk's; default: $WARPGRADE_DESK, or ~/desk");
  serve_command->add_option("--until-idle", options->until_idle_s,
                            "end after this many seconds without work");
  serve_command->callback([options, &code] { code = desk::serve({options->folder, options->until_idle_s}); });
  CLI::App* work_command = command->add_subcommand("work", "one worker, as `serve` starts it")->group("");
  work_command->add_option("--folder", options->folder);
  work_command->add_option("--name", options->name)->required();
  work_command->add_option("--gpu", options->gpu);
  work_command->add_option("--idle", options->until_idle_s);
  work_command->callback([options, &code] {
    code = desk::work({options->folder, options->name, options->gpu, options->until_idle_s});
  });
  add_administration(*command, options, code);
}

}  // namespace warpgrade
