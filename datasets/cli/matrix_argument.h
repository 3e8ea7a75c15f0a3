// A matrix that a command was given: a name of the catalogue, or a file of any format that is imported.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/cli.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

// Whether the catalogue has that name or alias, a scale or version behind @ included.
bool in_catalog(const Catalog& catalog, const std::string& name);

// The file of a name: of the catalogue, made when absent, or one that `data import --name` gave. Throws
// DatasetError where there is neither.
std::filesystem::path dataset_file(const DataCommandContext& context, const Catalog& catalog,
                                   const std::string& name);

class MatrixArgument {
 public:
  MatrixArgument(const DataCommandContext& context, const std::string& text);

  const std::string& name() const { return name_; }
  int rows() const { return file_ ? file_->rows() : matrix_.rows; }
  int cols() const { return file_ ? file_->cols() : matrix_.cols; }
  std::span<const int> row_offsets() const { return file_ ? file_->row_offsets() : matrix_.row_offsets; }
  std::span<const int> columns() const { return file_ ? file_->columns() : matrix_.columns; }

 private:
  std::string name_;
  std::optional<CsrFile> file_;
  Csr matrix_;
};

}  // namespace warpgrade::datasets
