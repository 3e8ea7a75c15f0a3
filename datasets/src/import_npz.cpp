// SciPy's sparse archives as others write them: CSR, COO and CSC; deflated members, 64-bit indices, double
// values, rows in any order. Members are read as streams: neither the file nor a member is ever in memory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include "csr_builder.h"
#include "importers.h"
#include "mapped_file.h"
#include "npy_reader.h"
#include "zip_archive.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kNpzChunk = 1 << 14;

// A nameless file on disk with the content of an archive's member: an .npz has its directory at its end, so
// it can't be read as a stream.
class Spooled {
 public:
  explicit Spooled(const Source& source) {
    const fs::path folder = fs::temp_directory_path();
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) throw DatasetError("no temporary file in {}: {}", folder.string(), std::strerror(errno));
    const auto stream = source.open_raw();
    std::vector<std::byte> chunk(1 << 17);
    while (const std::size_t n = stream->read(chunk)) {
      for (std::size_t done = 0; done < n;) {
        const ssize_t wrote = ::write(fd_, chunk.data() + done, n - done);
        if (wrote > 0) {
          done += static_cast<std::size_t>(wrote);
          continue;
        }
        if (wrote < 0 && errno == EINTR) continue;
        const int why = errno;
        close(fd_);
        throw DatasetError("{}: cannot be unpacked into {}: {}; set TMPDIR to a folder with room",
                           source.name(), folder.string(), std::strerror(why));
      }
    }
  }
  ~Spooled() { close(fd_); }
  Spooled(const Spooled&) = delete;
  Spooled& operator=(const Spooled&) = delete;
  fs::path path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_ = -1;
};

// The archive, which may itself lie in a .zip or .tar.gz (DGL and GraphSAINT pack their graphs so).
class Npz {
 public:
  explicit Npz(const ImportJob& job) : name_(job.source.name()), path_(job.source.path) {
    if (!job.source.member.empty()) {
      spooled_ = std::make_unique<Spooled>(job.source);
      path_ = spooled_->path();
    }
    const MappedFile file(path_);
    for (const ArchiveMember& member : read_archive(file.bytes(), name_)) members_[member.name] = member;
  }

  const std::string& name() const { return name_; }
  bool has(const char* member) const { return members_.contains(member); }
  NpyReader open(const char* wanted) const {
    const auto found = members_.find(wanted);
    if (found == members_.end())
      throw DatasetError("{}: expected a SciPy archive of a sparse matrix, but there is no {}", name_,
                         wanted);
    const ArchiveMember& member = found->second;
    const std::string name = name_ + ":" + wanted;
    auto raw = stream_of_range(path_, member.data_offset, member.stored_bytes);
    auto stream = member.deflated ? inflate_raw(std::move(raw), name, member.bytes, member.crc)
                                  : with_crc(std::move(raw), name, member.crc);
    return {std::move(stream), member.bytes, name};
  }

 private:
  std::string name_;
  fs::path path_;
  std::unique_ptr<Spooled> spooled_;
  std::map<std::string, ArchiveMember> members_;
};

std::string layout_of(const Npz& npz) {
  if (!npz.has("format.npy")) return npz.has("row.npy") ? "coo" : "csr";
  NpyReader reader = npz.open("format.npy");
  return reader.word();
}

struct Shape {
  std::int64_t rows = 0, cols = 0;
};

Shape shape_of(const Npz& npz) {
  NpyReader reader = npz.open("shape.npy");
  if (reader.count() != 2) throw DatasetError("{}: shape.npy does not hold two numbers", npz.name());
  std::int64_t numbers[2];
  reader.whole(numbers);
  reader.finish();
  if (numbers[0] < 0 || numbers[1] < 0 || numbers[0] >= INT32_MAX || numbers[1] >= INT32_MAX) {
    throw DatasetError("{}: a shape of {} x {} does not fit 32-bit indices", npz.name(), numbers[0],
                       numbers[1]);
  }
  return {numbers[0], numbers[1]};
}

