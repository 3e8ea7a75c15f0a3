// Importers: files of other programs to CSR. Every error names the file and the line or byte, what was
// expected and what stands there.
#pragma once

#include <filesystem>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

// By content: Matrix Market (.mtx, .mtx.gz), SciPy CSR (.npz), anything else as a SNAP edge list (.txt,
// .txt.gz: "from to" a line, '#' comments, ids from 0).
Csr import_file(const std::filesystem::path& path, const Progress& progress = {});

// coordinate; pattern (values 1), real, integer; general, symmetric, skew-symmetric. Duplicates add up.
Csr import_matrix_market(const std::filesystem::path& path, const Progress& progress = {});

// Duplicate edges are dropped; the matrix is square with max id + 1 rows.
Csr import_edge_list(const std::filesystem::path& path, const Progress& progress = {});

// Foreign archives too: deflated members, int64 indices, float64 data, unsorted rows.
Csr import_npz(const std::filesystem::path& path, const Progress& progress = {});

// Graphs that any Debian machine has. Throw DatasetError with the package to install.
Csr import_wordnet(const std::filesystem::path& folder = "/usr/share/wordnet");
Csr import_debian_packages(const std::filesystem::path& lists = "/var/lib/apt/lists");

}  // namespace warpgrade::datasets
