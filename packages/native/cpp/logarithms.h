// The logarithms of float32 and float64.

#ifndef RICCI_NATIVE_LOGARITHMS_H_
#define RICCI_NATIVE_LOGARITHMS_H_

#include <limits>

#include "floats.h"

namespace ricci {

// ln m = 2 s + s³ L(s²) with s = (m - 1) / (m + 1) for m in [√½, √2]: the interpolation at Chebyshev's
// points, whose relative error is 2⁻⁵⁴.
constexpr double kLogarithm[] = {
    0.6666666666666666,  0.4000000000000088,  0.2857142857080323,  0.2222222239180047,
    0.18181795630884753, 0.15386240205813478, 0.13268759668560612, 0.13086767009948175};

// ln 2 in two parts, of which the first has 40 bits: its products by exponents are exact.
constexpr double kLn2 = 0x1.62e42fefa4000p-1, kLn2End = -0x1.8432a1b0e2634p-43;

struct Logarithm {
  static RICCI_INLINE double Of(double x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const auto bits = BitCast<int64_t>(x);
    const int64_t exponent = (bits - 0x3FE6A09E667F3BCD) & -(int64_t{1} << 52);
    const double f = BitCast<double>(bits - exponent) - 1;
    // As the lowest bits of a float64.
    const double k = BitCast<double>((exponent >> 52) + 0x4338000000000000) - 0x1.8p52;
    // The error e of the quotient s, by the remainder, is (f - s (2 + f)) / (2 + f); that of the
    // logarithm 2 e / (1 - s²).
    const double divisor = 2 + f, divisor_end = f - (divisor - 2), inverse = 1 / divisor;
    const double s = f * inverse, square = s * s;
    const double remainder = std::fma(-s, divisor, f) - s * divisor_end;
    const double end = 2 * remainder * (inverse + inverse * square) + s * square * Polynomial(kLogarithm, square);
    const double start = k * kLn2, total = start + 2 * s;
    const double error = (start - total) + 2 * s;
    const double result = total + (error + (end + k * kLn2End));
    // Subnormal numbers count as 0, as for XLA.
    const double corner = std::fabs(x) < std::numeric_limits<double>::min() ? -kInfinity : kNan;
    const bool is_normal = (bits >= int64_t{1} << 52) & (bits < int64_t{0x7FF} << 52);
    return is_normal ? result : x == kInfinity ? x : corner;
  }
};

// ln (1 + f) = f - f² / 2 + f³ L(f) for 1 + f in [√½, √2], with errors below 2⁻³⁰.
constexpr float kFloatLogarithm[] = {
    0.3333331346511841f, -0.25000008940696716f, 0.2000211924314499f,
    -0.1666799634695053f, 0.14219550788402557f, -0.12405581027269363f,
    0.11888166517019272f, -0.11675699800252914f, 0.06746689975261688f};

struct FloatLogarithm {
  // `Near` is right where the measure is at most kMost: of positive normal numbers.
  static constexpr uint32_t kMost = kInfiniteBits - kTinyBits - 1;
  static RICCI_INLINE uint32_t Measure(float x) {
    return static_cast<uint32_t>(BitCast<int32_t>(x)) - kTinyBits;
  }

  static RICCI_INLINE float Near(float x) {
    const int32_t bits = BitCast<int32_t>(x);
    const int32_t exponent = (bits - 0x3F3504F3) & -kTinyBits;
    const float f = BitCast<float>(bits - exponent) - 1, square = f * f;
    // A multiple k of 2²³. ln 2 is in two parts, of which the first has 15 bits: k times it is exact.
    const float k = static_cast<float>(exponent);
    const float start = k * (0x1.62e4p-1f * 0x1p-23f);
    const float end = std::fma(square, std::fma(f, Polynomial(kFloatLogarithm, f), -0.5f),
                               k * (0x1.7f7d1cp-20f * 0x1p-23f));
    const float total = start + f;
    return total + (((start - total) + f) + end);
  }

  static RICCI_INLINE float Of(float x) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    // Subnormal numbers count as 0, as for XLA.
    const float corner = Select(SizeBits(x) < kTinyBits, -kInfinity, kNan);
    const float result = Select(BitCast<int32_t>(x) == kInfiniteBits, kInfinity, corner);
    return Select(Measure(x) <= kMost, Near(x), result);
  }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_LOGARITHMS_H_
