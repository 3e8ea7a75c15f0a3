// The commands of `warpgrade`, a file or a family of them each: add_X adds the command X to the app.
// A command's exit code goes to `code`, which must outlive the app; base/error.h has the codes that
// all commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace warpgrade {

void add_doctor_command(CLI::App& app, int& code);
void add_labs_command(CLI::App& app, int& code);
void add_test_command(CLI::App& app, int& code);
void add_judging_commands(CLI::App& app, int& code);  // check, grade, bench
void add_sweep_command(CLI::App& app, int& code);
void add_profile_command(CLI::App& app, int& code);
void add_python_command(CLI::App& app, int& code);
void add_estimate_command(CLI::App& app, int& code);
void add_submit_command(CLI::App& app, int& code);
void add_run_commands(CLI::App& app, int& code);  // report, score, calibrate
void add_limits_command(CLI::App& app, int& code);
void add_journey_command(CLI::App& app, int& code);  // journey, note
void add_grade_commands(CLI::App& app, int& code);   // collect, grades
void add_policy_command(CLI::App& app, int& code);   // policy check, policy show
void add_export_command(CLI::App& app, int& code);   // export, attention
void add_batch_commands(CLI::App& app, int& code);   // batch, resume, cancel, status, regrade, rescore, diff
void add_desk_command(CLI::App& app, int& code);     // desk init, keys, serve, status, ...
void add_words_command(CLI::App& app, int& code);
void add_remote_command(CLI::App& app, int& code);  // remote status, history, cancel

// What `data import` prints of a dataset: the lines by which a policy judges on it, of every lab that can.
std::string cases_for_a_policy(const std::string& dataset, int rows, int cols, std::int64_t entries);

// runs/<time>-<name>: where a run goes when nobody named a folder.
std::filesystem::path default_run_folder(const std::string& name);

// Exit code of `check`, `test`, `profile` and `submit` for a submission that is not accepted, or does
// not compile.
inline constexpr int kExitNotAccepted = 3;

}  // namespace warpgrade
