// warpgrade: reads the command line. Exit codes: 0 done, 1 bad input, 2 a fault of the judge, 3 `check`,
// `test`, `profile` or `submit` found a submission that is not accepted, 130 interrupted.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/own_command.h"
#include "base/process.h"
#include "base/say.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "warpgrade/datasets/cli.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade {
namespace {

// The word that stands where a command of `app`, or of the command that was named, should; empty: none does.
std::string unknown_command(const CLI::App& app) {
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
  const bool has_commands = !asked->get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::vector<std::string> rest = app.remaining(true);
  if (!has_commands || rest.empty()) return {};
  return fmt::format("{} has no command '{}'; `{} --help` lists them", asked->get_display_name(),
                     rest.front(), app.get_name());
}

// The command that was asked for, as it is typed: "./warpgrade grades override".
std::string asked_command(const CLI::App& app) {
  std::string words = own_command();
  for (const CLI::App* asked = &app; !asked->get_subcommands().empty();) {
    asked = asked->get_subcommands().front();
    words += " " + asked->get_name();
  }
  return words;
}

// `warpgrade help grade` is `warpgrade grade --help`, and `warpgrade` alone asks for help too.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{"Judges GPU-programming labs: correctness, speed-ups with intervals, reports.", own_command()};
  app.require_subcommand(1);
  app.set_version_flag(
      "--version", [] { return "warpgrade " + harness_identity().version + " " + harness_identity().hash; });
  int code = kExitGraded;
  for (const auto add :
       {add_doctor_command, add_labs_command,    add_test_command,   add_judging_commands,
        add_sweep_command,  add_profile_command, add_python_command, add_estimate_command,
        add_submit_command, add_run_commands,    add_limits_command, add_journey_command,
        add_grade_commands, add_policy_command,  add_export_command, add_batch_commands,
        add_desk_command,   add_remote_command,  add_words_command,  add_completion_command}) {
    add(app, code);
  }
  datasets::DataCommandContext data_context;
  data_context.catalog_file = project_root() / "datasets/catalog.yaml";
  data_context.cache_directory = cache_directory() / "datasets";
  data_context.how_to_use = cases_for_a_policy;
  datasets::add_data_commands(app, data_context);

  add_footers(app);
  app.failure_message([](const CLI::App* asked, const CLI::Error& error) {
    return fmt::format("error: {}; `{} --help` shows what it takes\n", error.what(), asked_command(*asked));
  });
  if (argc < 2) {
    say("{}", app.help());
    return kExitUsage;
  }

  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::RequiredError& error) {
    const std::string unknown = unknown_command(app);
    if (!unknown.empty()) throw UsageError(unknown);
    app.exit(error);
    return kExitUsage;
  } catch (const CLI::ParseError& error) {
    const int parsed = app.exit(error);
    return parsed == 0 ? kExitGraded : kExitUsage;
  }
  return code;
}

// Whatever the words hold of a file's text: they go to a terminal.
std::string as_message(const std::exception& error) {
  return plain_text(with_own_command(error.what()));
}

// What was printed is lost: the disk is full, or nobody reads the pipe any more, which needs no words.
int output_lost(int error) {
  if (error != EPIPE) say("error: the output cannot be written: {}\n", std::strerror(error));
  return kExitUsage;
}

// The end of the output is written last, and only then a full disk may be noticed.
int with_output(int code) {
  if (std::ferror(stdout) == 0 && std::fflush(stdout) == 0) return code;
  return code == kExitGraded ? output_lost(errno) : code;
}

int guarded_run(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Interrupted&) {
    say("\ninterrupted; what was recorded is kept. Run the same command again to continue from there\n");
    return kExitInterrupted;
  } catch (const UsageError& error) {
    say("error: {}\n", as_message(error));
    return kExitUsage;
  } catch (const datasets::DatasetError& error) {
    say("error: {}\n", as_message(error));
    return kExitUsage;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_lost(error.code().value());
    say("fault of the judge: {}\n", as_message(error));
    return kExitJudgeFault;
  } catch (const std::exception& error) {
    say("fault of the judge: {}\n", as_message(error));
    return kExitJudgeFault;
  }
}

}  // namespace
}  // namespace warpgrade

int main(int argc, char** argv) {
  warpgrade::started_as(argc > 0 ? argv[0] : "");
  warpgrade::install_interrupt_handler();
  return warpgrade::with_output(warpgrade::guarded_run(argc, argv));
}
