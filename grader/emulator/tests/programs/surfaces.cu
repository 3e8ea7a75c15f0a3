// Surface objects: each shape and width, what happens outside, and a picture that is computed in two
// launches. The same source runs on a GPU. With "trap", "destroyed", "freed", "misaligned" or "wrong_shape",
// makes that mistake and prints the error.
#include "check.h"

namespace {

cudaArray_t surface_array(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags = 0) {
  cudaArray_t array;
  CHECK_CUDA(cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore));
  return array;
}

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  return r;
}

cudaSurfaceObject_t surface_of(cudaArray_t array) {
  const cudaResourceDesc r = resource_of(array);
  cudaSurfaceObject_t object;
  CHECK_CUDA(cudaCreateSurfaceObject(&object, &r));
  return object;
}

constexpr int kWidth = 24, kHeight = 10, kDepth = 3;

template <class T>
__host__ __device__ T element(int x, int y, int z) {
  const uint64_t bits[2] = {bits_of(x + 100 * y, z + 1), bits_of(x + 100 * y, z + 31)};
  T value;
  memcpy(&value, bits, sizeof value);
  return value;
}

template <class T, class Write>
__global__ void write_all(Write write) {
  write(int(threadIdx.x), int(threadIdx.y), int(threadIdx.z),
        element<T>(threadIdx.x, threadIdx.y, threadIdx.z));
}
template <class T, class Read>
__global__ void read_all(Read read, unsigned* wrong) {
  const T got = read(int(threadIdx.x), int(threadIdx.y), int(threadIdx.z));
  const T want = element<T>(threadIdx.x, threadIdx.y, threadIdx.z);
  const auto *a = reinterpret_cast<const unsigned char*>(&got),
             *b = reinterpret_cast<const unsigned char*>(&want);
  for (int k = 0; k < int(sizeof(T)); ++k) {
    if (a[k] != b[k]) atomicAdd(wrong, 1u);
  }
}

// Writes all, reads all back in another launch.
template <class T, class Write, class Read>
void round_trip(const char* name, dim3 threads, Write write, Read read) {
  Managed<unsigned> wrong(1);
  write_all<T><<<1, threads>>>(write);
  read_all<T><<<1, threads>>>(read, wrong.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(wrong[0] == 0, name);
}

template <class T>
void widths(const char* name) {
  const cudaArray_t array = surface_array(cudaCreateChannelDesc<T>(), {kWidth, kHeight, 0});
  const cudaSurfaceObject_t s = surface_of(array);
  round_trip<T>(
      name, {kWidth, kHeight},
      [=] __device__(int x, int y, int, T v) { surf2Dwrite(v, s, x * int(sizeof(T)), y); },
      [=] __device__(int x, int y, int) { return surf2Dread<T>(s, x * int(sizeof(T)), y); });
  CHECK_CUDA(cudaDestroySurfaceObject(s));
  CHECK_CUDA(cudaFreeArray(array));
}

void shapes() {
  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  const cudaArray_t line = surface_array(f, {kWidth, 0, 0}),
                    volume = surface_array(f, {kWidth, kHeight, kDepth}),
                    lines = surface_array(f, {kWidth, 0, kDepth}, cudaArrayLayered),
                    planes = surface_array(f, {kWidth, kHeight, kDepth}, cudaArrayLayered),
                    cube = surface_array(f, {8, 8, 6}, cudaArrayCubemap);
  const cudaSurfaceObject_t a = surface_of(line), b = surface_of(volume), c = surface_of(lines),
                            d = surface_of(planes), e = surface_of(cube);
  round_trip<unsigned>(
      "surf1D", {kWidth}, [=] __device__(int x, int, int, unsigned v) { surf1Dwrite(v, a, x * 4); },
      [=] __device__(int x, int, int) { return surf1Dread<unsigned>(a, x * 4); });
  round_trip<unsigned>(
      "surf3D", {kWidth, kHeight, kDepth},
      [=] __device__(int x, int y, int z, unsigned v) { surf3Dwrite(v, b, x * 4, y, z); },
      [=] __device__(int x, int y, int z) { return surf3Dread<unsigned>(b, x * 4, y, z); });
  round_trip<unsigned>(
      "surf1DLayered", {kWidth, 1, kDepth},
      [=] __device__(int x, int, int z, unsigned v) { surf1DLayeredwrite(v, c, x * 4, z); },
      [=] __device__(int x, int, int z) { return surf1DLayeredread<unsigned>(c, x * 4, z); });
  round_trip<unsigned>(
      "surf2DLayered", {kWidth, kHeight, kDepth},
      [=] __device__(int x, int y, int z, unsigned v) { surf2DLayeredwrite(v, d, x * 4, y, z); },
      [=] __device__(int x, int y, int z) { return surf2DLayeredread<unsigned>(d, x * 4, y, z); });
  round_trip<unsigned>(
      "surfCubemap", {8, 8, 6},
      [=] __device__(int x, int y, int z, unsigned v) { surfCubemapwrite(v, e, x * 4, y, z); },
      [=] __device__(int x, int y, int z) { return surfCubemapread<unsigned>(e, x * 4, y, z); });
  for (const auto s : {a, b, c, d, e}) CHECK_CUDA(cudaDestroySurfaceObject(s));
  for (const auto array : {line, volume, lines, planes, cube}) CHECK_CUDA(cudaFreeArray(array));
}

__global__ void outside(cudaSurfaceObject_t s, int* out) {
  surf2Dwrite(7, s, 4 * 4, 1, cudaBoundaryModeZero);  // beyond the row: not written
  out[0] = surf2Dread<int>(s, 4 * 4, 1, cudaBoundaryModeZero);
  out[1] = surf2Dread<int>(s, 0, -1, cudaBoundaryModeZero);
  out[2] = surf2Dread<int>(s, 4 * 4, 1, cudaBoundaryModeClamp);
  out[3] = surf2Dread<int>(s, -4, 5, cudaBoundaryModeClamp);
}

void boundaries() {
  const cudaArray_t array = surface_array(cudaCreateChannelDesc<int>(), {4, 3, 0});
  int host[12];
  for (int i = 0; i < 12; ++i) host[i] = 100 + i;
  CHECK_CUDA(cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 3, cudaMemcpyHostToDevice));
  const cudaSurfaceObject_t s = surface_of(array);
  Managed<int> out(4);
  outside<<<1, 1>>>(s, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] == 0 && out[1] == 0, "zeros are read outside");
  expect(out[2] == 107 && out[3] == 108, "the nearest element is read outside");
  int back[12];
  CHECK_CUDA(cudaMemcpy2DFromArray(back, 16, array, 0, 0, 16, 3, cudaMemcpyDeviceToHost));
  expect(std::memcmp(back, host, sizeof host) == 0, "nothing is written outside");
  CHECK_CUDA(cudaDestroySurfaceObject(s));
  CHECK_CUDA(cudaFreeArray(array));
}

