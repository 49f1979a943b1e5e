// One pass over a row of floats: its sum, and its greatest or least element beside the sum.

#ifndef RICCI_NATIVE_FLOAT_PASSES_H_
#define RICCI_NATIVE_FLOAT_PASSES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "masked_extrema.h"
#include "vectors.h"

namespace ricci {
namespace {

constexpr size_t kPassVectors = 4;

// The combination of the lanes of a vector: of its parts of 16 bytes, then of the elements of one.
// combine(a, b) changes a.
template <typename T, typename Vector, typename Combine>
RICCI_INLINE T CombineLanes(const Vector& vector, const Combine& combine) {
  typedef T Part __attribute__((vector_size(16)));
  constexpr size_t kParts = sizeof(Vector) / 16, kLanes = 16 / sizeof(T);
  Part parts[kParts];
  std::memcpy(parts, &vector, sizeof(vector));
#pragma GCC unroll 4
  for (size_t p = 1; p < kParts; ++p) combine(parts[0], parts[p]);
  T result = parts[0][0];
#pragma GCC unroll 4
  for (size_t lane = 1; lane < kLanes; ++lane) combine(result, T(parts[0][lane]));
  return result;
}

template <typename T, typename Vector>
RICCI_INLINE T SumOfLanes(const Vector (&sums)[kPassVectors]) {
  const Vector total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return CombineLanes<T>(total, [](auto& a, const auto& b) { a += b; });
}

// The sum of a row, of the sums of blocks: an element is rounded in at most 64 sums and those of the
// blocks.
template <typename T, int kBytes>
RICCI_INLINE T SumOfRow(const T* row, size_t n) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kStep = kPassVectors * kBytes / sizeof(T), kBlock = 64 * kStep;
  T total = 0;
  size_t i = 0;
  while (i + kStep <= n) {
    const size_t end = std::min(n, i + kBlock);
    Vector sums[kPassVectors] = {};
    for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kPassVectors; ++v) {
        Vector x;
        std::memcpy(&x, row + i + v * (kStep / kPassVectors), kBytes);
        sums[v] += x;
      }
    }
    total += SumOfLanes<T>(sums);
  }
  T rest = 0;
  for (; i < n; ++i) rest += row[i];
  return total + rest;
}

// The greatest or least element of a row of at least one, if the sum that is stored is not NaN: a sum
// is NaN beside a NaN, and of opposite infinities.
template <typename T, int kBytes, bool kGreatest>
RICCI_INLINE T ExtremumOfRow(const T* row, size_t n, T* sum) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kLanes = kBytes / sizeof(T), kStep = kPassVectors * kLanes;
  const auto choose = [](auto& a, const auto& b) {
    if constexpr (kGreatest) {
      a = a < b ? b : a;
    } else {
      a = b < a ? b : a;
    }
  };
  Vector best[kPassVectors], sums[kPassVectors] = {};
  constexpr T kWorst = (kGreatest ? -1 : 1) * std::numeric_limits<T>::infinity();
  for (size_t v = 0; v < kPassVectors; ++v) best[v] = Vector{} + kWorst;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kPassVectors; ++v) {
      Vector x;
      std::memcpy(&x, row + i + v * kLanes, kBytes);
      choose(best[v], x);
      sums[v] += x;
    }
  }
#pragma GCC unroll 4
  for (size_t v = 1; v < kPassVectors; ++v) choose(best[0], best[v]);
  T result = CombineLanes<T>(best[0], choose);
  T rest = 0;
  for (; i < n; ++i) {
    choose(result, row[i]);
    rest += row[i];
  }
  *sum = SumOfLanes<T>(sums) + rest;
  return result;
}

template <typename T>
struct Passes {
  // The sum of each of `count` rows of n elements.
  void (*sums)(const T* rows, size_t count, size_t n, T* sums);
  // The extremum of each row; what `again` returns where one pass does not find it: beside a NaN, and
  // for some functions where it may be either zero, or with opposite infinities.
  using Extrema = void (*)(const T* rows, size_t count, size_t n, T* extrema,
                           T (*again)(const T* row, size_t n));
  Extrema greatest, least;
};

#define RICCI_PASSES(name, target, bytes)                                                    \
  template <typename T>                                                                      \
  target void Sums##name(const T* rows, size_t count, size_t n, T* sums) {                   \
    for (size_t r = 0; r < count; ++r) sums[r] = SumOfRow<T, bytes>(rows + r * n, n);        \
  }                                                                                          \
  template <typename T, bool kGreatest>                                                      \
  target void Extrema##name(const T* rows, size_t count, size_t n, T* extrema,               \
                            T (*again)(const T* row, size_t n)) {                            \
    for (size_t r = 0; r < count; ++r) {                                                     \
      T sum;                                                                                 \
      const T extremum = ExtremumOfRow<T, bytes, kGreatest>(rows + r * n, n, &sum);          \
      extrema[r] = sum == sum && extremum != 0 ? extremum : again(rows + r * n, n);          \
    }                                                                                        \
  }

#if RICCI_HAS_TARGETS
RICCI_PASSES(Of256, RICCI_TARGET("arch=x86-64-v3"), 32)
#endif
RICCI_PASSES(Of128, , 16)

// Sums in vectors of 64 bytes are slower than those of 32 where rows come from beyond the nearest caches.
template <typename T>
Passes<T> ChosenPasses() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() >= 64) return {SumsOf256<T>, MaskedExtrema<T, true>, MaskedExtrema<T, false>};
  if (VectorBytes() >= 32) return {SumsOf256<T>, ExtremaOf256<T, true>, ExtremaOf256<T, false>};
#endif
  return {SumsOf128<T>, ExtremaOf128<T, true>, ExtremaOf128<T, false>};
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_FLOAT_PASSES_H_
