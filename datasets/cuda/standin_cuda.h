// The GPU's half of a stand-in: columns and values from tables.
#pragma once

namespace warpgrade::datasets {

struct StandInTables;

// `tables` lie in host memory; columns [nnz] and values [nnz] too. Throws std::runtime_error when the
// GPU can't.
void draw_on_gpu(const StandInTables& tables, int* columns, float* values);

}  // namespace warpgrade::datasets