// As the vendor's sample of surface writes: a picture goes in through a surface and is turned through a
// texture.
__global__ void draw(cudaSurfaceObject_t s, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) surf2Dwrite(float(x) - 2.0f * float(y), s, x * int(sizeof(float)), y);
}
__global__ void turn(cudaTextureObject_t t, float* out, int w, int h, float sine, float cosine) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float u = float(x) / float(w) - 0.5f, v = float(y) / float(h) - 0.5f;
  out[y * w + x] = tex2D<float>(t, u * cosine - v * sine + 0.5f, v * cosine + u * sine + 0.5f);
}

void picture() {
  constexpr int w = 64, h = 64;
  const cudaArray_t array = surface_array(cudaCreateChannelDesc<float>(), {w, h, 0});
  const cudaSurfaceObject_t s = surface_of(array);
  const cudaResourceDesc r = resource_of(array);
  cudaTextureDesc d = {};
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeWrap;
  d.filterMode = cudaFilterModeLinear;
  d.normalizedCoords = 1;
  cudaTextureObject_t t;
  CHECK_CUDA(cudaCreateTextureObject(&t, &r, &d, nullptr));
  Managed<float> out(w * h);
  draw<<<dim3(4, 8), dim3(16, 8)>>>(s, w, h);
  turn<<<dim3(4, 8), dim3(16, 8)>>>(t, out.data, w, h, 1.0f, 0.0f);  // a quarter turn
  CHECK_CUDA(cudaDeviceSynchronize());
  // (x, y) shows (h - y, x), between two elements on both axes.
  for (int y = 2; y < h - 2; ++y) {
    for (int x = 2; x < w - 2; ++x) {
      const float want = (float(h - y) - 0.5f) - 2.0f * (float(x) - 0.5f);
      if (std::fabs(out[y * w + x] - want) > 0.02f) {
        std::printf("FAILED: the turned picture at %d %d: got %g want %g\n", x, y, out[y * w + x], want);
        ++g_failures;
        return;
      }
    }
  }
  CHECK_CUDA(cudaDestroyTextureObject(t));
  CHECK_CUDA(cudaDestroySurfaceObject(s));
  CHECK_CUDA(cudaFreeArray(array));
}

// --- mistakes ---

__global__ void write_beyond(cudaSurfaceObject_t s) {
  surf2Dwrite(1.0f, s, int(threadIdx.x * sizeof(float)), 0);  // MISTAKE trap
}
__global__ void write_somewhere(cudaSurfaceObject_t s) {
  surf2Dwrite(1.0f, s, 0, 0);  // MISTAKE destroyed freed
}
__global__ void forget_the_size(cudaSurfaceObject_t s) {
  surf2Dwrite(1.0f, s, int(threadIdx.x), 0);  // MISTAKE misaligned
}
__global__ void forget_the_layer(cudaSurfaceObject_t s) {
  surf3Dwrite(1.0f, s, 0, 0, 0);  // MISTAKE wrong_shape
}

int mistake(const char* name) {
  const auto is = [&](const char* other) { return !std::strcmp(name, other); };
  const cudaArray_t array = surface_array(cudaCreateChannelDesc<float>(), {16, 4, 0});
  const cudaSurfaceObject_t s = surface_of(array);
  if (is("destroyed")) CHECK_CUDA(cudaDestroySurfaceObject(s));
  if (is("freed")) CHECK_CUDA(cudaFreeArray(array));
  if (is("trap")) write_beyond<<<1, 32>>>(s);
  if (is("destroyed") || is("freed")) write_somewhere<<<1, 1>>>(s);
  if (is("misaligned")) forget_the_size<<<1, 16>>>(s);
  if (is("wrong_shape")) forget_the_layer<<<1, 1>>>(s);
  std::printf("%d\n", int(cudaDeviceSynchronize()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return mistake(argv[1]);
  widths<unsigned char>("surf2D of unsigned char");
  widths<unsigned short>("surf2D of unsigned short");
  widths<unsigned>("surf2D of unsigned");
  widths<uchar4>("surf2D of uchar4");
  widths<short2>("surf2D of short2");
  widths<uint2>("surf2D of uint2");
  widths<uint4>("surf2D of uint4");
  shapes();
  boundaries();
  picture();
  return g_failures;
}
