// `warpgrade data info NAME`: what a dataset is, and shape, rows and hash of the matrix.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "matrix_argument.h"
#include "terminal.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void line(const char* key, const std::string& value) {
  if (!value.empty()) fmt::print("{:<10}{}\n", key, value);
}

// Where each fact was looked up, and which were not found anywhere.
void print_facts(const DatasetInfo& entry) {
  for (const auto& [fact, sources] : entry.checked) {
    std::string text;
    for (const std::string& source : sources) text += (text.empty() ? "" : "; ") + source;
    line("checked", fmt::format("{}: {}", fact, text));
  }
  std::string facts;
  for (const std::string& fact : entry.unconfirmed) facts += (facts.empty() ? "" : ", ") + fact;
  std::string assumed;
  for (const std::string& what : entry.assumed) assumed += (assumed.empty() ? "" : ", ") + what;
  if (!assumed.empty())
    line("assumed", fmt::format("of {}@v2: {}", entry.name.substr(0, entry.name.find('@')), assumed));
  if (!facts.empty()) line("unchecked", fmt::format("{}: from memory, look at the page", facts));
}

void print_entry(const DatasetInfo& entry) {
  fmt::print("{}: {}\n", entry.name, entry.kind);
  std::string aliases;
  for (const std::string& alias : entry.aliases) aliases += (aliases.empty() ? "" : ", ") + alias;
  line("aliases", aliases);
  line("exercises", entry.exercises);
  line("source", entry.source);
  line("licence", entry.licence);
  if (!entry.direction.empty())
    line("graph", fmt::format("{}; features: {}", entry.direction, entry.features));
  if (entry.n > 0) {
    line("published", fmt::format("{} nodes{}", grouped(entry.n),
                                  entry.nnz > 0 ? fmt::format(", {} entries", grouped(entry.nnz)) : ""));
  }
  line("note", entry.note);
  print_facts(entry);
  if (!entry.original) return;
  for (const std::string& url : entry.original->urls) line("original", url);
  line("original", entry.original->by_hand);
  line("page", entry.original->page);
}

void print_matrix(const fs::path& file) {
  const CsrFile matrix = CsrFile::open_verified(file);
  const auto offsets = matrix.row_offsets();
  int longest = 0, empty = 0;
  for (int row = 0; row < matrix.rows(); ++row) {
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
    empty += offsets[row + 1] == offsets[row] ? 1 : 0;
  }
  line("file", file.string());
  line("shape", fmt::format("{} x {}, {} entries", matrix.rows(), matrix.cols(), matrix.nnz()));
  line("rows", fmt::format("mean {:.2f}, longest {}, {} empty",
                           matrix.rows() > 0 ? static_cast<double>(matrix.nnz()) / matrix.rows() : 0.0,
                           longest, empty));
  line("made from", matrix.origin().source);
  line("generator", matrix.origin().generator);
  line("hash", matrix.content_hash());
}

void info(const DataCommandContext& context, const std::string& name, bool offline) {
  if (fs::is_regular_file(name)) {
    if (fs::path(name).extension() == ".npz") return print_matrix(name);
    throw DatasetError(
        "{}: expected a dataset or an .npz file; `warpgrade data stats FILE` describes others, "
        "`warpgrade data import FILE` converts them",
        name);
  }
  const Catalog catalog = Catalog::load(context.catalog_file);
  if (!in_catalog(catalog, name) && !offline) return print_matrix(dataset_file(context, catalog, name));
  print_entry(catalog.find(name));
  if (!offline) print_matrix(dataset_file(context, catalog, name));
}

}  // namespace

void add_data_info(CLI::App& data, DataCommandContext& context) {
  const auto name = std::make_shared<std::string>();
  const auto offline = std::make_shared<bool>(false);
  CLI::App* command =
      data.add_subcommand("info", "shape, rows and hash of a dataset or file; makes it when absent");
  command->add_option("name", *name, "a name or alias of the catalogue, or an .npz file")->required();
  command->add_flag("--catalogue", *offline, "only what the catalogue says");
  command->callback([&context, name, offline] { info(context, *name, *offline); });
}

}  // namespace warpgrade::datasets
