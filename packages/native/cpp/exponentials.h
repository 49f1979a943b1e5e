// The exponential less 1, and the Gaussian error linear unit, of float32.

#ifndef RICCI_NATIVE_EXPONENTIALS_H_
#define RICCI_NATIVE_EXPONENTIALS_H_

#include "floats.h"

namespace ricci {

// exp(r) = 1 + r + r² / 2 + r³ E(r) for |r| ≤ ln 2 / 2: its errors are below 2⁻³⁰ of exp(r) - 1.
constexpr float kExponential[] = {0.166666667f, 0.0416664642f, 0.00833331084f, 0.00139337307f,
                                  0.000198910805f};

// exp(r / 2) = 1 + r H(r) for |r| ≤ ln 2, with errors below 2⁻²⁸.
constexpr float kHalfExponential[] = {0.5000000161298912f,    0.12499998547872199f,
                                      0.020833038499199874f,  0.002604250299196347f,
                                      0.00026169361437534185f, 2.163062979504051e-05f};

// With y = a / (a + 3.8125), a erfc(a / √2) / 2 is y exp(-a² / 2) T(y) for 0 ≤ a ≤ 13.1, with errors
// below 2⁻²⁶. T(0) and the number in y are exact in float32.
constexpr float kTailShift = 3.8125f;
constexpr float kTail[] = {1.90625f,
                           -3.8924382683870364f,
                           4.162732426787027f,
                           -2.0243009819002085f,
                           -0.19370222923964006f,
                           0.4888285207857648f,
                           0.20645717731927546f,
                           -0.37343222359703f,
                           0.11866546638874227f};

// Of a float of a size below 2²², 1.5 · 2²³ and the nearest integer.
constexpr float kIntegers = 0x1.8p23f;

// 2^(k + shift), for k in the lowest bits.
RICCI_INLINE float PowerOfTwo(float k, int32_t shift) {
  return BitCast<float>(static_cast<int32_t>(BitCast<uint32_t>(k) << 23) + ((127 + shift) << 23));
}

// exp(x) - 1 = h - 1 + h (exp(r) - 1) for x = k ln 2 + r, where h is 2^k.
struct ExponentialLessOne {
  // `Near` is right for numbers that are measured by at most kMost.
  static constexpr uint32_t kMost = 0x42A00000;  // the bits of 80
  static RICCI_INLINE uint32_t Measure(float x) { return SizeBits(x); }

  static RICCI_INLINE float Near(float x) { return OrSmall(x, Scaled(x, 0)); }

  static RICCI_INLINE float Of(float x) {
    // Beyond these bounds the results are -1, and infinite.
    float bounded = x < -18 ? -18 : x;
    bounded = bounded > 89 ? 89 : bounded;
    const float half = Scaled(bounded, -1);
    return OrSmall(x, half + half);
  }

 private:
  // 2^shift (exp(x) - 1)
  static RICCI_INLINE float Scaled(float x, int32_t shift) {
    const float shifted = std::fma(x, 1.44269504f, kIntegers), k = shifted - kIntegers;
    const float h = PowerOfTwo(shifted, shift), half = PowerOfTwo(shifted, shift - 1);
    const float one = PowerOfTwo(0, shift);
    // ln 2 in two parts: the difference is exact.
    const float exact = std::fma(k, -0x1.62e43p-1f, x), second = k * 0x1.05c61p-29f;
    const float r = exact + second, square = r * r;
    // The leading terms are added with their rounding errors (Dekker's sums).
    const float start = h - one, linear = h * exact, quadratic = half * square;
    const float total = start + linear, sum = total + quadratic;
    const float error = (((h - start) - one) + ((start - total) + linear)) +
                        ((total - sum) + quadratic);
    const float end = std::fma(square * r, Polynomial(kExponential, r), second);
    return sum + std::fma(h, end, error);
  }

  // Of numbers this small, and of -0, the result is the number itself.
  static RICCI_INLINE float OrSmall(float x, float result) {
    return Select(SizeBits(x) < 0x33000000, x, result);
  }
};

// x times the normal distribution function of x: x - a T for x > 0, and -a T for others, where a is
// |x| and T the tail erfc(a / √2) / 2.
struct GaussianUnit {
  // `Near` is right for numbers that are measured by at most kMost; beyond, a T underflows.
  static constexpr uint32_t kMost = 0x4151999A;  // the bits of 13.1
  static RICCI_INLINE uint32_t Measure(float x) { return SizeBits(x); }

  static RICCI_INLINE float Near(float x) {
    const float tail = Tail(x);
    return Select(x > kLeast, x - tail, tail);
  }

  static RICCI_INLINE float Of(float x) {
    // Minus infinity times 0 is NaN, as in the product of which this is the value.
    const float none = Select(x > 0, 0, x * 0);
    const float tail = Select(Measure(x) <= kMost, Tail(x), none);
    return Select(x > kLeast, x - tail, tail);
  }

 private:
  // Of positive numbers below, of which half may be subnormal, the result is a T, too.
  static constexpr float kLeast = 0x1p-100f;

  // x erfc(|x| / √2) / 2, by exp(r / 2 + k ln 2) with r = -x² - 2 k ln 2, where x² and 2 ln 2 are in
  // two parts: the first difference is exact. The product by 2^k is a sum of exponents.
  static RICCI_INLINE float Tail(float x) {
    const float ratio = x / (std::fabs(x) + kTailShift);
    const float square = x * x, square_end = std::fma(x, x, -square);
    const float shifted = std::fma(square, -0.5f * 1.44269504f, kIntegers), k = shifted - kIntegers;
    const float start = std::fma(k, -0x1.62e43p+0f, -square);
    const float r = start + std::fma(k, 0x1.05c61p-28f, -square_end);
    const float tail = ratio * Polynomial(kTail, std::fabs(ratio));
    const float product = std::fma(tail, r * Polynomial(kHalfExponential, r), tail);
    return BitCast<float>(BitCast<uint32_t>(product) + (BitCast<uint32_t>(shifted) << 23));
  }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_EXPONENTIALS_H_
