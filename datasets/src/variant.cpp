#include "warpgrade/datasets/variant.h"

#include <algorithm>
#include <numeric>

#include "counter_random.h"

namespace warpgrade::datasets {
namespace {

constexpr u64 kRowStream = 0x726F7773, kColumnStream = 0x636F6C73, kValueStream = 0x76616C73;

int bits_for(int count) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

// The id's place among 2^bits leaves after every swap above it.
u64 scrambled(u64 id, int bits, u64 key) {
  u64 place = id;
  for (int level = 0; level < bits; ++level) {
    const int below_level = bits - 1 - level;
    const u64 subtree = (id >> below_level >> 1) | (u64{1} << level);  // a number of its own
    place ^= (draw_of(key, subtree) >> 63) << below_level;
  }
  return place;
}

// Places of 2^bits leaves, some of them empty, close up to [0, count).
std::vector<int> nested(int count, u64 key) {
  const int bits = bits_for(count);
  std::vector<int> id_at(std::size_t{1} << bits, -1), new_id(static_cast<std::size_t>(count));
  for (int id = 0; id < count; ++id) id_at[scrambled(static_cast<u64>(id), bits, key)] = id;
  int next = 0;
  for (const int id : id_at) {
    if (id >= 0) new_id[id] = next++;
  }
  return new_id;
}

std::vector<int> uniform(int count, u64 key) {
  std::vector<int> new_id(static_cast<std::size_t>(count));
  std::iota(new_id.begin(), new_id.end(), 0);
  for (int i = count - 1; i > 0; --i)
    std::swap(new_id[i], new_id[below(draw_of(key, static_cast<u64>(i)), static_cast<u64>(i) + 1)]);
  return new_id;
}

}  // namespace

std::vector<int> relabel(int count, std::uint64_t seed, Relabelling kind) {
  const u64 key = stream_key(seed, kRowStream);
  return kind == Relabelling::kNested ? nested(count, key) : uniform(count, key);
}

Csr make_variant(int cols, std::span<const int> row_offsets, std::span<const int> columns, std::uint64_t seed,
                 Relabelling kind) {
  Csr variant;
  variant.rows = static_cast<int>(row_offsets.size()) - 1;
  variant.cols = cols;
  const std::vector<int> new_row = relabel(variant.rows, seed, kind);
  const std::vector<int> other =
      variant.rows == cols ? std::vector<int>{} : relabel(cols, stream_key(seed, kColumnStream), kind);
  const std::vector<int>& new_column = variant.rows == cols ? new_row : other;
  variant.row_offsets.assign(row_offsets.size(), 0);
  for (int row = 0; row < variant.rows; ++row)
    variant.row_offsets[new_row[row] + 1] = row_offsets[row + 1] - row_offsets[row];
  std::partial_sum(variant.row_offsets.begin(), variant.row_offsets.end(), variant.row_offsets.begin());
  variant.columns.resize(columns.size());
  variant.values.resize(columns.size());
  for (int row = 0; row < variant.rows; ++row) {
    int* out = variant.columns.data() + variant.row_offsets[new_row[row]];
    int* const begin = out;
    for (int entry = row_offsets[row]; entry < row_offsets[row + 1]; ++entry)
      *out++ = new_column[columns[entry]];
    std::sort(begin, out);
  }
  const u64 value_seed = stream_key(seed, kValueStream);
  for (std::size_t i = 0; i < variant.values.size(); ++i) variant.values[i] = draw_value(value_seed, i);
  return variant;
}

}  // namespace warpgrade::datasets
