// `warpgrade data plot A [B]`: degrees, locality and reuse as a figure, drawn by the reports' package.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "commands.h"
#include "matrix_argument.h"
#include "warpgrade/datasets/error.h"
#include "warpgrade/datasets/statistics.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the child has ended, and its exit code will say so
    done += static_cast<std::size_t>(written);
  }
}

// Runs `module` of the reports' package with `input` on its standard input; its exit code.
int run_python(const fs::path& root, const std::string& module, const fs::path& output,
               const std::string& input) {
  const fs::path ours = root / ".venv/bin/python";
  const std::string python = fs::exists(ours) ? ours.string() : "python3";
  int ends[2];
  if (pipe(ends) != 0) throw DatasetError("cannot make a pipe: {}", std::strerror(errno));
  std::signal(SIGPIPE, SIG_IGN);
  const pid_t child = fork();
  if (child < 0) throw DatasetError("cannot start {}: {}", python, std::strerror(errno));
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("PYTHONPATH", (root / "reports").c_str(), 1);
    execlp(python.c_str(), python.c_str(), "-m", module.c_str(), "--output", output.c_str(),
           static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[0]);
  write_all(ends[1], input);
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void plot(const DataCommandContext& context, const std::vector<std::string>& names, const fs::path& output) {
  std::string lines;
  for (const std::string& name : names) {
    const MatrixArgument matrix(context, name);
    // Communities take longest, and are one number: `data stats` has it.
    lines +=
        to_json(statistics_of(matrix.cols(), matrix.row_offsets(), matrix.columns(), {.communities = false}),
                matrix.name()) +
        "\n";
  }
  const fs::path root = fs::absolute(context.catalog_file).parent_path().parent_path();
  const int code = run_python(root, "warpgrade_reports.dataset_plot", output, lines);
  if (code == 127)
    throw DatasetError(
        "no Python with the reports' package here: run scripts/bootstrap, or use `data stats`");
  if (code != 0) throw DatasetError("the figure was not drawn: see above");
  fmt::print("figure: {}\n", output.string());
}

}  // namespace

void add_data_plot(CLI::App& data, DataCommandContext& context) {
  struct Arguments {
    std::vector<std::string> names;
    fs::path output = "datasets.png";
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      data.add_subcommand("plot", "degrees, locality and reuse of one to four matrices as a PNG");
  command->add_option("datasets", arguments->names, "names of the catalogue, or files")
      ->required()
      ->expected(1, 4);
  command->add_option("--out,--output", arguments->output, "the figure")->capture_default_str();
  command->callback([&context, arguments] { plot(context, arguments->names, arguments->output); });
}

}  // namespace warpgrade::datasets
