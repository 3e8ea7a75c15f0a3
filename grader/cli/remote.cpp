// `warpgrade remote status|cancel|history|follow`: a student's runs on the course's desk.
#include <fmt/core.h>

#include <ctime>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/student_remote.h"
#include "course/desk/connection.h"

namespace warpgrade {
using nlohmann::json;

namespace {

struct RemoteOptions {
  std::string remote;
  std::int64_t run = 0;
};

json asked(const RemoteOptions& options, const json& question) {
  try {
    desk::Connection connection(desk::Address::parse(remote_host(options.remote)));
    connection.ask(question);
    return connection.next();
  } catch (const desk::Refused& refused) {
    throw UsageError("{}", refused.what());
  } catch (const desk::ChannelError& error) {
    throw JudgeFault("the connection broke ({}); run the same command again", error.what());
  }
}

std::string local_time(double seconds) {
  const auto at = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  localtime_r(&at, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

int list(const RemoteOptions& options, const char* what) {
  const json answer = asked(options, {{"ask", what}});
  const json runs = answer.value("runs", json::array());
  for (const json& run : runs) {
    const auto arrived = run.value("arrived", json());
    std::string state = plain_line(desk::text_of(run, "state"), 20);
    if (const auto place = desk::whole_of(run, "place"); place && *place > 0)
      state += fmt::format(", place {}", *place);
    tell("run {:<6} {}  {:<12} {:<18} {}\n", desk::whole_of(run, "run").value_or(0),
         local_time(arrived.is_number() ? arrived.get<double>() : 0),
         plain_line(desk::text_of(run, "lab"), 30), state, plain_line(desk::text_of(run, "message"), 200));
  }
  if (runs.empty())
    tell("no run of yours {}\n", std::string(what) == "status" ? "waits or is judged" : "is there");
  return kExitGraded;
}

int cancel(const RemoteOptions& options) {
  const json answer = asked(options, {{"ask", "cancel"}, {"run", options.run}});
  const std::string state = desk::text_of(answer, "state");
  tell("run {} {}\n", options.run,
       state == "cancelled" ? "has left the queue"
       : state == "running" ? "ends after its present case"
                            : "had ended before: " + plain_line(state, 20));
  return kExitGraded;
}

}  // namespace

void add_remote_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<RemoteOptions>();
  CLI::App* command =
      app.add_subcommand("remote", "your runs on the course's GPU (`test LAB --remote HOST` makes one)");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* below = command->add_subcommand(name, what);
    below->add_option("--remote", options->remote, "the desk's host; default: $WARPGRADE_REMOTE");
    return below;
  };
  add("status", "runs that wait or are judged")->callback([options, &code] {
    code = list(*options, "status");
  });
  add("history", "the last 50 runs")->callback([options, &code] { code = list(*options, "history"); });
  CLI::App* cancel_command = add("cancel", "take a run out of the queue");
  cancel_command->add_option("run", options->run, "its number")->required();
  cancel_command->callback([options, &code] { code = cancel(*options); });
}

}  // namespace warpgrade
