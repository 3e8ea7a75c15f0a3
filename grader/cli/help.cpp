#include "cli/help.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/own_command.h"

namespace warpgrade {
namespace {

// By the command's words.
const std::map<std::string, std::vector<std::string>>& examples() {
  static const std::map<std::string, std::vector<std::string>> kExamples{
      {"doctor", {"warpgrade doctor"}},
      {"labs", {"warpgrade labs", "warpgrade labs spmm"}},
      {"test",
       {"warpgrade test spmm", "warpgrade test spmm --case synth-hub-k32",
        "warpgrade test spmm --remote gpu.example.edu"}},
      {"check", {"warpgrade check student/spmm --lab spmm"}},
      {"grade", {"warpgrade grade submissions/ --lab spmm --run runs/week7"}},
      {"bench", {"warpgrade bench --lab spmm"}},
      {"sweep", {"warpgrade sweep student/spmm --lab spmm --param TILE=8,16"}},
      {"profile",
       {"warpgrade profile student/spmm --lab spmm --case synth-hub-k32",
        "warpgrade profile student/spmm --lab spmm --case synth-hub-k32 --remote gpu.example.edu"}},
      {"python", {"warpgrade python kernel.py", "warpgrade python --device h200 kernel.py 4096"}},
      {"estimate", {"warpgrade estimate counters.jsonl --device h200"}},
      {"words", {"warpgrade words printed.txt", "warpgrade words --check grader/cli/words/de.po"}},
      {"submit", {"warpgrade submit student/spmm --lab spmm"}},
      {"report", {"warpgrade report runs/week7"}},
      {"score", {"warpgrade score runs/week7", "warpgrade score runs/week7 --policy stricter.yaml"}},
      {"calibrate",
       {"warpgrade calibrate runs/ladder --share 0.9",
        "warpgrade calibrate runs/ladder --write grader/policies/spmm.yaml",
        "warpgrade calibrate runs/ladder --limit", "warpgrade calibrate --device",
        "warpgrade calibrate runs/on-the-emulator --for T4 --baseline naive"}},
      {"limits", {"warpgrade limits runs/ladder"}},
      {"journey",
       {"warpgrade journey runs/week1 runs/week2 --student ada", "warpgrade journey runs/week1 runs/week2",
        "warpgrade journey runs/week7 desk --keep-in runs/week7"}},
      {"note", {"warpgrade note spmm \"rows split among warps: 1.5x\""}},
      {"collect", {"warpgrade collect runs/week7 --gradebook course.sqlite"}},
      {"grades",
       {"warpgrade grades --gradebook course.sqlite --lab spmm", "warpgrade grades --format csv >grades.csv",
        "warpgrade grades total --course course.yaml",
        "warpgrade grades import canvas.csv --format canvas --lab spmm"}},
      {"grades override",
       {"warpgrade grades override s123 --lab spmm --points 77 --reason \"appeal 12\" --author \"A. "
        "Person\""}},
      {"grades history", {"warpgrade grades history s123"}},
      {"attention", {"warpgrade attention runs/week7", "warpgrade attention runs/week7 --json"}},
      {"export",
       {"warpgrade export runs/week7",
        "warpgrade export runs/week7 --format canvas --column \"Lab 1 (4711)\""}},
      {"batch",
       {"warpgrade batch runs/week7 --lab spmm --submissions export.zip --roster roster.csv",
        "warpgrade batch runs/week7 --submissions export.zip --roster roster.csv --take-in",
        "warpgrade batch runs/week7 --add more.zip --reason \"forgotten in the export\"",
        "warpgrade batch runs/week7 --replace ada=fixed/ --reason \"the zip was damaged\"",
        "warpgrade batch runs/week7 --extend ada=2026-03-25T23:59 --reason \"was ill\"",
        "warpgrade batch runs/week7 --lab spmm --watch hand-ins --attempts-per-day 5"}},
      {"resume", {"warpgrade resume runs/week7"}},
      {"cancel", {"warpgrade cancel runs/week7"}},
      {"status", {"warpgrade status runs/week7", "warpgrade status runs/week7 --json"}},
      {"regrade", {"warpgrade regrade runs/week7 --only 'ada*'"}},
      {"rescore", {"warpgrade rescore runs/week7 --policy stricter.yaml --yes"}},
      {"diff", {"warpgrade diff runs/week7 runs/week7-again"}},
      {"policy check", {"warpgrade policy check grader/policies/spmm.yaml"}},
      {"policy show", {"warpgrade policy show grader/policies/spmm.yaml"}},
      {"desk init", {"warpgrade desk init ~/desk --course \"GPU programming\""}},
      {"desk keys", {"warpgrade desk keys --roster roster.csv --keys keys/ >~/.ssh/authorized_keys"}},
      {"desk serve", {"warpgrade desk serve --folder ~/desk"}},
      {"desk status", {"warpgrade desk status", "warpgrade desk status --json"}},
      {"desk counters",
       {"warpgrade desk counters", "warpgrade desk counters --off --why \"the GPU is looked at\""}},
      {"desk first", {"warpgrade desk first -- warpgrade batch runs/week7 --submissions export.zip"}},
      {"remote status", {"warpgrade remote status --remote gpu.example.edu"}},
      {"remote cancel", {"warpgrade remote cancel 17 --remote gpu.example.edu"}},
      {"completion", {"warpgrade completion bash >~/.local/share/bash-completion/completions/warpgrade"}}};
  return kExamples;
}

void add_footer(CLI::App& command, const std::string& words) {
  std::string text;
  const auto found = examples().find(words);
  if (found != examples().end()) text += fmt::format("Examples:\n  {}\n\n", fmt::join(found->second, "\n  "));
  text +=
      "Exit codes: 0 done; 1 bad input, a message names it; 2 the judge failed, run the same command again "
      "to continue; ";
  text += "3 check, test, profile, submit: not accepted; 130 interrupted";
  if (command.get_footer().empty()) command.footer(text);
  for (CLI::App* below : command.get_subcommands({})) {
    if (!below->get_group().empty())
      add_footer(*below, words.empty() ? below->get_name() : words + " " + below->get_name());
  }
}

// CLI11's help, in which commands are spelled as they are typed here.
class OwnHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return with_own_command(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

void print_own_command(CLI::App& command) {
  command.formatter(std::make_shared<OwnHelp>());
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) print_own_command(*below);
}

// What may follow a command: commands below it and long options.
std::vector<std::string> words_after(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* below : command.get_subcommands({}))
    if (!below->get_group().empty()) words.push_back(below->get_name());
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

void add_cases(const CLI::App& command, const std::string& words, std::string& cases) {
  cases += fmt::format("    '{}') known='{}' ;;\n", words, fmt::join(words_after(command), " "));
  for (const CLI::App* below : command.get_subcommands({}))
    if (!below->get_group().empty())
      add_cases(*below, words.empty() ? below->get_name() : words + " " + below->get_name(), cases);
}

// Words of commands before the cursor choose what is offered; file names are offered besides.
std::string bash_completion(const CLI::App& app) {
  std::string cases, names;
  add_cases(app, "", cases);
  for (const auto& below : app.get_subcommands({})) {
    names += " " + below->get_name();
    for (const auto& further : below->get_subcommands({})) names += " " + further->get_name();
  }
  return fmt::format(R"(_warpgrade() {{
  local word said='' known=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " {} " in *" $word "*) said="${{said:+$said }}$word" ;; esac
  done
  case "$said" in
{}  esac
  COMPREPLY=($(compgen -W "$known" -- "${{COMP_WORDS[COMP_CWORD]}}") $(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o filenames -F _warpgrade warpgrade
)",
                     names.empty() ? "" : names.substr(1), cases);
}

}  // namespace

void add_footers(CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands({})) know_command(command->get_name());
  add_footer(app, "");
  print_own_command(app);
}

void add_completion_command(CLI::App& app, int& code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print a shell's completion of these commands");
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([shell, &app, &code] {
    const std::string script = bash_completion(app);
    // zsh runs bash's completions by its own bashcompinit.
    fmt::print("{}{}",
               *shell == "zsh"
                   ? "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
                   : "",
               script);
    code = kExitGraded;
  });
}

}  // namespace warpgrade
