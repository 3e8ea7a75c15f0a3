// The CUDA sources within a Jupyter or Colab notebook: what its cells would write or compile.
//
// Read are nbformat 4 and 3 (nbformat.v4.schema.json of nbformat, and v3). A cell counts by its first line:
//   %%writefile [-a] x.cu, %%file x.cu         IPython's core magics (IPython/core/magics/osm.py)
//   %%cu, %%cuda [-n|--name x.cu]              nvcc4jupyter's first versions and its nvcc_plugin v2
//   %%cuda_group_save -n|--name x.cu -g|--group g   nvcc4jupyter (docs/source/magics.rst, parsers.py)
// Cells are read from the top down; a later cell that writes the same file replaces or extends it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade {

struct NotebookSource {
  std::filesystem::path name;  // relative; for a cell that names none "<notebook>_cell3.cu"
  std::string text;
  int cell = 0;          // the last code cell that wrote it, counted from the top
  bool is_named = true;  // else the cell is a program of its own
};

struct NotebookSources {
  std::vector<NotebookSource> sources;
  std::vector<std::string> notes;  // what the student should know: "cell 3 writes /tmp/x.cu: read as x.cu"
  std::optional<std::string> problem;  // why it cannot be read
};

inline constexpr std::size_t kMostNotebookBytes = std::size_t{32} << 20;  // pictures in its outputs count

// `text`: the notebook's, of any content and of at most kMostNotebookBytes. `stem`: "lab1" of lab1.ipynb.
// Only sources and headers are taken, and no name leads out of the notebook's folder.
NotebookSources read_notebook(const std::string& text, const std::string& stem);

}  // namespace warpgrade
