// What the two files of the program `separate` share: device code that is linked (-rdc=true).
#pragma once

extern __device__ int scale_table[4];
extern __constant__ int offset;
__device__ int scaled(int x);

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
__device__ Shape* new_square(int side);

// Of both files.
template <class T>
__device__ __noinline__ T twice(T x) {
  return x + x;
}
