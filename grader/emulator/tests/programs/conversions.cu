// cvt between all widths of integers and floats, with rounding, saturation and out-of-range values.
#include "check.h"

template <class To, class From>
void integers(const char* name) {
  compare_both<To>(
      name, BOTH(int i) { return To(From(bits_of(i, 1))); });
}

template <class To>
void from_integers(const char* name) {
  integers<To, int8_t>(name);
  integers<To, uint8_t>(name);
  integers<To, int16_t>(name);
  integers<To, uint16_t>(name);
  integers<To, int32_t>(name);
  integers<To, uint32_t>(name);
  integers<To, int64_t>(name);
  integers<To, uint64_t>(name);
}

// The device clamps what does not fit; NaN is 0 for 32 bits.
template <class To>
To clamped(double v) {
  if (std::isnan(v)) return sizeof(To) == 8 ? To(1ull << 63) : To(0);
  if (v <= double(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (v >= double(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return To(v);
}

void floats_to_integers() {
  compare<int32_t>(
      "float2int_rz", [] __device__(int i) { return __float2int_rz(float_of(i, 1)); },
      [](int i) { return clamped<int32_t>(std::trunc(float_of(i, 1))); });
  compare<int32_t>(
      "float2int_rn", [] __device__(int i) { return __float2int_rn(float_of(i, 1)); },
      [](int i) { return clamped<int32_t>(std::nearbyint(float_of(i, 1))); });
  compare<int32_t>(
      "float2int_rd", [] __device__(int i) { return __float2int_rd(float_of(i, 1)); },
      [](int i) { return clamped<int32_t>(std::floor(float_of(i, 1))); });
  compare<uint32_t>(
      "float2uint_ru", [] __device__(int i) { return __float2uint_ru(float_of(i, 1)); },
      [](int i) { return clamped<uint32_t>(std::ceil(float_of(i, 1))); });
  compare<int64_t>(
      "double2ll_rz", [] __device__(int i) { return (int64_t)__double2ll_rz(double_of(i, 1)); },
      [](int i) { return clamped<int64_t>(std::trunc(double_of(i, 1))); });
}

void floats() {
  compare_both<double>(
      "f32 to f64", BOTH(int i) { return double(float_of(i, 1)); });
  compare_both<float>(
      "f64 to f32", BOTH(int i) { return float(double_of(i, 1)); });
  compare<float>(
      "f64 to f32 toward zero", [] __device__(int i) { return __double2float_rz(double_of(i, 1)); },
      [](int i) {
        const double d = double_of(i, 1);
        const float f = float(d);
        if (std::isinf(d) || std::isnan(d) || std::fabs(double(f)) <= std::fabs(d)) return f;
        return std::nextafter(f, 0.0f);
      });
  compare_both<float>(
      "s64 to f32", BOTH(int i) { return float(int64_t(bits_of(i, 1))); });
  compare_both<double>(
      "u64 to f64", BOTH(int i) { return double(bits_of(i, 1)); });
  compare<float>(
      "u32 to f32 up", [] __device__(int i) { return __uint2float_ru(uint32_t(bits_of(i, 1))); },
      [](int i) {
        const uint32_t u = bits_of(i, 1);
        const float f = float(u);
        return double(f) < double(u) ? std::nextafter(f, INFINITY) : f;
      });
  compare<float>(
      "floor, ceil, trunc, rint",
      [] __device__(int i) {
        const float a = i * 0.37f - 100;
        return floorf(a) + 3 * ceilf(a) + 5 * truncf(a) + 7 * rintf(a);
      },
      [](int i) {
        const float a = i * 0.37f - 100;
        return std::floor(a) + 3 * std::ceil(a) + 5 * std::trunc(a) + 7 * std::nearbyint(a);
      },
      1e-6);
  compare<float>(
      "saturate", [] __device__(int i) { return __saturatef(float_of(i, 1)); },
      [](int i) {
        const float a = float_of(i, 1);
        return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f;
      });
  compare<uint32_t>(
      "reinterpret",
      [] __device__(int i) { return __float_as_uint(float_of(i, 1)) + __double2hiint(double_of(i, 2)); },
      [](int i) {
        const float f = float_of(i, 1);
        const double d = double_of(i, 2);
        uint32_t u;
        uint64_t v;
        std::memcpy(&u, &f, 4);
        std::memcpy(&v, &d, 8);
        return std::isnan(f) || std::isnan(d) ? u + uint32_t(v >> 32) : u + uint32_t(v >> 32);
      });
}

int main() {
  from_integers<int8_t>("to s8");
  from_integers<uint16_t>("to u16");
  from_integers<int32_t>("to s32");
  from_integers<uint32_t>("to u32");
  from_integers<int64_t>("to s64");
  from_integers<uint64_t>("to u64");
  from_integers<float>("to f32");
  from_integers<double>("to f64");
  floats_to_integers();
  floats();
  return g_failures;
}
