#include "matrix_argument.h"

#include "terminal.h"
#include "warpgrade/datasets/catalog.h"
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

// The working format maps; other archives are imported.
std::optional<CsrFile> mapped(const fs::path& file) {
  if (file.extension() != ".npz") return std::nullopt;
  try {
    return CsrFile::open(file);
  } catch (const DatasetError&) {
    return std::nullopt;
  }
}

}  // namespace

MatrixArgument::MatrixArgument(const DataCommandContext& context, const std::string& text) {
  if (fs::exists(text)) {
    name_ = stem_of(text);
    file_ = mapped(text);
    if (!file_) matrix_ = import_file(text, terminal_progress(name_));
    return;
  }
  const Catalog catalog = Catalog::load(context.catalog_file);
  name_ = catalog.find(text).name;
  file_ = CsrFile::open(catalog.ensure(text, context.cache_directory, terminal_progress(name_)));
}

}  // namespace warpgrade::datasets
