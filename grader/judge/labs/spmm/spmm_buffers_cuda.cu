// The buffers on a GPU: shared buffers are VMM allocations, inputs are drawn and results checked by
// kernels of the judge's own context, so that inputs and outputs of gigabytes are fresh and verified in
// every repetition.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "judge/judging/buffer_kernels.cuh"
#include "judge/judging/cuda_memory.h"
#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// Filled by the checking kernels.
struct Findings {
  unsigned long long bad_cells, outliers, not_exact, exact_cells, never_written, listed;
  double max_error_over_bound;
  Mismatch first[16];
  unsigned long long counts[kLengthGroups];  // errors by row length, and the sums of their squares
  double squares[kLengthGroups];
};

// A block's share of the errors by row length.
struct BlockErrors {
  unsigned long long counts[kLengthGroups];
  double squares[kLengthGroups];

  // All threads of the block.
  __device__ void clear() {
    for (int g = threadIdx.x; g < kLengthGroups; g += blockDim.x) {
      counts[g] = 0;
      squares[g] = 0;
    }
    __syncthreads();
  }
  __device__ void add(int row_nnz, unsigned count, double sum_of_squares) {
    const int g = length_group(static_cast<std::uint32_t>(row_nnz));
    atomicAdd(&counts[g], static_cast<unsigned long long>(count));
    atomicAdd(&squares[g], sum_of_squares);
  }
  // All threads of the block.
  __device__ void add_to(Findings* findings) const {
    __syncthreads();
    for (int g = threadIdx.x; g < kLengthGroups; g += blockDim.x) {
      if (counts[g] == 0) continue;
      atomicAdd(&findings->counts[g], counts[g]);
      atomicAdd(&findings->squares[g], squares[g]);
    }
  }
};

template <typename T>
__device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  return value;
}

// Non-negative doubles compare like their bits.
__device__ void atomic_max(double* address, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(address), __double_as_longlong(value));
}

__global__ void fill_a_kernel(float* values, const int* columns, std::size_t count, std::uint64_t seed) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t e = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; e < count; e += stride)
    values[e] = a_value(seed, static_cast<std::int64_t>(e), columns[e]);
}

// A warp a row of B.
__global__ void fill_b_kernel(float* cells, int n, DenseValues values) {
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  for (std::int64_t row = warp; row < n; row += std::int64_t(gridDim.x) * kWarps) {
    for (std::int64_t col = threadIdx.x % 32; col < values.k; col += 32)
      cells[row * values.k + col] = values.at(row, col);
  }
}

__global__ void differs_from_random_kernel(const float* shared, int n, DenseValues values,
                                           unsigned* differs) {
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  for (std::int64_t row = warp; row < n; row += std::int64_t(gridDim.x) * kWarps) {
    for (std::int64_t col = threadIdx.x % 32; col < values.k; col += 32) {
      if (__float_as_uint(shared[row * values.k + col]) != __float_as_uint(values.at(row, col))) *differs = 1;
    }
  }
}

__device__ void note_bad_cell(Findings* findings, const Mismatch& cell, bool outlier, bool exact) {
  atomicAdd(outlier ? &findings->outliers : &findings->bad_cells, 1ull);
  if (exact) atomicAdd(&findings->not_exact, 1ull);
  if (__float_as_uint(cell.got) == kPoison) atomicAdd(&findings->never_written, 1ull);
  const unsigned long long slot = atomicAdd(&findings->listed, 1ull);
  if (slot < 16) findings->first[slot] = cell;
}

