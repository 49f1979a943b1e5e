// Passes over rows of floats in vectors of 64 bytes, for processors with AVX-512.

#ifndef RICCI_NATIVE_WIDE_PASSES_H_
#define RICCI_NATIVE_WIDE_PASSES_H_

#include "vectors.h"

#if RICCI_HAS_TARGETS

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // within GCC 12's own header
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstddef>
#include <limits>

#define RICCI_WIDE RICCI_TARGET("arch=x86-64-v4")

namespace ricci {
namespace {

template <typename T>
struct Wide;

// Of zeros of both signs 0 is the greater one, as `range` selects. Beside a NaN it returns the number.
template <>
struct Wide<float> {
  using V = __m512;
  static constexpr size_t kLanes = 16;
  RICCI_WIDE static V All(float x) { return _mm512_set1_ps(x); }
  RICCI_WIDE static V Load(const float* p) { return _mm512_loadu_ps(p); }
  RICCI_WIDE static V Load(const float* p, size_t count, V others) {
    return _mm512_mask_loadu_ps(others, static_cast<__mmask16>((1u << count) - 1), p);
  }
  RICCI_WIDE static void Store(float* p, V x) { _mm512_storeu_ps(p, x); }
  RICCI_WIDE static V Add(V a, V b) { return _mm512_add_ps(a, b); }
  RICCI_WIDE static float Sum(V x) { return _mm512_reduce_add_ps(x); }
  RICCI_WIDE static unsigned HasNaN(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  template <bool kGreatest>
  RICCI_WIDE static V Choose(V a, V b) {
    return _mm512_range_ps(a, b, kGreatest ? 5 : 4);
  }
  template <bool kGreatest>
  RICCI_WIDE static float Chosen(V x) {
    x = Choose<kGreatest>(x, _mm512_shuffle_f32x4(x, x, 0x4e));
    x = Choose<kGreatest>(x, _mm512_shuffle_f32x4(x, x, 0xb1));
    x = Choose<kGreatest>(x, _mm512_permute_ps(x, 0x4e));
    x = Choose<kGreatest>(x, _mm512_permute_ps(x, 0xb1));
    return _mm512_cvtss_f32(x);
  }
};

template <>
struct Wide<double> {
  using V = __m512d;
  static constexpr size_t kLanes = 8;
  RICCI_WIDE static V All(double x) { return _mm512_set1_pd(x); }
  RICCI_WIDE static V Load(const double* p) { return _mm512_loadu_pd(p); }
  RICCI_WIDE static V Load(const double* p, size_t count, V others) {
    return _mm512_mask_loadu_pd(others, static_cast<__mmask8>((1u << count) - 1), p);
  }
  RICCI_WIDE static void Store(double* p, V x) { _mm512_storeu_pd(p, x); }
  RICCI_WIDE static V Add(V a, V b) { return _mm512_add_pd(a, b); }
  RICCI_WIDE static double Sum(V x) { return _mm512_reduce_add_pd(x); }
  RICCI_WIDE static unsigned HasNaN(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
  template <bool kGreatest>
  RICCI_WIDE static V Choose(V a, V b) {
    return _mm512_range_pd(a, b, kGreatest ? 5 : 4);
  }
  template <bool kGreatest>
  RICCI_WIDE static double Chosen(V x) {
    x = Choose<kGreatest>(x, _mm512_shuffle_f64x2(x, x, 0x4e));
    x = Choose<kGreatest>(x, _mm512_shuffle_f64x2(x, x, 0xb1));
    x = Choose<kGreatest>(x, _mm512_permute_pd(x, 0x55));
    return _mm512_cvtsd_f64(x);
  }
};

// The sum of each row, of four vectors and blocks as in SumOfRow.
template <typename T>
RICCI_WIDE void SumsOf512(const T* rows, size_t count, size_t n, T* sums) {
  using W = Wide<T>;
  using V = typename W::V;
  constexpr size_t kStep = 4 * W::kLanes, kBlock = 64 * kStep;
  const V zero = W::All(0);
  for (size_t r = 0; r < count; ++r, rows += n) {
    V total = zero;
    size_t i = 0;
    while (i + kStep <= n) {
      const size_t end = std::min(n, i + kBlock);
      V a = zero, b = zero, c = zero, d = zero;
      for (; i + kStep <= end; i += kStep) {
        a = W::Add(a, W::Load(rows + i));
        b = W::Add(b, W::Load(rows + i + W::kLanes));
        c = W::Add(c, W::Load(rows + i + 2 * W::kLanes));
        d = W::Add(d, W::Load(rows + i + 3 * W::kLanes));
      }
      total = W::Add(total, W::Add(W::Add(a, b), W::Add(c, d)));
    }
    for (; i + W::kLanes <= n; i += W::kLanes) total = W::Add(total, W::Load(rows + i));
    if (i < n) total = W::Add(total, W::Load(rows + i, n - i, zero));
    sums[r] = W::Sum(total);
  }
}

// The greatest or least element of each row; of a row with a NaN, what `again` returns.
template <typename T, bool kGreatest>
RICCI_WIDE void ExtremaOf512(const T* rows, size_t count, size_t n, T* extrema,
                             T (*again)(const T* row, size_t n)) {
  using W = Wide<T>;
  using V = typename W::V;
  constexpr size_t kStep = 4 * W::kLanes;
  const V worst = W::All((kGreatest ? -1 : 1) * std::numeric_limits<T>::infinity());
  for (size_t r = 0; r < count; ++r, rows += n) {
    V a = worst, b = worst, c = worst, d = worst;
    unsigned has_nan = 0;
    size_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      const V x = W::Load(rows + i), y = W::Load(rows + i + W::kLanes);
      const V z = W::Load(rows + i + 2 * W::kLanes), w = W::Load(rows + i + 3 * W::kLanes);
      has_nan |= W::HasNaN(x, y) | W::HasNaN(z, w);
      a = W::template Choose<kGreatest>(a, x);
      b = W::template Choose<kGreatest>(b, y);
      c = W::template Choose<kGreatest>(c, z);
      d = W::template Choose<kGreatest>(d, w);
    }
    for (; i < n; i += W::kLanes) {
      const V x = W::Load(rows + i, std::min(n - i, W::kLanes), worst);
      has_nan |= W::HasNaN(x, x);
      a = W::template Choose<kGreatest>(a, x);
    }
    a = W::template Choose<kGreatest>(a, b);
    c = W::template Choose<kGreatest>(c, d);
    extrema[r] = has_nan ? again(rows, n)
                         : W::template Chosen<kGreatest>(W::template Choose<kGreatest>(a, c));
  }
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_HAS_TARGETS
#endif  // RICCI_NATIVE_WIDE_PASSES_H_
