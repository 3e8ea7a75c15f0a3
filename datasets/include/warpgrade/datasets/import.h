// Reading other people's formats into CSR, in one streaming pass, by content and not by file name.
//
// Accepted, each plain or gzipped:
//   Matrix Market   coordinate; pattern, real or integer; general, symmetric or skew-symmetric; 1-based.
//                   Stored triangles are expanded, duplicates summed, pattern entries become 1.
//   edge list       SNAP's: two 0-based ids a line, tabs or spaces, # comments. Every edge is 1, duplicates
//   are dropped,
//                   the matrix is square with (largest id + 1) rows unless ids are compacted.
//   SciPy CSR .npz  stored or deflated, int32 or int64 indices, any real number type (never gzipped).
// CRLF line ends are fine; NaN and infinity are not; non-square matrices are.
#pragma once

#include <filesystem>
#include <string>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/progress.h"

namespace warpgrade::datasets {

struct ImportOptions {
  bool compact_ids = false;  // edge lists: renumber the ids that occur to 0..n-1, in ascending order
  bool symmetrize = false;   // edge lists: add the reverse of every edge (undirected graphs listed once)
  ProgressFn progress;
};

struct Imported {
  HostCsr matrix;
  std::string format;        // "Matrix Market pattern symmetric", "edge list", "SciPy CSR npz"
  std::int64_t entries = 0;  // entries in the file, before expansion and removal of duplicates
};

// No dimension may exceed this: row_offsets alone would take 1 GiB, and no lab has a use for it.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 28;

Imported import_file(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace warpgrade::datasets
