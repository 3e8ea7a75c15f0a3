#include "warpgrade/datasets/cli.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// A percentage on a terminal, at most ten times a second.
Progress terminal_progress() {
  if (isatty(STDERR_FILENO) != 1) return {};
  return [last = std::chrono::steady_clock::time_point()](std::uint64_t done, std::uint64_t total) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (total == 0 || (now - last < std::chrono::milliseconds(100) && done < total)) return;
    last = now;
    fmt::print(stderr, "\r\033[K{}{:.0f} %", done < total ? "" : "\r",
               100.0 * static_cast<double>(done) / static_cast<double>(total));
    if (done >= total) fmt::print(stderr, "\r\033[K");
  };
}

void list(const DataCommandContext& context) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  fmt::print("{:<18} {:<10} {:>9} {:>10}  {}\n", "name", "kind", "n", "nnz", "what it exercises");
  for (const DatasetInfo& info : catalog.all()) {
    fmt::print("{:<18} {:<10} {:>9} {:>10}  {}\n", info.name, info.kind,
               info.n > 0 ? std::to_string(info.n) : "-", info.nnz > 0 ? std::to_string(info.nnz) : "-",
               info.exercises);
  }
}

void info(const DataCommandContext& context, const std::string& name) {
  fs::path file = name;
  if (!fs::exists(file)) {
    const Catalog catalog = Catalog::load(context.catalog_file);
    const DatasetInfo entry = catalog.find(name);
    fmt::print("{}: {}\n", entry.name, entry.kind);
    if (!entry.source.empty()) fmt::print("source    {}\n", entry.source);
    if (!entry.licence.empty()) fmt::print("licence   {}\n", entry.licence);
    file = catalog.ensure(name, context.cache_directory, terminal_progress());
  }
  const CsrFile matrix = CsrFile::open(file);
  matrix.verify();
  const auto offsets = matrix.row_offsets();
  int longest = 0, empty = 0;
  for (int row = 0; row < matrix.rows(); ++row) {
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
    empty += offsets[row + 1] == offsets[row] ? 1 : 0;
  }
  fmt::print(
      "file      {}\nshape     {} x {}, {} entries\nrows      mean {:.2f}, longest {}, {} empty\nhash      "
      "{}\n",
      file.string(), matrix.rows(), matrix.cols(), matrix.nnz(),
      matrix.rows() > 0 ? static_cast<double>(matrix.nnz()) / matrix.rows() : 0.0, longest, empty,
      matrix.content_hash());
  if (!matrix.origin().generator.empty()) fmt::print("generator {}\n", matrix.origin().generator);
}

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

void add_data_commands(CLI::App& app, DataCommandContext& context) {
  CLI::App* data = app.add_subcommand("data", "the datasets: list, info, import");
  data->require_subcommand(1);
  data->add_subcommand("list", "every dataset by name")->callback([&context] { list(context); });

  const auto name = std::make_shared<std::string>();
  CLI::App* info_command =
      data->add_subcommand("info", "shape, rows and hash of a dataset or file; makes it when absent");
  info_command->add_option("name", *name, "a name of the catalogue, or an .npz file")->required();
  info_command->callback([&context, name] { info(context, *name); });

  struct ImportArguments {
    fs::path file, output;
    std::string name;
  };
  const auto arguments = std::make_shared<ImportArguments>();
  CLI::App* import =
      data->add_subcommand("import", "convert Matrix Market (.mtx, .mtx.gz), SNAP edge lists, SciPy .npz");
  import->add_option("file", arguments->file, "the file to read")->required();
  import->add_option("--name", arguments->name, "the dataset's name; default: the file's");
  import->add_option("--output", arguments->output, "the .npz to write; default: into the cache");
  import->callback([&context, arguments] { import_command(context, arguments->file, arguments->name, arguments->output);
});
}  // namespace warpgrade::datasets

}  // namespace warpgrade::datasets
