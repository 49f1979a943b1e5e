// Floats as bits, roundings and polynomials, for functions that compilers vectorise.

#ifndef RICCI_NATIVE_FLOATS_H_
#define RICCI_NATIVE_FLOATS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define RICCI_INLINE inline __attribute__((always_inline))

namespace ricci {

constexpr int32_t kTinyBits = 0x800000, kInfiniteBits = 0x7F800000, kOneBits = 0x3F800000;

template <typename To, typename From>
RICCI_INLINE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The bits of |x|, whose order is that of the values: NaNs come last.
RICCI_INLINE int32_t SizeBits(float x) { return BitCast<int32_t>(x) & INT32_MAX; }

// x, with its sign changed if the highest bit is set.
RICCI_INLINE float WithSign(float x, int32_t bits) {
  return BitCast<float>(BitCast<int32_t>(x) ^ (bits & INT32_MIN));
}

// The integer nearest to x, of a size below 2⁵¹, and a number with its lowest bits.
struct Rounded {
  double whole;
  int64_t bits;
};
RICCI_INLINE Rounded Round(double x) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x + kShift;
  return {shifted - kShift, BitCast<int64_t>(shifted)};
}

// a + b x + c x² + …, the lowest power first.
template <size_t kCount>
RICCI_INLINE double Polynomial(const double (&coefficients)[kCount], double x) {
  double sum = coefficients[kCount - 1];
  for (size_t i = kCount - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// The same of float32: each step is rounded once.
template <size_t kFirst = 0, size_t kCount>
RICCI_INLINE float Polynomial(const float (&coefficients)[kCount], float x) {
  if constexpr (kFirst + 1 == kCount) {
    return coefficients[kFirst];
  } else {
    return std::fma(Polynomial<kFirst + 1>(coefficients, x), x, coefficients[kFirst]);
  }
}

// The one or the other float, by bits: compilers leave loops with branches scalar.
RICCI_INLINE float Select(bool condition, float yes, float no) {
  const int32_t mask = -static_cast<int32_t>(condition);
  return BitCast<float>((BitCast<int32_t>(yes) & mask) | (BitCast<int32_t>(no) & ~mask));
}

}  // namespace ricci

#endif  // RICCI_NATIVE_FLOATS_H_
