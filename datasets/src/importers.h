// One function a format; import_file chooses. Each reads its source twice where the order of entries demands
// it, and never holds more than the result. `report` is never null.
#pragma once

#include "byte_stream.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {

struct ImportJob {
  Source source;
  ImportOptions options;
  ImportReport* report = nullptr;
  Progress progress;
};

// coordinate; pattern (values 1), real, integer; general, symmetric, skew-symmetric. Duplicates add up.
Csr import_matrix_market(const ImportJob& job);

// SNAP's lists, the contests' lists behind "nodes edges".
Csr import_edge_list(const ImportJob& job);
Csr import_contest(const ImportJob& job);
Csr import_contest_binary(const ImportJob& job);

// "p sp nodes arcs", "a from to weight"; ids from 1; of parallel arcs the shortest stays.
Csr import_dimacs(const ImportJob& job);

// SciPy's archives: CSR, COO, CSC; stored or deflated; int32 or int64 indices; any row order.
Csr import_npz(const ImportJob& job);

// `job.source` is edge.csv.gz; num-node-list.csv.gz (and num-edge-list.csv.gz) lie beside it.
Csr import_ogb(const ImportJob& job);

// `job.source` is the .graph; NAME.properties lies beside it.
Csr import_bv_graph(const ImportJob& job);

// `job.source` is NAME.config, NAME.graph or NAME.graph.ptrdump.
Csr import_course(const ImportJob& job);

// Refuses ids and dimensions that a file of this size can't fill: they would cost memory for nothing.
bool fits_file(std::int64_t nodes, const Source& source);

// Of two passes over a file: its first or second half of the progress.
Progress half_of(const Progress& progress, int half);

}  // namespace warpgrade::datasets
