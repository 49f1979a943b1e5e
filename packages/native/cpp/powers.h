// Powers and cube roots of float32.

#ifndef RICCI_NATIVE_POWERS_H_
#define RICCI_NATIVE_POWERS_H_

#include <limits>

#include "floats.h"

namespace ricci {

// log2 m = s L(s²) with s = (m - 1) / (m + 1) for m in [√½, √2], and 2^f for |f| ≤ ½: interpolations
// at Chebyshev's points, whose relative errors are 2⁻³⁷ and 2⁻³⁴.
constexpr double kLog2[] = {2.885390081789987, 0.9617966734515485, 0.5770835660048659,
                            0.41167376623771057, 0.3407120415619086};
constexpr double kExp2[] = {0.9999999999595618,     0.6931471805568324,    0.24022651213498092,
                            0.055504109063258665,   0.009618025613318034,  0.0013333478473685416,
                            0.00015469729214118296, 1.5303700711365693e-05};

// The power 2^(y log2 |x|), computed in float64, with the signs and corners of C's `pow`.
struct Power {
  // `Near` is right where the measure is at most kMost: of positive normal numbers, to powers by
  // which the exponent of the result is below 900.
  static constexpr uint32_t kMost = kInfiniteBits - kTinyBits - 1;
  static RICCI_INLINE uint32_t Measure(float x, float y) {
    const int32_t bits = BitCast<int32_t>(x);
    const uint32_t position = static_cast<uint32_t>(bits) - kTinyBits;
    // The bits count the logarithm of x but for a factor of 1.45.
    const float exponent = static_cast<float>(bits - kOneBits) * y;
    constexpr uint32_t kMostExponent = 0x4F960000;  // the bits of 600 · 2²³
    const uint32_t size = SizeBits(exponent) + (kMost - kMostExponent);
    return position > size ? position : size;
  }

  static RICCI_INLINE float Near(float x, float y) {
    return PowerOfTwo(static_cast<double>(y) * Log2(BitCast<int32_t>(x), 0));
  }

  static RICCI_INLINE float Of(float x, float y) {
    const int32_t bits = BitCast<int32_t>(x), size = SizeBits(x), y_size = SizeBits(y);
    // As integers, subnormal numbers count multiples of 2⁻¹⁴⁹.
    const bool is_subnormal = size < kTinyBits;
    const int32_t scaled = BitCast<int32_t>(static_cast<float>(size));
    double logarithm = Log2(is_subnormal ? scaled : size, is_subnormal ? 149 : 0);
    // Infinite of 0 and infinity, NaN of NaN.
    logarithm = size < kInfiniteBits ? logarithm : static_cast<double>(BitCast<float>(size));
    logarithm = size == 0 ? -std::numeric_limits<double>::infinity() : logarithm;
    // The least normal exponent has the same effect as a subnormal one.
    const bool is_tiny = (y_size > 0) & (y_size < kTinyBits);
    const float exponent = is_tiny ? WithSign(0x1p-126f, BitCast<int32_t>(y)) : y;
    double t = static_cast<double>(exponent) * logarithm;
    // Outside of these bounds the result is 0 or infinite in float32, and inside normal in float64.
    t = t > 1000 ? 1000 : t;
    t = t < -1000 ? -1000 : t;
    float result = PowerOfTwo(t);

    // Numbers of 2²⁴ and more are even. Bits are compared, as XLA's threads read subnormal numbers as 0.
    const bool is_large = y_size >= 0x4B800000;
    const auto integer = static_cast<int32_t>(is_large ? 0 : y);
    const bool is_whole =
        is_large ? y_size <= kInfiniteBits : SizeBits(static_cast<float>(integer)) == y_size;
    const bool is_odd = is_whole & ((integer & 1) != 0);
    result = WithSign(result, is_odd ? bits : 0);
    // A root of a negative number, but for -0 and -∞.
    const bool is_root = (bits < 0) & (size > 0) & (size < kInfiniteBits) & !is_whole;
    result = is_root ? std::numeric_limits<float>::quiet_NaN() : result;
    // Also of NaN to the power 0, 1 to the power NaN, and -1 to infinite powers.
    const bool is_minus_one = (y_size == kInfiniteBits) & (size == kOneBits);
    return (y_size == 0) | (bits == kOneBits) | is_minus_one ? 1.0f : result;
  }

 private:
  // log2 of a positive normal number times 2^-shift.
  static RICCI_INLINE double Log2(int32_t bits, int32_t shift) {
    const int32_t exponent = (bits - 0x3F3504F3) >> 23;
    const double m = BitCast<float>(bits - static_cast<int32_t>(static_cast<uint32_t>(exponent) << 23));
    const double s = (m - 1) / (m + 1);
    return static_cast<double>(exponent - shift) + s * Polynomial(kLog2, s * s);
  }

  // 2^t, whose exponent is t's rounding to an integer.
  static RICCI_INLINE float PowerOfTwo(double t) {
    const Rounded rounded = Round(t);
    const auto biased = static_cast<uint64_t>(rounded.bits) + 1023;
    const auto scale = BitCast<double>(biased << 52);
    return static_cast<float>(Polynomial(kExp2, t - rounded.whole) * scale);
  }
};

// The cube root y of x by x z² for z near 1 / ∛x, and its error, (x - y³) z² / 3.
struct CubeRoot {
  // `Near` is right where the measure is at most kMost: products of small numbers are subnormal.
  static constexpr uint32_t kSmall = (127 - 90) << 23, kMost = kInfiniteBits - kSmall - 1;
  static RICCI_INLINE uint32_t Measure(float x) {
    return static_cast<uint32_t>(SizeBits(x)) - kSmall;
  }

  static RICCI_INLINE float Near(float x) {
    return WithSign(OfPositive(std::fabs(x)), BitCast<int32_t>(x));
  }

  static RICCI_INLINE float Of(float x) {
    const int32_t bits = SizeBits(x);
    const bool is_small = bits < (127 - 90) << 23, is_subnormal = bits < kTinyBits;
    const float scaled = BitCast<float>(bits) * 0x1p60f;
    // As integers, subnormal numbers count multiples of 2⁻¹⁴⁹.
    const float counted = static_cast<float>(bits + bits);
    float size = is_small ? scaled : BitCast<float>(bits);
    size = is_subnormal ? counted : size;
    const float unit = is_subnormal ? 0x1p-50f : is_small ? 0x1p-20f : 1.0f;
    const float root = OfPositive(size) * unit;
    const bool is_ordinary = (bits < kInfiniteBits) & (bits > 0);
    return WithSign(is_ordinary ? root : BitCast<float>(bits), BitCast<int32_t>(x));
  }

 private:
  // The bits of a float count its logarithm to base 2, piecewise linearly: a multiple of -1/3 of
  // them is z to 4%. With h = 1 - x z³, 1 / ∛x is z (1 - h)^(-1/3) exactly, and to 1e-5 by four terms.
  static RICCI_INLINE float OfPositive(float x) {
    const float logarithm = static_cast<float>(BitCast<int32_t>(x));
    const float guess = 0x54A21D2A - logarithm * (1 / 3.0f);
    float z = BitCast<float>(static_cast<int32_t>(guess));
    const float h = 1 - (x * z) * (z * z);
    z = z * (((14 / 81.0f * h + 2 / 9.0f) * h + 1 / 3.0f) * h + 1);
    const float inverse = z * z, y = x * inverse, square = y * y;
    const float remainder = std::fma(square, y, -x);
    return y - remainder * inverse * (1 / 3.0f);
  }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_POWERS_H_
