// The greatest or least element of a row of floats, by their bits.

#ifndef RICCI_NATIVE_FLOAT_EXTREMA_H_
#define RICCI_NATIVE_FLOAT_EXTREMA_H_

#include <cstddef>
#include <cstring>
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

// The extremes of bits that are read as integers of type I and, at the same time, of type J. Vectors are
// written as such: of the same loop over arrays compilers keep some accumulators in memory.
template <typename U, typename I, typename J, typename BestI, typename BestJ>
inline __attribute__((always_inline)) void Extremes(size_t n, const U* row, const BestI& best_i,
                                                    const BestJ& best_j, I* i, J* j) {
  constexpr size_t kBytes = 32, kLanes = kBytes / sizeof(U), kVectors = 4;
  typedef U Bits __attribute__((vector_size(kBytes)));
  typedef I Is __attribute__((vector_size(kBytes)));
  typedef J Js __attribute__((vector_size(kBytes)));
  Is is[kVectors];
  Js js[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    is[v] = Is{} + *i;
    js[v] = Js{} + *j;
  }
  size_t start = 0;
  for (; start + kVectors * kLanes <= n; start += kVectors * kLanes) {
    for (size_t v = 0; v < kVectors; ++v) {
      Bits bits;
      std::memcpy(&bits, row + start + v * kLanes, kBytes);
      best_i(is[v], (Is)bits);
      best_j(js[v], (Js)bits);
    }
  }
  for (size_t v = 1; v < kVectors; ++v) {
    best_i(is[0], is[v]);
    best_j(js[0], js[v]);
  }
  I best_of_is = *i;
  J best_of_js = *j;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    best_i(best_of_is, is[0][lane]);
    best_j(best_of_js, js[0][lane]);
  }
  for (; start < n; ++start) {
    best_i(best_of_is, static_cast<I>(row[start]));
    best_j(best_of_js, static_cast<J>(row[start]));
  }
  *i = best_of_is;
  *j = best_of_js;
}

// Floats are ordered as the integers of their bits where they are positive, and in the opposite order
// where they are negative. So the greatest signed integer is the greatest element, if one is positive;
// the greatest unsigned integer is the least element, if one is negative. A positive NaN is a greater
// signed integer than infinity, a negative one a greater unsigned integer than minus infinity. Where
// all signs are the other one, the row is read again.
template <typename Form, bool kGreatest, typename U = typename Form::U>
RICCI_VECTORIZED U Extremum(size_t n, const U* row) {
  using S = std::make_signed_t<U>;
  const auto greatest = [](auto& best, const auto& other) { best = best < other ? other : best; };
  const auto least = [](auto& best, const auto& other) { best = other < best ? other : best; };
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
