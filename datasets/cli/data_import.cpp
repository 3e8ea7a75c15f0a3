// `warpgrade data import FILE`: a file of another program into the cache.
#include <fmt/core.h>

#include <memory>

#include "commands.h"
#include "terminal.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

std::string stem_of(const fs::path& file) {
  std::string name = file.filename().string();
  for (const char* suffix : {".gz", ".mtx", ".txt", ".npz"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
  }
  return name;
}

void import_command(const DataCommandContext& context, const fs::path& file, std::string name,
                    fs::path output) {
  if (name.empty()) name = stem_of(file);
  if (output.empty()) output = context.cache_directory / (name + ".npz");
  const Csr matrix = import_file(file, terminal_progress());
  std::error_code error;
  if (output.has_parent_path()) fs::create_directories(output.parent_path(), error);
  const std::string hash = write_csr(output, matrix, {name, "import " + file.filename().string(), ""});
  fmt::print("{}: {} x {}, {} entries, hash {}\n", output.string(), matrix.rows, matrix.cols, matrix.nnz(),
             hash);
}

}  // namespace

void add_data_import(CLI::App& data, DataCommandContext& context) {
  struct Arguments {
    fs::path file, output;
    std::string name;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      data.add_subcommand("import", "convert Matrix Market (.mtx, .mtx.gz), SNAP edge lists, SciPy .npz");
  command->add_option("file", arguments->file, "the file to read")->required();
  command->add_option("--name", arguments->name, "the dataset's name; default: the file's");
  command->add_option("--output", arguments->output, "the .npz to write; default: into the cache");
  command->callback([&context, arguments] {
    import_command(context, arguments->file, arguments->name, arguments->output);
  });
}

}  // namespace warpgrade::datasets