// The oracle's twin on the GPU: a warp a row, a lane a column, fp64. B is drawn anew, not read from shared
// memory. `chosen` lists the columns that are checked, or is nullptr: all. Work: nnz * column_count draws
// and fused multiply-adds.
__global__ void check_cells_kernel(int rows, const int* chosen, int column_count, const int* row_offsets,
                                   const int* columns, const float* values, DenseValues b, const float* c,
                                   Findings* findings, std::uint8_t* bad_rows, std::uint8_t* bad_cols) {
  __shared__ BlockErrors block_errors;
  block_errors.clear();
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  double worst = 0;
  unsigned exact_cells = 0;
  for (std::int64_t row = warp; row < rows; row += std::int64_t(gridDim.x) * kWarps) {
    const int begin = row_offsets[row], end = row_offsets[row + 1];
    unsigned count = 0;
    double squares = 0;
    for (int i = lane; i < column_count; i += 32) {
      const int col = chosen != nullptr ? chosen[i] : i;
      double want = 0, abs_sum = 0;
      for (int e = begin; e < end; ++e) {
        const double product = double(values[e]) * b.at(columns[e], col);
        want += product;
        abs_sum += fabs(product);
      }
      const float got = c[row * b.k + col];
      const bool exact = is_exact_cell(b.kinds[col], abs_sum);
      const double bound = exact ? 0 : cell_bound(abs_sum), error = fabs(got - want);
      const bool accepted = isfinite(got) && error <= bound;
      const bool outlier = !accepted && isfinite(got) && error <= kOutlierFactor * bound;
      exact_cells += exact ? 1 : 0;
      if (accepted || outlier) {
        if (bound > 0) worst = fmax(worst, error / bound);
        if (b.kinds[col] == kDense && abs_sum > 0) {
          const double over = error / (kUnitRoundoff * abs_sum);
          ++count;
          squares += over * over;
        }
      }
      if (accepted) continue;
      bad_rows[row] = bad_cols[col] = 1;
      note_bad_cell(findings, {row, col, want, got}, outlier, exact);
    }
    __syncwarp();
    squares = warp_sum(squares);
    count = warp_sum(count);
    if (lane == 0 && count > 0) block_errors.add(end - begin, count, squares);
  }
  if (worst > 0) atomic_max(&findings->max_error_over_bound, worst);
  exact_cells = warp_sum(exact_cells);
  if (lane == 0 && exact_cells > 0)
    atomicAdd(&findings->exact_cells, static_cast<unsigned long long>(exact_cells));
  block_errors.add_to(findings);
}

// z = B * x, a warp a row of B.
__global__ void product_b_kernel(int n, DenseValues b, const double* x, double* z) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  for (std::int64_t row = warp; row < n; row += std::int64_t(gridDim.x) * kWarps) {
    double sum = 0;
    for (std::int64_t col = lane; col < b.k; col += 32) sum += double(b.at(row, col)) * x[col];
    sum = warp_sum(sum);
    if (lane == 0) z[row] = sum;
  }
}

// Accepts row i when |C_i x - A_i z| is within its bound; x is scaled so that |x| = sqrt(k).
__global__ void check_product_kernel(int rows, int k, const int* row_offsets, const int* columns,
                                     const float* values, const float* c, const double* x, const double* z,
                                     Findings* findings, std::uint8_t* bad_rows) {
  __shared__ BlockErrors block_errors;
  block_errors.clear();
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  double worst = 0;
  for (std::int64_t row = warp; row < rows; row += std::int64_t(gridDim.x) * kWarps) {
    double got = 0, want = 0, abs_row = 0;
    for (int col = lane; col < k; col += 32) got += double(c[row * k + col]) * x[col];
    const int begin = row_offsets[row], end = row_offsets[row + 1];
    for (int e = begin + lane; e < end; e += 32) {
      want += double(values[e]) * z[columns[e]];
      abs_row += fabs(double(values[e]));
    }
    got = warp_sum(got);
    want = warp_sum(want);
    abs_row = warp_sum(abs_row);
    if (lane != 0) continue;
    const double scale = product_scale(abs_row, k), bound = cell_bound(scale);
    const double error = fabs(got - want);
    if (isfinite(got) && error <= bound) {
      if (bound > 0) {
        const double over = error / (kUnitRoundoff * scale);
        worst = fmax(worst, error / bound);
        block_errors.add(end - begin, 1, over * over);
      }
      continue;
    }
    atomicAdd(&findings->bad_cells, 1ull);
    bad_rows[row] = 1;
  }
  if (worst > 0) atomic_max(&findings->max_error_over_bound, worst);
  block_errors.add_to(findings);
}

// A's structure in the judge's own device memory, which is never exported: read-only once it is made.
struct DeviceStructure {
  DeviceArray<int> row_offsets, columns;
  std::int64_t longest_row = 0;

