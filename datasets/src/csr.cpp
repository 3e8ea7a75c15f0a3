#include "warpgrade/datasets/csr.h"

#include "csr_builder.h"

namespace warpgrade::datasets {

Csr build_csr(int rows, int cols, std::vector<Entry> entries, Duplicates duplicates) {
  CsrBuilder builder("entries");
  builder.duplicates = duplicates;
  for (const Entry& entry : entries) builder.add(entry.row, entry.col, entry.value);
  builder.begin_placing(rows, cols);
  for (const Entry& entry : entries) builder.add(entry.row, entry.col, entry.value);
  return builder.finish(nullptr);
}

}  // namespace warpgrade::datasets
