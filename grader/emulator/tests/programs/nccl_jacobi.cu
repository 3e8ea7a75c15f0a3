// Jacobi's iteration over the rows of a plate that the devices share, as NVIDIA's multi-gpu-programming-models has it:
// the rows at the edges go to the neighbours after each step, by NCCL or by copies between devices. The result is that
// of one device, bit for bit. Arguments: nccl or peer, and perhaps `wrong`: then nothing orders the step and the exchange.
#if __has_include(<nccl.h>)
#include <nccl.h>
#else
#include "../../libraries/nccl/nccl_api.h"
#endif

#include "check.h"

constexpr int kWidth = 70, kRows = 48, kSteps = 12;
constexpr size_t kRow = kWidth * sizeof(float);

__global__ void step(float* to, const float* from, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  if (x == 0 || x >= kWidth - 1 || y > rows) return;
  const float* at = from + y * kWidth + x;
  to[y * kWidth + x] = 0.25f * (at[-1] + at[1] + at[-kWidth] + at[kWidth]);  // STEP step
}

std::vector<float> plate() {
  std::vector<float> all((kRows + 2) * kWidth);
  for (size_t k = 0; k < all.size(); ++k)
    all[k] = static_cast<float>(bits_of(static_cast<int>(k), 3) % 1000) / 10;
  return all;
}

// The part of a device, with a row of each neighbour's at its edges.
struct Part {
  int first = 0, rows = 0;
  float *now = nullptr, *next = nullptr;
  cudaStream_t stream = nullptr, exchange = nullptr;
  cudaEvent_t stepped = nullptr, exchanged = nullptr;
  ncclComm_t comm = nullptr;
};

dim3 blocks(int rows) {
  return dim3((kWidth + 31) / 32, static_cast<unsigned>(rows));
}

std::vector<float> on_one_device() {
  std::vector<float> all = plate();
  float *now, *next;
  const size_t bytes = all.size() * sizeof(float);
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaMalloc(&now, bytes));
  CHECK_CUDA(cudaMalloc(&next, bytes));
  CHECK_CUDA(cudaMemcpy(now, all.data(), bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(next, all.data(), bytes, cudaMemcpyHostToDevice));
  for (int s = 0; s < kSteps; ++s) {
    step<<<blocks(kRows), 32>>>(next, now, kRows);
    std::swap(now, next);
  }
  CHECK_CUDA(cudaMemcpy(all.data(), now, bytes, cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(now));
  CHECK_CUDA(cudaFree(next));
  return all;
}

void exchange_by_nccl(std::vector<Part>& parts) {
  const int n = static_cast<int>(parts.size());
  ncclGroupStart();
  for (int d = 0; d < n; ++d) {
    Part& p = parts[d];
    if (d > 0) {
      ncclSend(p.next + kWidth, kWidth, ncclFloat, d - 1, p.comm, p.exchange);
      ncclRecv(p.next, kWidth, ncclFloat, d - 1, p.comm, p.exchange);
    }
    if (d + 1 < n) {
      ncclSend(p.next + p.rows * kWidth, kWidth, ncclFloat, d + 1, p.comm, p.exchange);  // EXCHANGE nccl
      ncclRecv(p.next + (p.rows + 1) * kWidth, kWidth, ncclFloat, d + 1, p.comm, p.exchange);
    }
  }
  if (ncclGroupEnd() != ncclSuccess) std::exit(101);
}

void exchange_by_copies(std::vector<Part>& parts) {
  const int n = static_cast<int>(parts.size());
  for (int d = 0; d < n; ++d) {
    Part& p = parts[d];
    CHECK_CUDA(cudaSetDevice(d));
    if (d > 0) {
      Part& up = parts[d - 1];
      float* const halo = up.next + (up.rows + 1) * kWidth;
      CHECK_CUDA(cudaMemcpyPeerAsync(halo, d - 1, p.next + kWidth, d, kRow, p.exchange));  // EXCHANGE peer
    }
    if (d + 1 < n)
      CHECK_CUDA(cudaMemcpyPeerAsync(parts[d + 1].next, d + 1, p.next + p.rows * kWidth, d,
                                     kWidth * sizeof(float), p.exchange));
  }
}

int main(int argc, char** argv) {
  const bool by_nccl = argc > 1 && !std::strcmp(argv[1], "nccl"), wrong = argc > 2;
  int n = 0;
  CHECK_CUDA(cudaGetDeviceCount(&n));
  const std::vector<float> start = plate(), want = on_one_device();
  std::vector<Part> parts(static_cast<size_t>(n));
  std::vector<ncclComm_t> comms(static_cast<size_t>(n));
  if (ncclCommInitAll(comms.data(), n, nullptr) != ncclSuccess) return 102;
  for (int d = 0; d < n; ++d) {
    Part& p = parts[d];
    p.comm = comms[d];
    p.first = kRows * d / n;
    p.rows = kRows * (d + 1) / n - p.first;
    const size_t bytes = static_cast<size_t>(p.rows + 2) * kWidth * sizeof(float);
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaMalloc(&p.now, bytes));
    CHECK_CUDA(cudaMalloc(&p.next, bytes));
    for (float* to : {p.now, p.next})
      CHECK_CUDA(cudaMemcpy(to, &start[p.first * kWidth], bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&p.exchange, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&p.stepped));
    CHECK_CUDA(cudaEventCreate(&p.exchanged));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  for (int s = 0; s < kSteps; ++s) {
    for (int d = 0; d < n; ++d) {
      Part& p = parts[d];
      CHECK_CUDA(cudaSetDevice(d));
      step<<<blocks(p.rows), 32, 0, p.stream>>>(p.next, p.now, p.rows);  // LAUNCH step
      CHECK_CUDA(cudaEventRecord(p.stepped, p.stream));
    }
    // Copies write the neighbours' rows: they wait for the neighbours' step as well.
    for (int d = 0; d < n && !wrong; ++d) {
      for (int other = std::max(d - 1, 0); other <= std::min(d + 1, n - 1); ++other)
        CHECK_CUDA(cudaStreamWaitEvent(parts[d].exchange, parts[other].stepped, 0));
    }
    by_nccl ? exchange_by_nccl(parts) : exchange_by_copies(parts);
    for (int d = 0; d < n; ++d) {
      CHECK_CUDA(cudaSetDevice(d));
      CHECK_CUDA(cudaEventRecord(parts[d].exchanged, parts[d].exchange));
    }
    for (int d = 0; d < n && !wrong; ++d) {
      for (int other = std::max(d - 1, 0); other <= std::min(d + 1, n - 1); ++other)
        CHECK_CUDA(cudaStreamWaitEvent(parts[d].stream, parts[other].exchanged, 0));
    }
    for (Part& p : parts) std::swap(p.now, p.next);
  }
  std::vector<float> got = start;
  for (int d = 0; d < n; ++d) {
    Part& p = parts[d];
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(&got[(p.first + 1) * kWidth], p.now + kWidth, p.rows * kWidth * sizeof(float),
                          cudaMemcpyDeviceToHost));
  }
  expect(std::memcmp(&got[kWidth], &want[kWidth], kRows * kWidth * sizeof(float)) == 0,
         "the plate of several devices");
  for (int d = 0; d < n; ++d) {
    Part& p = parts[d];
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaFree(p.now));
    CHECK_CUDA(cudaFree(p.next));
    ncclCommDestroy(p.comm);
  }
  return g_failures;
}
