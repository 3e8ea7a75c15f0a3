// How warps move matrices of 8 x 8 halves: ldmatrix, movmatrix and, with an argument, stmatrix (sm_90).
#include "check.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define ON_SM_90(...) __VA_ARGS__
#else
#define ON_SM_90(...)
#endif

__global__ void matrix_loads(uint32_t* plain, uint32_t* transposed, uint32_t* single, uint32_t* moved) {
  __shared__ __align__(16) uint16_t tile[32][8];
  const int lane = int(threadIdx.x);
  for (int j = 0; j < 8; ++j) tile[lane][j] = uint16_t(lane * 8 + j);
  __syncwarp();
  const auto address = uint32_t(__cvta_generic_to_shared(tile[lane]));
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  for (int k = 0; k < 4; ++k) plain[k * 32 + lane] = r[k];
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[3]) : "r"(r[1]));
  moved[lane] = r[3];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address));
  for (int k = 0; k < 2; ++k) transposed[k * 32 + lane] = r[k];
  // Lanes 8 to 31 need no address.
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(lane < 8 ? address : 0u));
  single[lane] = r[0];
}

__global__ void matrix_stores(uint16_t* out) {
  __shared__ __align__(16) uint16_t tile[16][8];
  const auto lane = uint32_t(threadIdx.x);
  const auto address = uint32_t(__cvta_generic_to_shared(tile[lane % 16]));
  for (int transposed = 0; transposed < 2; ++transposed) {
    [[maybe_unused]] const uint32_t low = lane * 2 | (lane * 2 + 1) << 16, high = low + 0x00400040;
    if (transposed) {
      ON_SM_90(asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(address),
                            "r"(low), "r"(high)
                            : "memory");)
    } else {
      ON_SM_90(asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(address),
                            "r"(low), "r"(high)
                            : "memory");)
    }
    __syncwarp();
    for (int j = 0; j < 4; ++j) out[transposed * 128 + int(lane) * 4 + j] = tile[lane / 2][lane % 2 * 4 + j];
    __syncwarp();
  }
}

void check_matrix_loads() {
  Managed<uint32_t> plain(128), transposed(64), single(32), moved(32);
  matrix_loads<<<1, 32>>>(plain.data, transposed.data, single.data, moved.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t first = k * 64 + g * 8 + 2 * t;
      expect(plain[k * 32 + lane] == (first | (first + 1) << 16), "ldmatrix.x4");
    }
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t first = k * 64 + 2 * t * 8 + g;
      expect(transposed[k * 32 + lane] == (first | (first + 8) << 16), "ldmatrix.x2.trans");
    }
    expect(single[lane] == plain[lane], "ldmatrix.x1");
    expect(moved[lane] == transposed[32 + lane], "movmatrix");
  }
}

void check_matrix_stores() {
  Managed<uint16_t> out(256);
  matrix_stores<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int e = 0; e < 128; ++e) {
    const int matrix = e / 64, row = e / 8 % 8, column = e % 8;
    expect(out[e] == e, "stmatrix.x2");
    expect(out[128 + e] == matrix * 64 + column * 8 + row, "stmatrix.x2.trans");
  }
}

int main(int argc, char**) {
  check_matrix_loads();
  if (argc > 1) check_matrix_stores();
  return g_failures;
}
