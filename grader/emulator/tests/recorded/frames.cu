// Calls that need more than a place for each function: recursion, function pointers, virtual functions,
// the heap.
#include "common.h"

namespace {

#define REGISTER(name, kind) const Registration register_##name(#name, "bits", Kind::kind, name)

__noinline__ __device__ unsigned mix(unsigned a, unsigned b) {
  return a * 2654435761u ^ b >> 3;
}
__noinline__ __device__ unsigned twice(unsigned a, unsigned b) {
  return mix(mix(a, b), a);
}
__noinline__ __device__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void recursion(unsigned long long* out) {
  out[threadIdx.x] = static_cast<unsigned>(fibonacci(static_cast<int>(threadIdx.x % 13)));
}
REGISTER(recursion, u64);

using Function = unsigned (*)(unsigned, unsigned);
__device__ Function functions[] = {mix, twice};
__global__ void function_pointers(unsigned long long* out) {
  out[threadIdx.x] = functions[threadIdx.x / 5 % 2](threadIdx.x, 3);
}
REGISTER(function_pointers, u64);

struct Shape {
  __device__ virtual unsigned area() const = 0;
};
struct Square : Shape {
  unsigned side;
  __device__ explicit Square(unsigned s) : side(s) {}
  __device__ unsigned area() const override { return side * side; }
};
struct Bar : Shape {
  unsigned length;
  __device__ explicit Bar(unsigned l) : length(l) {}
  __device__ unsigned area() const override { return length * 3; }
};
__global__ void virtual_functions(unsigned long long* out) {
  const Square square(threadIdx.x);
  const Bar bar(threadIdx.x);
  const Shape* shape = threadIdx.x % 3 == 0 ? static_cast<const Shape*>(&square) : &bar;
  out[threadIdx.x] = shape->area();
}
REGISTER(virtual_functions, u64);

__global__ void heap(unsigned long long* out) {
  auto* cells = static_cast<unsigned*>(malloc(64));
  auto* object = new unsigned long long(threadIdx.x * 7ull);
  for (unsigned k = 0; k < 16; ++k) cells[k] = k * threadIdx.x;
  unsigned long long sum = *object;
  for (unsigned k = 0; k < 16; ++k) sum += cells[k];
  free(cells);
  delete object;
  out[threadIdx.x] = sum;
}
REGISTER(heap, u64);

}  // namespace