  explicit DeviceStructure(const Structure& a)
      : row_offsets(a.row_offsets.size()), columns(a.columns.size()) {
    for (int row = 0; row < a.rows; ++row)
      longest_row = std::max<std::int64_t>(longest_row, a.row_offsets[row + 1] - a.row_offsets[row]);
    WARPGRADE_CUDA(
        cudaMemcpy(row_offsets.get(), a.row_offsets.data(), a.row_offsets.size_bytes(), cudaMemcpyDefault));
    WARPGRADE_CUDA(cudaMemcpy(columns.get(), a.columns.data(), a.columns.size_bytes(), cudaMemcpyDefault));
  }
  std::size_t bytes() const { return (row_offsets.size() + columns.size()) * sizeof(int); }
  bool fits(const Structure& a) const {
    return row_offsets.size() == a.row_offsets.size() && columns.size() == a.columns.size();
  }
};

class CudaSpmmBuffers : public SpmmBuffers {
 public:
  explicit CudaSpmmBuffers(KeptData& kept) : kept_(kept) {
    WARPGRADE_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    WARPGRADE_CUDA(cudaFree(nullptr));
    device_ = describe_cuda_device();
    blocks_ = device_.at("sm_count").get<int>() * 8;
    flags_ = DeviceArray<unsigned>(16);
    findings_ = DeviceArray<Findings>(1);
  }

  nlohmann::json describe() override { return device_; }

  void load(const Structure& a, int k) override {
    a_ = a;
    k_ = k;
    const std::size_t nnz = a.columns.size();
    const auto make = [](const char* name, std::size_t bytes) {
      return std::make_unique<SharedDeviceMemory>(name, bytes);
    };
    row_offsets_ = make("A.row_offsets", a.row_offsets.size_bytes());
    columns_ = make("A.columns", nnz * sizeof(int));
    values_ = make("A.values", nnz * sizeof(float));
    b_ = make("B", std::size_t(a.cols) * k * sizeof(float));
    c_ = make("C", std::size_t(a.rows) * k * sizeof(float));
    structure_ = structure_of(a);
    private_values_ = DeviceArray<float>(nnz);
    private_c_ = DeviceArray<float>(std::size_t(a.rows) * k);
    z_ = DeviceArray<double>(a.cols);
    x_ = DeviceArray<double>(k);
    kinds_ = DeviceArray<ColumnKind>(k);
    sparse_columns_ = DeviceArray<int>(k);
    bad_rows_ = DeviceArray<std::uint8_t>(a.rows);
    bad_cols_ = DeviceArray<std::uint8_t>(k);
    // From here on every buffer has known contents and whole guards.
    refresh_a(0);
    refresh_b(0);
    poison();
  }

  std::vector<SharedBuffer> input_buffers() override {
    return {row_offsets_->buffer(), columns_->buffer(), values_->buffer(), b_->buffer()};
  }
  SharedBuffer output_buffer() override { return c_->buffer(); }

  void refresh_a(std::uint64_t seed) override {
    a_seed_ = seed;
    fill_a_kernel<<<blocks_, kThreads>>>(private_values_.get(), structure_->columns.get(),
                                         private_values_.size(), seed);
    copy(row_offsets_->payload<int>(), structure_->row_offsets);
    copy(columns_->payload<int>(), structure_->columns);
    copy(values_->payload<float>(), private_values_);
    for (auto* memory : {row_offsets_.get(), columns_.get(), values_.get()}) guards(*memory, nullptr);
    synchronize();
  }

  void refresh_b(std::uint64_t seed) override {
    const std::vector<ColumnKind> kinds = draw_column_kinds(seed, k_, structure_->longest_row);
    std::vector<int> sparse;
    for (int col = 0; col < k_; ++col) {
      if (kinds[col] != kDense) sparse.push_back(col);
    }
    sparse_count_ = static_cast<int>(sparse.size());
    WARPGRADE_CUDA(cudaMemcpy(kinds_.get(), kinds.data(), kinds.size(), cudaMemcpyHostToDevice));
    if (!sparse.empty())
      WARPGRADE_CUDA(cudaMemcpy(sparse_columns_.get(), sparse.data(), sparse.size() * sizeof(int),
                                cudaMemcpyHostToDevice));
    b_values_ = {seed, a_seed_, k_, kinds_.get()};
    fill_b_kernel<<<blocks_, kThreads>>>(b_->payload<float>(), a_.cols, b_values_);
    guards(*b_, nullptr);
    synchronize();
  }

