// Sine, cosine and tangent of float32. The formulas are those of `ricci_lax.cpu_formulas`.

#ifndef RICCI_NATIVE_ANGLES_H_
#define RICCI_NATIVE_ANGLES_H_

#include "floats.h"

namespace ricci {

// sin(π f) = f S(f²) and tan(π f / 2) = f T(f²) / C(f²) for |f| ≤ ½: interpolations at Chebyshev's
// points, whose relative errors are below 2⁻³⁵.
constexpr double kSine[] = {3.141592653536132,  -5.167712764593,     2.550163317938427,
                            -0.599252186531583, 0.08205035020147247, -0.007028303855203096};
constexpr double kTangent[] = {1.5707963268235352, -0.43159454554743376, 0.010278691657198408};
constexpr double kCotangent[] = {1.0, -1.0972286511399914, 0.09723547419839032};
// 1/π in two parts, of which the first has 27 bits: its product by a float32 is exact, and so is
// the difference of that to the nearest integer. Both are positive, so that -0 stays -0.
constexpr double kPerHalfTurn = 0x1.45f306cp-2, kPerHalfTurnEnd = 0x1.c9c882a53f84fp-30;

// sin(r) = r + r³ S(r²) and cos(r) = 1 + r² C(r²) for |r| ≤ π/4, with errors below 2⁻³².
constexpr double kNearSine[] = {-0.1666666666385417, 0.008333331874273714, -0.000198400864995936,
                                2.724989523061168e-06};
constexpr double kNearCosine[] = {-0.4999999996910698, 0.041666650639724655, -0.0013887588896733915,
                                  2.446375473009544e-05};

// For numbers from `least` on, 2⁻ˢ and 2ˢ · 2/π, which is taken modulo 4 if s > 0: quarter turns in
// three parts, of which the first two have 29 bits.
struct QuarterTurns {
  double least, scale, first, second, third;
};
constexpr QuarterTurns kQuarterTurns[] = {
    {0, 1, 0x1.45f306e000000p-1, -0x1.b1bbead000000p-32, -0x1.80f62a0b82b2dp-62},
    {0x1p47, 0x1p-24, -0x1.236377d000000p-1, -0x1.6b01ec5000000p-31, -0x1.05c1596447e49p-61},
    {0x1p71, 0x1p-48, 0x1.529fc27000000p-4, 0x1.5f47d4d000000p-34, 0x1.bb81b6c52b328p-65},
    {0x1p95, 0x1p-72, 0x1.3abe8fb000000p-3, -0x1.96447e5000000p-33, 0x1.b14acc9e21c82p-63},
    {0x1p119, 0x1p-96, 0x1.f534ddc000000p+0, 0x1.b6c52b3000000p-33, 0x1.3c439041fe516p-64},
};

// The integer k nearest to x / π - shift in the lowest bits, and the difference.
struct Turns {
  int64_t k;
  double fraction;
};
RICCI_INLINE Turns NearestTurn(float x, double per_turn, double end, double shift) {
  const double wide = x, turns = wide * per_turn - shift;
  const Rounded rounded = Round(turns);
  return {rounded.bits, (turns - rounded.whole) + wide * end};
}

// sin(π f) with its sign changed if k is odd.
RICCI_INLINE float SineOfTurns(const Turns& turns) {
  const double f = turns.fraction, sine = f * Polynomial(kSine, f * f);
  const auto turned = static_cast<uint64_t>(turns.k) << 63;
  return static_cast<float>(BitCast<double>(BitCast<uint64_t>(sine) ^ turned));
}

// Of |x| of any size: the sine and cosine of r in [-π/4, π/4], and k modulo 4 with |x| - k π/2 - r in
// 2πℤ. x = h 2^s, where h is an integer if s > 0, so that the turns of 2^s count modulo 4 (Payne and
// Hanek's reduction). The products by the first two parts are exact.
struct Quadrant {
  double sine, cosine;
  int64_t k;
};
RICCI_INLINE Quadrant QuadrantOf(float x) {
  const double size = std::fabs(static_cast<double>(x));
  QuarterTurns turns = kQuarterTurns[0];
  for (const QuarterTurns& row : kQuarterTurns) {
    const bool large = size >= row.least;
    turns.scale = large ? row.scale : turns.scale;
    turns.first = large ? row.first : turns.first;
    turns.second = large ? row.second : turns.second;
    turns.third = large ? row.third : turns.third;
  }
  const double h = size * turns.scale, first = h * turns.first, second = h * turns.second;
  const Rounded whole = Round(first), correction = Round(second);
  const double rest = ((first - whole.whole) + (second - correction.whole)) + h * turns.third;
  const Rounded last = Round(rest);
  const double r = (rest - last.whole) * 1.5707963267948966, square = r * r;
  return {r + r * square * Polynomial(kNearSine, square),
          square * Polynomial(kNearCosine, square) + 1, whole.bits + correction.bits + last.bits};
}

struct AngleDomain {
  // `Near` is right for numbers that are measured by at most kMost; `Of` always is.
  static constexpr uint32_t kMost = 0x4A800000;  // the bits of 2²²
  static RICCI_INLINE uint32_t Measure(float x) { return SizeBits(x); }
};

struct Sine : AngleDomain {
  static RICCI_INLINE float Near(float x) {
    return SineOfTurns(NearestTurn(x, kPerHalfTurn, kPerHalfTurnEnd, 0));
  }
  static RICCI_INLINE float Of(float x) {
    const Quadrant angle = QuadrantOf(x);
    const auto size = static_cast<float>(angle.k & 1 ? angle.cosine : angle.sine);
    const auto turned = static_cast<uint32_t>(angle.k) << 30;
    return WithSign(size, turned ^ BitCast<uint32_t>(x));
  }
};

struct Cosine : AngleDomain {
  static RICCI_INLINE float Near(float x) {
    return -SineOfTurns(NearestTurn(x, kPerHalfTurn, kPerHalfTurnEnd, 0.5));
  }
  static RICCI_INLINE float Of(float x) {
    const Quadrant angle = QuadrantOf(x);
    const auto size = static_cast<float>(angle.k & 1 ? angle.sine : angle.cosine);
    return WithSign(size, static_cast<uint32_t>(angle.k + 1) << 30);
  }
};

struct Tangent : AngleDomain {
  static RICCI_INLINE float Near(float x) {
    const Turns turns = NearestTurn(x, 2 * kPerHalfTurn, 2 * kPerHalfTurnEnd, 0);
    const double square = turns.fraction * turns.fraction;
    const double upper = turns.fraction * Polynomial(kTangent, square);
    const double lower = Polynomial(kCotangent, square);
    const bool odd = turns.k & 1;
    return static_cast<float>((odd ? -lower : upper) / (odd ? upper : lower));
  }
  static RICCI_INLINE float Of(float x) {
    const Quadrant angle = QuadrantOf(x);
    const bool odd = angle.k & 1;
    const double upper = odd ? -angle.cosine : angle.sine;
    return WithSign(static_cast<float>(upper / (odd ? angle.sine : angle.cosine)),
                    BitCast<int32_t>(x));
  }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_ANGLES_H_
