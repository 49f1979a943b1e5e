// The greatest or least element of a row of floats, by their bits.

#ifndef RICCI_NATIVE_FLOAT_EXTREMA_H_
#define RICCI_NATIVE_FLOAT_EXTREMA_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "keys.h"
#include "lanes.h"

namespace ricci {
namespace {

// A form of IEEE's floats: the bits of infinity, and of the least normal number.
template <typename Bits, Bits kInfinityBits, Bits kLeast>
struct FloatForm {
  using U = Bits;
  static constexpr U kInfinity = kInfinityBits;
  static constexpr U kNaN = kInfinityBits | (kLeast >> 1);
};

using Float16 = FloatForm<uint16_t, 0x7c00, 0x400>;
using BFloat16 = FloatForm<uint16_t, 0x7f80, 0x80>;
using Float32 = FloatForm<uint32_t, 0x7f800000, 0x800000>;
using Float64 = FloatForm<uint64_t, 0x7ff0000000000000, 0x10000000000000>;

// The extremes of bits that are read as integers of type I and, at the same time, of type J.
template <typename U, typename I, typename J, typename BestI, typename BestJ>
inline __attribute__((always_inline)) void Extremes(size_t n, const U* row, const BestI& best_i,
                                                    const BestJ& best_j, I* i, J* j) {
  constexpr size_t kLanes = 256 / sizeof(U);
  I is[kLanes];
  J js[kLanes];
  std::fill_n(is, kLanes, *i);
  std::fill_n(js, kLanes, *j);
  size_t start = 0;
  for (; start + kLanes <= n; start += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const U bits = row[start + lane];
      is[lane] = best_i(is[lane], static_cast<I>(bits));
      js[lane] = best_j(js[lane], static_cast<J>(bits));
    }
  }
  for (size_t lane = 0; start + lane < n; ++lane) {
    const U bits = row[start + lane];
    is[lane] = best_i(is[lane], static_cast<I>(bits));
    js[lane] = best_j(js[lane], static_cast<J>(bits));
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    *i = best_i(*i, is[lane]);
    *j = best_j(*j, js[lane]);
  }
}

// Floats are ordered as the integers of their bits where they are positive, and in the opposite order
// where they are negative. So the greatest signed integer is the greatest element, if one is positive;
// the greatest unsigned integer is the least element, if one is negative. A positive NaN is a greater
// signed integer than infinity, a negative one a greater unsigned integer than minus infinity. Where
// all signs are the other one, the row is read again.
template <typename Form, bool kGreatest, typename U = typename Form::U>
RICCI_VECTORIZED U Extremum(size_t n, const U* row) {
  using S = std::make_signed_t<U>;
  const auto greatest = [](auto x, auto y) { return x < y ? y : x; };
  const auto least = [](auto x, auto y) { return y < x ? y : x; };
  S most_signed = std::numeric_limits<S>::min();
  U most_unsigned = 0;
  Extremes(n, row, greatest, greatest, &most_signed, &most_unsigned);
  if (most_signed > static_cast<S>(Form::kInfinity)) return Form::kNaN;
  if (most_unsigned > static_cast<U>(Form::kInfinity | kSignBit<U>)) return Form::kNaN;
  if (kGreatest && most_signed >= 0) return static_cast<U>(most_signed);
  if (!kGreatest && most_unsigned >= kSignBit<U>) return most_unsigned;
  U least_unsigned = std::numeric_limits<U>::max(), again = least_unsigned;
  Extremes(n, row, least, least, &least_unsigned, &again);
  return least_unsigned;
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_FLOAT_EXTREMA_H_