// Calls take(i, number) for every number of an index array.
template <typename Take>
void each_index(NpyReader reader, Take take_one) {
  std::array<std::int64_t, kNpzChunk> chunk;
  for (std::int64_t at = 0, count = reader.count(); at < count;) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(count - at, kNpzChunk));
    reader.whole(std::span(chunk).first(size));
    for (std::size_t i = 0; i < size; ++i) take_one(at + static_cast<std::int64_t>(i), chunk[i]);
    at += static_cast<std::int64_t>(size);
  }
  reader.finish();
}

void check_value(const Npz& npz, std::int64_t entry, float value) {
  if (!std::isfinite(value))
    throw DatasetError("{}: entry {}: expected a finite value, got {}", npz.name(), entry, value);
}

void check_index(const Npz& npz, const char* what, std::int64_t entry, std::int64_t index,
                 std::int64_t bound) {
  if (index < 0 || index >= bound)
    throw DatasetError("{}: entry {}: {} {} is outside 0 .. {}", npz.name(), entry, what, index, bound - 1);
}

// Offsets of `lines` rows or columns, checked; as many entries as `nnz`.
std::vector<int> read_offsets(const Npz& npz, std::int64_t lines, std::int64_t nnz) {
  NpyReader reader = npz.open("indptr.npy");
  if (reader.count() != lines + 1)
    throw DatasetError("{}: expected {} offsets, got {}", npz.name(), lines + 1, reader.count());
  std::vector<int> offsets;
  offsets.reserve(static_cast<std::size_t>(lines) + 1);
  each_index(std::move(reader), [&](std::int64_t i, std::int64_t offset) {
    const std::int64_t before = i == 0 ? 0 : offsets.back();
    if (offset < before || offset > nnz || (i == 0 && offset != 0))
      throw DatasetError("{}: offset {}: expected {} to {}, got {}", npz.name(), i, before, i == 0 ? 0 : nnz,
                         offset);
    offsets.push_back(static_cast<int>(offset));
  });
  if (offsets.back() != nnz)
    throw DatasetError("{}: offsets run from 0 to {}, expected 0 to {}", npz.name(), offsets.back(), nnz);
  return offsets;
}

std::int64_t entries_of(const Npz& npz, const char* indices) {
  const std::int64_t nnz = npz.open(indices).count(), values = npz.open("data.npy").count();
  if (nnz != values) throw DatasetError("{}: {} indices and {} values", npz.name(), nnz, values);
  if (nnz > kMostEntries) throw DatasetError("{}: {} entries do not fit 32-bit offsets", npz.name(), nnz);
  return nnz;
}

Csr read_csr(const Npz& npz, const ImportJob& job) {
  const Shape shape = shape_of(npz);
  const std::int64_t nnz = entries_of(npz, "indices.npy");
  Csr matrix;
  matrix.rows = static_cast<int>(shape.rows);
  matrix.cols = static_cast<int>(shape.cols);
  matrix.row_offsets = read_offsets(npz, shape.rows, nnz);
  matrix.columns.reserve(static_cast<std::size_t>(nnz));
  each_index(npz.open("indices.npy"), [&](std::int64_t i, std::int64_t col) {
    check_index(npz, "column", i, col, shape.cols);
    matrix.columns.push_back(static_cast<int>(col));
    if (job.progress && i % (1 << 20) == 0)
      job.progress(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(2 * nnz));
  });
  matrix.values.resize(static_cast<std::size_t>(nnz));
  NpyReader values = npz.open("data.npy");
  for (std::int64_t at = 0; at < nnz; at += kNpzChunk) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(nnz - at, kNpzChunk));
    const auto chunk = std::span(matrix.values).subspan(static_cast<std::size_t>(at), size);
    values.real(chunk);
    for (std::size_t i = 0; i < size; ++i) check_value(npz, at + static_cast<std::int64_t>(i), chunk[i]);
    if (job.progress && at % (1 << 20) == 0)
      job.progress(static_cast<std::uint64_t>(nnz + at), static_cast<std::uint64_t>(2 * nnz));
  }
  values.finish();
  tidy_rows(matrix, Duplicates::kKeepAll);
  job.report->lines = nnz;
  return matrix;
}

