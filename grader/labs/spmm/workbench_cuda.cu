// The bench on a GPU: shared buffers are VMM allocations, inputs are drawn and results checked by kernels of
// the judge's own context, so that inputs and outputs of gigabytes are fresh and verified in every
// repetition.
#include <algorithm>
#include <cmath>
#include <random>

#include "judge/bench_kernels.cuh"
#include "judge/cuda_memory.h"
#include "labs/spmm/workbench.h"

namespace warpgrade::spmm {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// Filled by the checking kernels.
struct Findings {
  unsigned long long bad_cells, never_written, listed;
  double max_error_over_bound;
  Mismatch first[16];
};

__device__ double warp_sum(double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  return value;
}

// Non-negative doubles compare like their bits.
__device__ void atomic_max(double* address, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(address), __double_as_longlong(value));
}

__global__ void fill_kernel(float* cells, std::size_t count, Values values) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    cells[i] = random_value(values.distribution, values.seed, i);
  }
}

__global__ void differs_from_random_kernel(const float* shared, std::size_t count, Values values,
                                           unsigned* differs) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const float want = random_value(values.distribution, values.seed, i);
    if (__float_as_uint(shared[i]) != __float_as_uint(want)) *differs = 1;
  }
}

// The oracle's twin on the GPU: a warp a row, a lane a column, fp64. B is drawn anew, not read from shared
// memory. Work: nnz * k draws and fused multiply-adds.
__global__ void check_cells_kernel(int rows, int k, const int* row_offsets, const int* columns,
                                   const float* values, Values b, const float* c, bool exact,
                                   Findings* findings, std::uint8_t* bad_rows, std::uint8_t* bad_cols) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  double worst = 0;
  for (std::int64_t row = warp; row < rows; row += std::int64_t(gridDim.x) * kWarps) {
    const int begin = row_offsets[row], end = row_offsets[row + 1];
    for (int col = lane; col < k; col += 32) {
      double want = 0, abs_sum = 0;
      for (int e = begin; e < end; ++e) {
        const double product =
            double(values[e]) * random_value(b.distribution, b.seed, std::int64_t(columns[e]) * k + col);
        want += product;
        abs_sum += fabs(product);
      }
      const float got = c[row * k + col];
      const double bound = exact && end - begin <= kExactTerms ? 0 : cell_bound(end - begin, abs_sum);
      const double error = fabs(got - want);
      if (isfinite(got) && error <= bound) {
        if (bound > 0) worst = fmax(worst, error / bound);
        continue;
      }
      atomicAdd(&findings->bad_cells, 1ull);
      bad_rows[row] = bad_cols[col] = 1;
      if (__float_as_uint(got) == kPoison) atomicAdd(&findings->never_written, 1ull);
      const unsigned long long slot = atomicAdd(&findings->listed, 1ull);
      if (slot < 16) findings->first[slot] = {row, col, want, got};
    }
  }
  if (worst > 0) atomic_max(&findings->max_error_over_bound, worst);
}

// z = B * x, a warp a row of B.
__global__ void product_b_kernel(int n, int k, Values b, const double* x, double* z) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  for (std::int64_t row = warp; row < n; row += std::int64_t(gridDim.x) * kWarps) {
    double sum = 0;
    for (int col = lane; col < k; col += 32) {
      sum += double(random_value(b.distribution, b.seed, row * k + col)) * x[col];
    }
    sum = warp_sum(sum);
    if (lane == 0) z[row] = sum;
  }
}

// Accepts row i when |C_i x - A_i z| is within its bound; x is scaled so that |x| = sqrt(k).
__global__ void check_product_kernel(int rows, int k, const int* row_offsets, const int* columns,
                                     const float* values, const float* c, const double* x, const double* z,
                                     double max_b, Findings* findings, std::uint8_t* bad_rows) {
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
    const double bound = product_bound(end - begin, abs_row, max_b, k);
    const double error = fabs(got - want);
    if (isfinite(got) && error <= bound) {
      if (bound > 0) worst = fmax(worst, error / bound);
      continue;
    }
    atomicAdd(&findings->bad_cells, 1ull);
    bad_rows[row] = 1;
  }
  if (worst > 0) atomic_max(&findings->max_error_over_bound, worst);
}

