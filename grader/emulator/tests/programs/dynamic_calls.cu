// Calls whose frames lie on the stack: recursion, function pointers, virtual functions, alloca.
#include "check.h"

__host__ __device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__host__ __device__ int is_odd(int n);
__host__ __device__ __noinline__ int is_even(int n) {
  return n == 0 ? 1 : is_odd(n - 1) * 3 - 2;
}
__host__ __device__ __noinline__ int is_odd(int n) {
  return n == 0 ? 0 : is_even(n - 1) + 1;
}

// Each level holds a variable of its own that deeper ones reach through pointers.
struct Level {
  int value;
  const Level* outer;
};
__host__ __device__ __noinline__ int weigh(int n, const Level* outer) {
  const Level mine = {n * 7 % 11, outer};
  if (n > 0) return weigh(n - 1 - n % 2, &mine) + mine.value;
  int sum = 0, weight = 1;
  for (const Level* level = &mine; level != nullptr; level = level->outer) sum += weight++ * level->value;
  return sum;
}

__host__ __device__ __noinline__ int plus(int x, int y) {
  return x + y;
}
__host__ __device__ __noinline__ int minus(int x, int y) {
  return x - y;
}
__host__ __device__ __noinline__ int times(int x, int y) {
  return x * y;
}
using Operation = int (*)(int, int);
__device__ Operation g_device_operations[] = {plus, minus, times};
const Operation g_host_operations[] = {plus, minus, times};
__host__ __device__ Operation operation(int i) {
#ifdef __CUDA_ARCH__
  return g_device_operations[i];
#else
  return g_host_operations[i];
#endif
}
// A function that a pointer leads back to.
using Step = double (*)(int, double, const void*);
__host__ __device__ __noinline__ double countdown(int n, double x, const void* self) {
  return n == 0 ? x : (*static_cast<const Step*>(self))(n - 1, x * 0.5 + n, self) + n;
}

struct Shape {
  int size;
  __host__ __device__ explicit Shape(int s) : size(s) {}
  __host__ __device__ virtual ~Shape() {}
  __host__ __device__ virtual int area() const = 0;
  __host__ __device__ virtual int twice() const { return 2 * area(); }
};
struct Square : Shape {
  using Shape::Shape;
  __host__ __device__ int area() const override { return size * size; }
};
struct Stripe : Shape {
  using Shape::Shape;
  __host__ __device__ int area() const override { return size; }
  __host__ __device__ int twice() const override { return -Shape::twice(); }
};
__host__ __device__ int area_of_new_shape(int i) {
  Shape* shape = i % 3 == 0 ? static_cast<Shape*>(new Square(i)) : new Stripe(i + 5);
  const int area = shape->area() * 1000 + shape->twice();
  delete shape;
  return area;
}

__host__ __device__ __noinline__ int sum_on_stack(int n) {
  int* values = static_cast<int*>(alloca(n * sizeof(int)));
  for (int k = 0; k < n; ++k) values[k] = k * n;
  int sum = n > 3 ? sum_on_stack(n / 2) : 0;
  for (int k = 0; k < n; ++k) sum += values[n - 1 - k] * (k + 1);
  return sum;
}

// Lanes that recur to different depths meet again behind the call.
__global__ void recursion_converges(int* out) {
  int x = threadIdx.x;
  if (x % 2) x = fibonacci(x % 10);
  out[threadIdx.x] = __popc(__activemask()) * 1000000 + x;
}

int main() {
  CHECK_CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  compare_both<int>(
      "recursion", BOTH(int i) { return fibonacci(i % 12); });
  compare_both<int>(
      "mutual recursion", BOTH(int i) { return is_even(i % 9) * 100 + is_odd(i % 8); });
  compare_both<int>(
      "variables of outer calls", BOTH(int i) { return weigh(i % 15, nullptr); });
  compare_both<int>(
      "tables of functions", BOTH(int i) { return operation(i % 3)(i, i % 7) + operation(i % 2)(3, i); });
  compare_both<double>(
      "recursion through a pointer", BOTH(int i) {
        const Step self = countdown;
        return countdown(i % 10, i * 0.25, &self);
      });
  compare_both<int>(
      "virtual functions", BOTH(int i) { return area_of_new_shape(i); });
  compare_both<int>(
      "alloca", BOTH(int i) { return sum_on_stack(i % 20 + 1); });
  Managed<int> out(32);
  recursion_converges<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t)
    expect(out[t] == 32000000 + (t % 2 ? fibonacci(t % 10) : t), "lanes meet behind a recursion");
  return g_failures;
}
