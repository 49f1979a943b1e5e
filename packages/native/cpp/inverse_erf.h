// The inverse of the error function as XLA computes it on CPUs, to the same bits.
//
// XLA's compiler contracts some of the products and sums, which are written as `fma` here. No other
// product is an operand of a sum in one expression, so that no compiler contracts more.
//
// Source: Giles, "Approximating the erfinv function", GPU Computing Gems, 2011; the logarithms are
// those of Moshier's Cephes.

#ifndef RICCI_NATIVE_INVERSE_ERF_H_
#define RICCI_NATIVE_INVERSE_ERF_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "floats.h"

namespace ricci {

// c₀ xⁿ + c₁ xⁿ⁻¹ + …, the highest power first, each step rounded once.
// Not a loop, since compilers would vectorize that instead of the one over the elements.
template <size_t kIndex = 1, typename T, size_t kCount>
RICCI_INLINE T FusedPolynomial(const T (&coefficients)[kCount], T x, T sum) {
  if constexpr (kIndex == kCount) return sum;
  else return FusedPolynomial<kIndex + 1>(coefficients, x, std::fma(sum, x, coefficients[kIndex]));
}
template <typename T, size_t kCount>
RICCI_INLINE T FusedPolynomial(const T (&coefficients)[kCount], T x) {
  return FusedPolynomial(coefficients, x, coefficients[0]);
}

// ln(1 + x) of numbers of a small size.
template <typename T>
RICCI_INLINE T SmallLog1p(T x) {
  static constexpr T kUpper[] = {
      T(4.5270000862445199635215e-5), T(4.9854102823193375972212e-1), T(6.5787325942061044846969),
      T(2.9911919328553073277375e1),  T(6.0949667980987787057556e1),  T(5.7112963590585538103336e1),
      T(2.0039553499201281259648e1)};
  static constexpr T kLower[] = {
      T(1), T(1.5062909083469192043167e1), T(8.3047565967967209469434e1),
      T(2.2176239823732856465394e2), T(3.0909872225312059774938e2),
      T(2.1642788614495947685003e2), T(6.0118660497603843919306e1)};
  const T square = x * x, cube = x * square;
  const T end = cube * (FusedPolynomial(kUpper, x) / FusedPolynomial(kLower, x));
  return x + std::fma(T(-0.5), square, end);
}

// ln x of positive normal numbers.
RICCI_INLINE float NormalLog(float x) {
  static constexpr float kFirst[] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f};
  static constexpr float kSecond[] = {-1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f};
  static constexpr float kThird[] = {2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
  const auto bits = BitCast<int32_t>(x);
  const float mantissa = BitCast<float>((bits & 0x7FFFFF) | 0x3F000000);
  const bool is_low = mantissa < 0.707106781186547524f;
  const float exponent = static_cast<float>((bits >> 23) - 127) + 1.0f - (is_low ? 1.0f : 0.0f);
  const float m = (mantissa - 1.0f) + (is_low ? mantissa : 0.0f);
  const float square = m * m, cube = square * m;
  const float high = std::fma(cube, FusedPolynomial(kFirst, m), FusedPolynomial(kSecond, m));
  const float poly = std::fma(cube, high, FusedPolynomial(kThird, m));
  const float end = std::fma(cube, poly, exponent * -2.12194440e-4f);
  return std::fma(exponent, 0.693359375f, std::fma(-0.5f, square, m) + end);
}

// The inverse at u is u P(w) with w = -ln(1 - u²); P is in one of several polynomials, of which the
// first is that of nearly all numbers. `Center` computes that, `Tail` the others.
template <typename T>
struct InverseErf;

template <>
struct InverseErf<float> {
  // Whether ln(1 + x) is computed by SmallLog1p.
  static RICCI_INLINE bool IsSmall(float x) { return std::fabs(x) < 0.414213568f; }
  static RICCI_INLINE bool IsCentral(float log1p) { return log1p > -5.0f; }

  static RICCI_INLINE float Center(float u, float log1p) {
    static constexpr float kCenter[] = {2.81022636e-08f,  3.43273939e-07f,  -3.5233877e-06f,
                                 -4.39150654e-06f, 0.00021858087f,   -0.00125372503f,
                                 -0.00417768164f,  0.246640727f,     1.50140941f};
    return u * FusedPolynomial(kCenter, -2.5f - log1p);
  }
  static float Tail(float u, float log1p) {
    static constexpr float kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                               -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                               0.00943887047f,   1.00167406f,     2.83297682f};
    return u * FusedPolynomial(kTail, std::sqrt(-log1p) - 3.0f);
  }
};

template <>
struct InverseErf<double> {
  static RICCI_INLINE bool IsSmall(double x) {
    return (x >= -0.2928932188134525) & (x <= 0.41421356237309503);
  }
  static RICCI_INLINE bool IsCentral(double log1p) { return log1p > -6.25; }

  static RICCI_INLINE double Center(double u, double log1p) {
    static constexpr double kCenter[] = {
        -3.64441206401782e-21,   -1.6850591381820166e-19, 1.28584807152564e-18,
        1.1157877678025181e-17,  -1.333171662854621e-16,  2.0972767875968562e-17,
        6.637638134358324e-15,   -4.054566272975207e-14,  -8.151934197605472e-14,
        2.6335093153082323e-12,  -1.2975133253453532e-11, -5.415412054294628e-11,
        1.0512122733215323e-09,  -4.112633980346984e-09,  -2.9070369957882005e-08,
        4.2347877827932404e-07,  -1.3654692000834679e-06, -1.3882523362786469e-05,
        0.00018673420803405714,  -0.000740702534166267,   -0.006033670871430149,
        0.24015818242558962,     1.6536545626831027};
    return u * FusedPolynomial(kCenter, -3.125 - log1p);
  }
  static double Tail(double u, double log1p) {
    static constexpr double kTail[] = {
        2.2137376921775787e-09, 9.075656193888539e-08,  -2.7517406297064545e-07,
        1.8239629214389228e-08, 1.5027403968909828e-06, -4.013867526981546e-06,
        2.9234449089955446e-06, 1.2475304481671779e-05, -4.7318229009055734e-05,
        6.828485145957318e-05,  2.4031110387097894e-05, -0.0003550375203628475,
        0.0009532893797373805,  -0.0016882755560235047, 0.002491442096107851,
        -0.003751208507569241,  0.005370914553590064,   1.0052589676941592,
        3.0838856104922208};
    static constexpr double kFarTail[] = {
        -2.7109920616438573e-11, -2.555641816996525e-10,  1.5076572693500548e-09,
        -3.789465440126737e-09,  7.61570120807834e-09,    -1.496002662714924e-08,
        2.914795345090108e-08,   -6.771199775845234e-08,  2.2900482228026655e-07,
        -9.9298272942317e-07,    4.526062597223154e-06,   -1.968177810553167e-05,
        7.599527703001776e-05,   -0.00021503011930044477, -0.00013871931833623122,
        1.0103004648645344,      4.849906401408584};
    const double root = std::sqrt(-log1p);
    return u * (log1p > -16.0 ? FusedPolynomial(kTail, root - 3.25)
                              : FusedPolynomial(kFarTail, root - 5.0));
  }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_INVERSE_ERF_H_