double largest_value(Distribution distribution) {
  return distribution == Distribution::kOddInteger ? 8191 : 1;
}

class CudaWorkbench : public Workbench {
 public:
  CudaWorkbench() {
    WARPGRADE_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    WARPGRADE_CUDA(cudaFree(nullptr));
    device_ = describe_cuda_device();
    blocks_ = device_.at("sm_count").get<int>() * 8;
    flush_ = DeviceArray<unsigned>(2 * device_.at("l2_bytes").get<std::size_t>() / sizeof(unsigned));
    flags_ = DeviceArray<unsigned>(16);
    findings_ = DeviceArray<Findings>(1);
  }

  nlohmann::json describe() override { return device_; }

  void load(const Structure& a, int k, bool with_baseline_output) override {
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
    outputs_[0] = make("C", std::size_t(a.rows) * k * sizeof(float));
    if (with_baseline_output) outputs_[1] = make("C", std::size_t(a.rows) * k * sizeof(float));
    private_row_offsets_ = DeviceArray<int>(a.row_offsets.size());
    private_columns_ = DeviceArray<int>(nnz);
    private_values_ = DeviceArray<float>(nnz);
    private_c_ = DeviceArray<float>(std::size_t(a.rows) * k);
    z_ = DeviceArray<double>(a.cols);
    x_ = DeviceArray<double>(k);
    bad_rows_ = DeviceArray<std::uint8_t>(a.rows);
    bad_cols_ = DeviceArray<std::uint8_t>(k);
    WARPGRADE_CUDA(cudaMemcpy(private_row_offsets_.get(), a.row_offsets.data(), a.row_offsets.size_bytes(),
                              cudaMemcpyDefault));
    WARPGRADE_CUDA(
        cudaMemcpy(private_columns_.get(), a.columns.data(), a.columns.size_bytes(), cudaMemcpyDefault));
    // From here on every buffer has known contents and whole guards.
    refresh_a({});
    refresh_b({});
    poison(Output::kSubmission);
    if (with_baseline_output) poison(Output::kBaseline);
  }

  std::vector<SharedBuffer> input_buffers() override {
    return {row_offsets_->buffer(), columns_->buffer(), values_->buffer(), b_->buffer()};
  }
  SharedBuffer output_buffer(Output output) override { return outputs_[static_cast<int>(output)]->buffer(); }

  void refresh_a(Values values) override {
    fill_kernel<<<blocks_, kThreads>>>(private_values_.get(), private_values_.size(), values);
    copy(row_offsets_->payload<int>(), private_row_offsets_);
    copy(columns_->payload<int>(), private_columns_);
    copy(values_->payload<float>(), private_values_);
    for (auto* memory : {row_offsets_.get(), columns_.get(), values_.get()}) guards(*memory, nullptr);
    synchronize();
  }

  void refresh_b(Values values) override {
    b_values_ = values;
    fill_kernel<<<blocks_, kThreads>>>(b_->payload<float>(), b_->count_of(sizeof(float)), values);
    guards(*b_, nullptr);
    synchronize();
  }

  void poison(Output output) override {
    const SharedDeviceMemory& c = *outputs_[static_cast<int>(output)];
    fill_words_kernel<<<blocks_, kThreads>>>(c.payload<unsigned>(), c.count_of(sizeof(unsigned)), kPoison);
    guards(c, nullptr);
    synchronize();
  }

  // Write, then read: after a flush that only writes, the next kernel pays for the write-backs.
  void flush_caches() override {
    WARPGRADE_CUDA(cudaCtxResetPersistingL2Cache());
    flush_write_kernel<<<blocks_, kThreads>>>(flush_.get(), flush_.size(), ++flush_count_);
    flush_read_kernel<<<blocks_, kThreads>>>(flush_.get(), flush_.size(), flags_.get());
    synchronize();
  }

  void snapshot(Output output) override {
    const SharedDeviceMemory& c = *outputs_[static_cast<int>(output)];
    WARPGRADE_CUDA(
        cudaMemcpyAsync(private_c_.get(), c.payload<float>(), c.buffer().bytes, cudaMemcpyDeviceToDevice));
    synchronize();
  }