  void poison() override {
    const SharedDeviceMemory& c = *c_;
    fill_words_kernel<<<blocks_, kThreads>>>(c.payload<unsigned>(), c.count_of(sizeof(unsigned)), kPoison);
    guards(c, nullptr);
    synchronize();
  }

  void snapshot() override {
    const SharedDeviceMemory& c = *c_;
    WARPGRADE_CUDA(
        cudaMemcpyAsync(private_c_.get(), c.payload<float>(), c.buffer().bytes, cudaMemcpyDeviceToDevice));
    synchronize();
  }

  Integrity check_integrity() override {
    unsigned flags[16] = {};
    WARPGRADE_CUDA(cudaMemsetAsync(flags_.get(), 0, sizeof flags));
    const SharedDeviceMemory* guarded[] = {row_offsets_.get(), columns_.get(), values_.get(), b_.get(),
                                           c_.get()};
    for (std::size_t i = 0; i < std::size(guarded); ++i) guards(*guarded[i], flags_.get() + i);
    differs(*row_offsets_, structure_->row_offsets.get(), 8);
    differs(*columns_, structure_->columns.get(), 9);
    differs(*values_, private_values_.get(), 10);
    differs_from_random_kernel<<<blocks_, kThreads>>>(b_->payload<float>(), a_.cols, b_values_,
                                                      flags_.get() + 11);
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(flags, flags_.get(), sizeof flags, cudaMemcpyDeviceToHost));
    Integrity result;
    for (std::size_t i = 0; i < std::size(guarded); ++i) {
      if (flags[i] == 0) continue;
      result.damaged_guard = guarded[i]->buffer().name;
      result.guard_behind = (flags[i] & 2) != 0;
      break;
    }
    constexpr const char* kInputs[] = {"A.row_offsets", "A.columns", "A.values", "B"};
    for (int i = 0; i < 4; ++i) {
      if (flags[8 + i] != 0) result.modified_input = kInputs[i];
    }
    return result;
  }

  Check check_every_cell() override {
    Check check = check_cells(nullptr, k_);
    check.method = "fp64_every_cell";
    return check;
  }

  Check check_sparse_columns() override {
    if (sparse_count_ == 0) return check_every_cell();  // of a B of one or two columns
    Check check = check_cells(sparse_columns_.get(), sparse_count_);
    check.method = "fp64_sparse_columns";
    return check;
  }

  Check check_product(std::uint64_t seed) override {
    const std::vector<double> x = draw_x(seed, k_);
    WARPGRADE_CUDA(cudaMemcpy(x_.get(), x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
    clear_findings();
    product_b_kernel<<<blocks_, kThreads>>>(a_.cols, b_values_, x_.get(), z_.get());
    check_product_kernel<<<blocks_, kThreads>>>(
        a_.rows, k_, structure_->row_offsets.get(), structure_->columns.get(), private_values_.get(),
        private_c_.get(), x_.get(), z_.get(), findings_.get(), bad_rows_.get());
    Check check = read_findings(false, std::int64_t(a_.rows) * k_);
    check.method = "freivalds";
    return check;
  }

  std::optional<std::size_t> free_memory() override {
    std::size_t free = 0, total = 0;
    WARPGRADE_CUDA(cudaMemGetInfo(&free, &total));
    return free;
  }

 private:
  // Copying columns to the device costs more than all else before a large case's first run. What is kept is
  // little beside what a submission may use, and nothing where memory may run short.
  std::shared_ptr<const DeviceStructure> structure_of(const Structure& a) {
    constexpr std::size_t kShareOfMemory = 16;
    std::size_t free = 0, total = 0;
    WARPGRADE_CUDA(cudaMemGetInfo(&free, &total));
    if (free < total / 2) kept_.clear();
    auto found = kept_.find<DeviceStructure>(a.content);
    if (found && found->fits(a)) return found;
    found = std::make_shared<const DeviceStructure>(a);
    if (free >= total / 2) kept_.add(a.content, found, found->bytes(), total / kShareOfMemory);
    return found;
  }

  static void synchronize() {
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaDeviceSynchronize());
  }

  template <typename T>
  static void copy(T* destination, const DeviceArray<T>& source) {
    WARPGRADE_CUDA(
        cudaMemcpyAsync(destination, source.get(), source.size() * sizeof(T), cudaMemcpyDeviceToDevice));
  }

  // A granule of 2 MB is checked whole.
  static void guards(const SharedDeviceMemory& memory, unsigned* damaged) {
    const SharedBuffer& buffer = memory.buffer();
    guard_kernel<<<64, kThreads>>>(memory.base(), buffer.offset, buffer.offset + buffer.bytes,
                                   buffer.mapped_bytes, damaged);
  }

  template <typename T>
  void differs(const SharedDeviceMemory& shared, const T* kept, int flag) {
    differs_kernel<<<blocks_, kThreads>>>(shared.payload<unsigned>(), reinterpret_cast<const unsigned*>(kept),
                                          shared.count_of(sizeof(unsigned)), flags_.get() + flag);
  }

  Check check_cells(const int* chosen, int column_count) {
    clear_findings();
    check_cells_kernel<<<blocks_, kThreads>>>(a_.rows, chosen, column_count, structure_->row_offsets.get(),
                                              structure_->columns.get(), private_values_.get(), b_values_,
                                              private_c_.get(), findings_.get(), bad_rows_.get(),
                                              bad_cols_.get());
    return read_findings(true, std::int64_t(a_.rows) * column_count);
  }

  void clear_findings() {
    WARPGRADE_CUDA(cudaMemsetAsync(findings_.get(), 0, sizeof(Findings)));
    WARPGRADE_CUDA(cudaMemsetAsync(bad_rows_.get(), 0, bad_rows_.size()));
    WARPGRADE_CUDA(cudaMemsetAsync(bad_cols_.get(), 0, bad_cols_.size()));
  }

  Check read_findings(bool columns_known, std::int64_t cells_checked) {
    Findings findings;
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(&findings, findings_.get(), sizeof findings, cudaMemcpyDeviceToHost));
    Check check;
    check.bad_cells = static_cast<std::int64_t>(findings.bad_cells);
    check.cells_checked = cells_checked;
    check.outliers = static_cast<std::int64_t>(findings.outliers);
    check.not_exact = static_cast<std::int64_t>(findings.not_exact);
    check.exact_cells = static_cast<std::int64_t>(findings.exact_cells);
    check.never_written = static_cast<std::int64_t>(findings.never_written);
    for (int group = 0; group < kLengthGroups; ++group)
      check.lengths[group] = {static_cast<std::int64_t>(findings.counts[group]), findings.squares[group]};
    check.max_error_over_bound = findings.max_error_over_bound;
    settle(check);
    if (check.bad_cells == 0) return check;
    check.first.assign(findings.first, findings.first + std::min<unsigned long long>(findings.listed, 16));
    std::sort(check.first.begin(), check.first.end(), [](const Mismatch& a, const Mismatch& b) {
      return std::pair(a.row, a.col) < std::pair(b.row, b.col);
    });
    check.bad_rows.resize(a_.rows);
    WARPGRADE_CUDA(cudaMemcpy(check.bad_rows.data(), bad_rows_.get(), a_.rows, cudaMemcpyDeviceToHost));
    if (columns_known) {
      check.bad_cols.resize(k_);
      WARPGRADE_CUDA(cudaMemcpy(check.bad_cols.data(), bad_cols_.get(), k_, cudaMemcpyDeviceToHost));
    }
    return check;
  }

  KeptData& kept_;
  nlohmann::json device_;
  int blocks_ = 0;
  Structure a_;
  int k_ = 0;
  std::uint64_t a_seed_ = 0;
  int sparse_count_ = 0;
  DenseValues b_values_;
  std::unique_ptr<SharedDeviceMemory> row_offsets_, columns_, values_, b_, c_;
  std::shared_ptr<const DeviceStructure> structure_;
  DeviceArray<float> private_values_, private_c_;
  DeviceArray<double> z_, x_;
  DeviceArray<ColumnKind> kinds_;
  DeviceArray<int> sparse_columns_;
  DeviceArray<std::uint8_t> bad_rows_, bad_cols_;
  DeviceArray<unsigned> flags_;
  DeviceArray<Findings> findings_;
};

}  // namespace

std::unique_ptr<SpmmBuffers> make_cuda_spmm_buffers(KeptData& kept) {
  return std::make_unique<CudaSpmmBuffers>(kept);
}

}  // namespace warpgrade::spmm
