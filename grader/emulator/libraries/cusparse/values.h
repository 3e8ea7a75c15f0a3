// Values of cuSPARSE's types as the numbers that calls compute with: double, or complex numbers of two. So
// products of the smaller types are exact, sums are formed in double and rounded once.
#pragma once
#include <complex>

#include "cusparse/call.h"

namespace warpgrade::cusparse {

using Complex = std::complex<double>;

size_t bytes_of(cudaDataType type);  // 0: cuSPARSE has no values of this type
bool is_complex(cudaDataType type);

// Numbers of a type, from and to the bytes that a device has.
template <class X>
std::vector<X> numbers_of(const std::vector<unsigned char>& bytes, cudaDataType type);
template <class X>
std::vector<unsigned char> bytes_of_numbers(const std::vector<X>& numbers, cudaDataType type);

template <class X>
std::vector<X> read_values(const Call& call, const void* from, cudaDataType type, const Lines& lines,
                           const char* what) {
  return numbers_of<X>(call.read(from, lines, bytes_of(type), what), type);
}
template <class X>
void write_values(const Call& call, void* to, cudaDataType type, const Lines& lines,
                  const std::vector<X>& numbers, const char* what) {
  call.write(to, lines, bytes_of(type), bytes_of_numbers(numbers, type).data(), what);
}

// alpha, beta and the like: on the host or on the device, as the handle says.
template <class X>
X scalar(const Call& call, const void* at, cudaDataType type, const char* what) {
  require(at != nullptr, "alpha, beta, a coefficient or the result is a null pointer");
  if (call.scalars_on_device()) return read_values<X>(call, at, type, {1, 1, 1}, what)[0];
  const unsigned char* bytes = call.on_host(at, bytes_of(type));
  return numbers_of<X>({bytes, bytes + bytes_of(type)}, type)[0];
}

// Without the checks for infinite parts that the language asks of complex products.
inline double times(double a, double b) {
  return a * b;
}
inline Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline double conjugate(double a) {
  return a;
}
inline Complex conjugate(Complex a) {
  return std::conj(a);
}
template <class X>
void conjugate_all(std::vector<X>& numbers) {
  for (X& number : numbers) number = conjugate(number);
}

// Calls `work` with a number of the kind that the compute type needs.
template <class Work>
void with_numbers(cudaDataType compute, Work work) {
  if (is_complex(compute)) {
    work(Complex{});
  } else {
    work(double{});
  }
}

// The types that the documentation lists for products: all alike, or smaller ones that a larger one sums.
void require_product_types(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType compute);

// What the creation of descriptors checks.
// Of arrays without elements nobody asks where they lie.
void require_values(const void* values, cudaDataType type, int64_t count);
void require_indices(const void* indices, cusparseIndexType_t type, cusparseIndexBase_t base, int64_t count);
void require_fits(int64_t size, cusparseIndexType_t type, cusparseIndexBase_t base);
template <class... Pointers>
void require_all(const Pointers&... pointers) {
  require((!(pointers == nullptr) && ...), "a descriptor or the place of a result is a null pointer");
}
// A descriptor of constant arrays is another type to programs, and the same one here.
inline void* mutable_of(const void* pointer) {
  return const_cast<void*>(pointer);
}

}  // namespace warpgrade::cusparse
