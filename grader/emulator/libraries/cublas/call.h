// One call of cuBLAS: what it reads comes from the device's memory to dense matrices and vectors of the host,
// and what it writes goes back. Everything is done when it returns; in a captured stream it is done whenever the
// graph is launched.
#pragma once
// CUDA 12's header wants it from whoever includes it, as cublas_v2.h does; empty: for the host alone.
#ifndef CUBLASAPI
#define CUBLASAPI
#endif
#include <cublas_api.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "captured_work.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  int multiprocessors = 0;
};

namespace warpgrade::cublas {

template <class T>
using Vector = std::vector<T>;

// Columns one behind the other.
template <class T>
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<T> data{};

  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(r * c)) {}
  T& operator()(int64_t r, int64_t c) { return data[static_cast<size_t>(c * rows + r)]; }
  const T& operator()(int64_t r, int64_t c) const { return data[static_cast<size_t>(c * rows + r)]; }
  T* column(int64_t c) { return data.data() + c * rows; }
  const T* column(int64_t c) const { return data.data() + c * rows; }
};

// Ends a call; run() makes it the call's result.
struct Failure {
  cublasStatus_t status;
};

inline void require(bool holds) {
  if (!holds) throw Failure{CUBLAS_STATUS_INVALID_VALUE};
}

class Call {
 public:
  // A call in a captured stream is rehearsed: its arguments are checked and its scalars on the host kept. Of the
  // device's memory nothing is touched; zeros stand for it.
  explicit Call(const cublasContext& context)
      : context_(context), is_rehearsal_(libraries::is_captured(context.stream)) {}
  // What a node of a graph does with what its rehearsal has kept.
  Call in_graph(cudaStream_t stream) const {
    Call call = *this;
    call.context_.stream = stream;
    call.is_rehearsal_ = false;
    call.is_in_graph_ = true;
    return call;
  }

  bool is_rehearsal() const { return is_rehearsal_; }
  bool scalars_on_device() const { return context_.pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }
  template <class T>
  T scalar(const T* at) {
    if (!scalars_on_device()) return on_host(at);
    require(at != nullptr);
    T value{};
    from_device(&value, sizeof value, at, sizeof value, sizeof value, 1);
    return value;
  }
  // On the host whatever the handle says.
  template <class T>
  T on_host(const T* at) {
    require(at != nullptr);
    if (is_rehearsal_) host_.keep(at, sizeof(T));
    if (!is_in_graph_) return *at;
    const void* kept = host_.find(at, sizeof(T));
    if (kept == nullptr) throw Failure{CUBLAS_STATUS_INTERNAL_ERROR};
    T value;
    std::memcpy(static_cast<void*>(&value), kept, sizeof(T));
    return value;
  }
  template <class T>
  void put_scalar(T* at, const T& value) {
    require(at != nullptr);
    if (!scalars_on_device()) {
      require_no_capture();
      *at = value;
    } else {
      to_device(at, sizeof value, &value, sizeof value, sizeof value, 1);
    }
  }

  // n elements every `step`; a negative step begins at the last one, as BLAS has it.
  template <class T>
  Vector<T> vector(const T* at, int64_t n, int64_t step) {
    require(step != 0);
    if (n <= 0) return {};
    const Vector<T> all = stretch(at, span(n, step));
    if (step == 1) return all;
    Vector<T> v(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) v[k] = all[place(k, n, step)];
    return v;
  }
  template <class T>
  void put(T* at, int64_t step, const Vector<T>& values) {
    const auto n = static_cast<int64_t>(values.size());
    if (n == 0) return;
    Vector<T> all = step == 1 ? values : stretch(at, span(n, step));
    for (int64_t k = 0; k < n && step != 1; ++k) all[place(k, n, step)] = values[k];
    to_device(at, all.size() * sizeof(T), all.data(), all.size() * sizeof(T), all.size() * sizeof(T), 1);
  }

  template <class T>
  Matrix<T> matrix(const T* at, int64_t rows, int64_t columns, int64_t ld) {
    require(rows >= 0 && columns >= 0 && ld >= (rows > 1 ? rows : 1));
    Matrix<T> m(rows, columns);
    if (m.data.empty()) return m;
    require(at != nullptr);
    const auto width = static_cast<size_t>(rows) * sizeof(T);
    from_device(m.data.data(), width, at, static_cast<size_t>(ld) * sizeof(T), width,
                static_cast<size_t>(columns));
    return m;
  }
  template <class T>
  void put(T* at, int64_t ld, const Matrix<T>& m) {
    if (m.data.empty()) return;
    const auto width = static_cast<size_t>(m.rows) * sizeof(T);
    to_device(at, static_cast<size_t>(ld) * sizeof(T), m.data.data(), width, width,
              static_cast<size_t>(m.columns));
  }

 private:
  static int64_t span(int64_t n, int64_t step) { return 1 + (n - 1) * (step < 0 ? -step : step); }
  static int64_t place(int64_t k, int64_t n, int64_t step) {
    return step > 0 ? k * step : (k - n + 1) * step;
  }

  template <class T>
  Vector<T> stretch(const T* at, int64_t count) {
    require(at != nullptr);
    Vector<T> all(static_cast<size_t>(count));
    if constexpr (std::is_pointer_v<T>) {
      if (is_rehearsal_) return Vector<T>(all.size(), reinterpret_cast<T>(&host_));  // some place
    }
    from_device(all.data(), all.size() * sizeof(T), at, all.size() * sizeof(T), all.size() * sizeof(T), 1);
    return all;
  }
  // A result on the host needs the end of the work, which nobody can wait for in a capture: it fails, and so does the
  // capture (cuBLAS's documentation, "CUDA Graphs Support").
  void require_no_capture() const;
  // Rows of bytes. A failure is one of the execution.
  void from_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows);
  void to_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows);
  void move(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
            cudaMemcpyKind kind);

  cublasContext context_;
  bool is_rehearsal_ = false, is_in_graph_ = false;
  libraries::HostValues host_{};
};

template <class Work>
cublasStatus_t carry_out(Call& call, const Work& work) {
  try {
    work(call);
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// `work` holds the call's arguments by value: in a captured stream a node of the graph keeps it.
template <class Work>
cublasStatus_t run(cublasHandle_t handle, const Work& work) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Call call(*handle);
  const cublasStatus_t status = carry_out(call, work);
  if (status != CUBLAS_STATUS_SUCCESS || !call.is_rehearsal()) return status;
  const auto in_node = [call, work](cudaStream_t stream) {
    Call again = call.in_graph(stream);
    return carry_out(again, work) == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorLaunchFailure;
  };
  return libraries::capture(handle->stream, in_node) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                    : CUBLAS_STATUS_EXECUTION_FAILED;
}

// Each precision with 32-bit and with 64-bit sizes: X(letter, type, size type, suffix of the name).
#define CUBLAS_FOR_EACH(X)  \
  X(S, float, int, )        \
  X(D, double, int, )       \
  X(S, float, int64_t, _64) \
  X(D, double, int64_t, _64)

}  // namespace warpgrade::cublas