  Integrity check_integrity() override {
    unsigned flags[16] = {};
    WARPGRADE_CUDA(cudaMemsetAsync(flags_.get(), 0, sizeof flags));
    const SharedDeviceMemory* guarded[6] = {row_offsets_.get(), columns_.get(),    values_.get(),
                                            b_.get(),           outputs_[0].get(), outputs_[1].get()};
    for (int i = 0; i < 6; ++i) {
      if (guarded[i] != nullptr) guards(*guarded[i], flags_.get() + i);
    }
    differs(*row_offsets_, private_row_offsets_.get(), 8);
    differs(*columns_, private_columns_.get(), 9);
    differs(*values_, private_values_.get(), 10);
    differs_from_random_kernel<<<blocks_, kThreads>>>(b_->payload<float>(), b_->count_of(sizeof(float)),
                                                      b_values_, flags_.get() + 11);
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(flags, flags_.get(), sizeof flags, cudaMemcpyDeviceToHost));
    Integrity result;
    for (int i = 0; i < 6; ++i) {
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

  Check check_every_cell(bool exact) override {
    clear_findings();
    check_cells_kernel<<<blocks_, kThreads>>>(a_.rows, k_, private_row_offsets_.get(), private_columns_.get(),
                                              private_values_.get(), b_values_, private_c_.get(), exact,
                                              findings_.get(), bad_rows_.get(), bad_cols_.get());
    Check check = read_findings(true);
    check.method = exact ? "exact_every_cell" : "fp64_every_cell";
    check.cells_checked = std::int64_t(a_.rows) * k_;
    return check;
  }

  Check check_product(std::uint64_t seed) override {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> x(k_);
    double square = 0;
    for (double& value : x) square += (value = normal(generator)) * value;
    for (double& value : x) value *= std::sqrt(k_ / square);
    WARPGRADE_CUDA(cudaMemcpy(x_.get(), x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
    clear_findings();
    product_b_kernel<<<blocks_, kThreads>>>(a_.cols, k_, b_values_, x_.get(), z_.get());
    check_product_kernel<<<blocks_, kThreads>>>(
        a_.rows, k_, private_row_offsets_.get(), private_columns_.get(), private_values_.get(),
        private_c_.get(), x_.get(), z_.get(), largest_value(b_values_.distribution), findings_.get(),
        bad_rows_.get());
    Check check = read_findings(false);
    check.method = "freivalds";
    check.cells_checked = std::int64_t(a_.rows) * k_;
    return check;
  }

  std::optional<std::size_t> free_memory() override {
    std::size_t free = 0, total = 0;
    WARPGRADE_CUDA(cudaMemGetInfo(&free, &total));
    return free;
  }

 private:
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

  void clear_findings() {
    WARPGRADE_CUDA(cudaMemsetAsync(findings_.get(), 0, sizeof(Findings)));
    WARPGRADE_CUDA(cudaMemsetAsync(bad_rows_.get(), 0, bad_rows_.size()));
    WARPGRADE_CUDA(cudaMemsetAsync(bad_cols_.get(), 0, bad_cols_.size()));
  }

  Check read_findings(bool columns_known) {
    Findings findings;
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaMemcpy(&findings, findings_.get(), sizeof findings, cudaMemcpyDeviceToHost));
    Check check;
    check.bad_cells = static_cast<std::int64_t>(findings.bad_cells);
    check.never_written = static_cast<std::int64_t>(findings.never_written);
    check.max_error_over_bound = findings.max_error_over_bound;
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

  nlohmann::json device_;
  int blocks_ = 0;
  unsigned flush_count_ = 0;
  Structure a_;
  int k_ = 0;
  Values b_values_;
  std::unique_ptr<SharedDeviceMemory> row_offsets_, columns_, values_, b_, outputs_[2];
  DeviceArray<int> private_row_offsets_, private_columns_;
  DeviceArray<float> private_values_, private_c_;
  DeviceArray<double> z_, x_;
  DeviceArray<std::uint8_t> bad_rows_, bad_cols_;
  DeviceArray<unsigned> flush_, flags_;
  DeviceArray<Findings> findings_;
};

}  // namespace

std::unique_ptr<Workbench> make_cuda_workbench(int) {
  return std::make_unique<CudaWorkbench>();
}

}  // namespace warpgrade::spmm
