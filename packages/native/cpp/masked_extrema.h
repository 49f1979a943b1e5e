// The extremum of each row of floats, by the comparisons of AVX-512, whose masks tell of NaNs.

#ifndef RICCI_NATIVE_MASKED_EXTREMA_H_
#define RICCI_NATIVE_MASKED_EXTREMA_H_

#include "vectors.h"

#if RICCI_HAS_TARGETS

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // within GCC 12's own header
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstddef>
#include <limits>

#define RICCI_MASKED RICCI_TARGET("arch=x86-64-v4")

namespace ricci {
namespace {

template <typename T>
struct MaskedVector;

// Vectors of 32 bytes: rows from beyond the nearest caches are read more slowly by 64. Of zeros of both
// signs 0 is the greater one, as `range` selects. Beside a NaN it returns the number.
template <>
struct MaskedVector<float> {
  using V = __m256;
  static constexpr size_t kLanes = 8;
  RICCI_MASKED static V All(float x) { return _mm256_set1_ps(x); }
  RICCI_MASKED static V Load(const float* p) { return _mm256_loadu_ps(p); }
  RICCI_MASKED static V Load(const float* p, size_t count, V others) {
    return _mm256_mask_loadu_ps(others, static_cast<__mmask8>((1u << count) - 1), p);
  }
  RICCI_MASKED static unsigned HasNaN(V a, V b) { return _mm256_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  template <bool kGreatest>
  RICCI_MASKED static V Choose(V a, V b) {
    return _mm256_range_ps(a, b, kGreatest ? 5 : 4);
  }
  template <bool kGreatest>
  RICCI_MASKED static float Chosen(V x) {
    x = Choose<kGreatest>(x, _mm256_permute2f128_ps(x, x, 0x01));
    x = Choose<kGreatest>(x, _mm256_permute_ps(x, 0x4e));
    x = Choose<kGreatest>(x, _mm256_permute_ps(x, 0xb1));
    return _mm256_cvtss_f32(x);
  }
};

template <>
struct MaskedVector<double> {
  using V = __m256d;
  static constexpr size_t kLanes = 4;
  RICCI_MASKED static V All(double x) { return _mm256_set1_pd(x); }
  RICCI_MASKED static V Load(const double* p) { return _mm256_loadu_pd(p); }
  RICCI_MASKED static V Load(const double* p, size_t count, V others) {
    return _mm256_mask_loadu_pd(others, static_cast<__mmask8>((1u << count) - 1), p);
  }
  RICCI_MASKED static unsigned HasNaN(V a, V b) { return _mm256_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
  template <bool kGreatest>
  RICCI_MASKED static V Choose(V a, V b) {
    return _mm256_range_pd(a, b, kGreatest ? 5 : 4);
  }
  template <bool kGreatest>
  RICCI_MASKED static double Chosen(V x) {
    x = Choose<kGreatest>(x, _mm256_permute2f128_pd(x, x, 0x01));
    x = Choose<kGreatest>(x, _mm256_permute_pd(x, 0x5));
    return _mm256_cvtsd_f64(x);
  }
};

// The greatest or least element of each row; of a row with a NaN, what `again` returns.
template <typename T, bool kGreatest>
RICCI_MASKED void MaskedExtrema(const T* rows, size_t count, size_t n, T* extrema,
                                T (*again)(const T* row, size_t n)) {
  using W = MaskedVector<T>;
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
#endif  // RICCI_NATIVE_MASKED_EXTREMA_H_
