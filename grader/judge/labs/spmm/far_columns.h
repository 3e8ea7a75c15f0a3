// The case whose B has more than 2^31 floats, of which A names a few rows: an offset held in 32 bits,
// counted in floats or in bytes, goes astray. On the emulator B is a sparse file, so it costs neither
// memory nor time.
//
// C has no such case here: each of its cells must be written, which takes minutes on the
// emulator (synth-tall, GPU).
#pragma once

#include "warpgrade/datasets/csr.h"

namespace warpgrade::spmm {

constexpr const char* kFarColumns = "far-columns";  // the pattern's name
constexpr int kFarColumnsK = 256;

// The matrix: 96 rows of 0 to 12 entries; a third of the columns lie where offsets in floats pass 2^31, a
// third where offsets in bytes do, a third at the beginning. Always the same.
datasets::Csr far_columns_matrix();

}  // namespace warpgrade::spmm