// Three streams in step: calls take(i, first, second, value).
template <typename Take>
void each_triple(const Npz& npz, const char* first, const char* second, Take take_one) {
  NpyReader a = npz.open(first), b = npz.open(second), c = npz.open("data.npy");
  std::vector<std::int64_t> left(kNpzChunk), right(kNpzChunk);
  std::vector<float> values(kNpzChunk);
  for (std::int64_t at = 0, count = a.count(); at < count;) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(count - at, kNpzChunk));
    a.whole(std::span(left).first(size));
    b.whole(std::span(right).first(size));
    c.real(std::span(values).first(size));
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t entry = at + static_cast<std::int64_t>(i);
      check_value(npz, entry, values[i]);
      take_one(entry, left[i], right[i], values[i]);
    }
    at += static_cast<std::int64_t>(size);
  }
  a.finish();
  b.finish();
  c.finish();
}

Csr read_coo(const Npz& npz, const ImportJob& job) {
  const Shape shape = shape_of(npz);
  const std::int64_t nnz = entries_of(npz, "row.npy");
  if (npz.open("col.npy").count() != nnz)
    throw DatasetError("{}: {} rows and {} columns", npz.name(), nnz, npz.open("col.npy").count());
  CsrBuilder builder(npz.name());
  builder.drop_self_edges = job.options.drop_self_edges;
  for (const bool placing : {false, true}) {
    if (placing) builder.begin_placing(shape.rows, shape.cols);
    const Progress progress = half_of(job.progress, placing ? 1 : 0);
    each_triple(npz, "row.npy", "col.npy",
                [&](std::int64_t i, std::int64_t row, std::int64_t col, float value) {
                  check_index(npz, "row", i, row, shape.rows);
                  check_index(npz, "column", i, col, shape.cols);
                  builder.add(row, col, value);
                  if (progress && i % (1 << 20) == 0)
                    progress(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(nnz));
                });
  }
  job.report->lines = nnz;
  return builder.finish(job.report);
}

Csr read_csc(const Npz& npz, const ImportJob& job) {
  const Shape shape = shape_of(npz);
  const std::int64_t nnz = entries_of(npz, "indices.npy");
  const std::vector<int> offsets = read_offsets(npz, shape.cols, nnz);
  CsrBuilder builder(npz.name());
  builder.drop_self_edges = job.options.drop_self_edges;
  for (const bool placing : {false, true}) {
    if (placing) builder.begin_placing(shape.rows, shape.cols);
    NpyReader indices = npz.open("indices.npy"), data = npz.open("data.npy");
    std::vector<std::int64_t> rows(kNpzChunk);
    std::vector<float> values(kNpzChunk);
    std::size_t col = 0;
    for (std::int64_t at = 0; at < nnz; at += kNpzChunk) {
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(nnz - at, kNpzChunk));
      indices.whole(std::span(rows).first(size));
      data.real(std::span(values).first(size));
      for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t entry = at + static_cast<std::int64_t>(i);
        while (offsets[col + 1] <= entry) ++col;
        check_index(npz, "row", entry, rows[i], shape.rows);
        check_value(npz, entry, values[i]);
        builder.add(rows[i], static_cast<std::int64_t>(col), values[i]);
      }
    }
    indices.finish();
    data.finish();
  }
  job.report->lines = nnz;
  return builder.finish(job.report);
}

}  // namespace

Csr import_npz(const ImportJob& job) {
  const Npz npz(job);
  const std::string layout = layout_of(npz);
  if (layout == "coo") return read_coo(npz, job);
  if (layout == "csc") return read_csc(npz, job);
  if (layout == "csr") return read_csr(npz, job);
  throw DatasetError("{}: expected a matrix in CSR, COO or CSC, got '{}'; save it with .tocsr()", npz.name(),
                     layout);
}

}  // namespace warpgrade::datasets
