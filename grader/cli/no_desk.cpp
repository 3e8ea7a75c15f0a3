// In place of desk.cpp where SQLite is not installed: the command is there and says what is missing.
#include "base/error.h"
#include "cli/commands.h"

namespace warpgrade {

void add_desk_command(CLI::App& app, int& /*code*/) {
  CLI::App* command = app.add_subcommand("desk", "students' runs on the course's GPU: the server's side");
  command->allow_extras();
  command->callback([] {
    throw UsageError(
        "this warpgrade was built without SQLite, so it can be no desk; install libsqlitecpp-dev and build "
        "again. Students' own runs (`warpgrade test LAB --remote HOST`) do not need it");
  });
}

}  // namespace warpgrade
