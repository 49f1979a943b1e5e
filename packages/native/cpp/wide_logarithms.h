// The logarithm of float64 by instructions of AVX-512 that no compiler chooses: tables in registers.

#ifndef RICCI_NATIVE_WIDE_LOGARITHMS_H_
#define RICCI_NATIVE_WIDE_LOGARITHMS_H_

#include "lanes.h"

#ifdef RICCI_HAS_CLONES
// GCC's own header initializes undefined vectors with themselves, and warns of that where inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>

#include "logarithms.h"

#define RICCI_WIDE __attribute__((target("arch=x86-64-v4")))
#define RICCI_WIDE_INLINE inline __attribute__((always_inline, target("arch=x86-64-v4")))

namespace ricci {

using Doubles = __m512d;  // eight

RICCI_WIDE_INLINE Doubles Repeated(double x) { return _mm512_set1_pd(x); }

// Near 1 + j / 16, numbers c of at most 7 bits by which products differ from 1 by at most 0.0333, and
// -ln c in two parts, of which the first is a multiple of 2⁻⁴².
alignas(64) constexpr double kFactors[16] = {
    1.0, 0.9375, 0.890625, 0.84375, 0.796875, 0.765625, 0.7265625, 0.6953125, 0.6640625, 0.640625,
    0.609375, 0.59375, 0.578125, 0.546875, 0.53125, 0.515625};
alignas(64) constexpr double kStarts[16] = {
    0x0.0p+0, 0x1.08598b59e4000p-4, 0x1.da72763844000p-4, 0x1.5bf406b544000p-3,
    0x1.d1037f2656000p-3, 0x1.1178e8227e000p-2, 0x1.4718dc271c000p-2, 0x1.741d876c68000p-2,
    0x1.a334402250000p-2, 0x1.c7ff9c7455000p-2, 0x1.fb358af7a5000p-2, 0x1.0ae76e2d05800p-1,
    0x1.188ee40f24000p-1, 0x1.35028ad9d9000p-1, 0x1.43d9ff2f92000p-1, 0x1.5322e26867800p-1};
alignas(64) constexpr double kEnds[16] = {
    0x0.0p+0, -0x1.7e5dd7009902cp-46, 0x1.a89401fa71733p-46, -0x1.27023eb68981cp-46,
    -0x1.84a7e75b6f6e4p-47, 0x1.1ef78ce2d07f2p-44, 0x1.06c18fb4c14c5p-44, -0x1.13a7b5b11cfa7p-44,
    -0x1.61cdd40314305p-44, 0x1.324911f56db29p-44, -0x1.def40b87d36d9p-44, -0x1.82de51de06076p-44,
    -0x1.accec41d52e6cp-44, -0x1.bd1f01ab60655p-44, 0x1.e267b0b7efae1p-44, 0x1.5ccc45d257531p-47};

// ln (1 + r) = r - r² / 2 + r³ L(r) for |r| ≤ 0.0333, with relative errors below 2⁻⁶¹.
constexpr double kShortLogarithm[] = {
    0.33333333333332404, -0.2499999999999765,  0.2000000000821817,  -0.1666666668097313,
    0.14285691697124656, -0.12499969940164317, 0.11135539266517165, -0.10026444989677065};

template <size_t kFirst = 0, size_t kCount>
RICCI_WIDE_INLINE Doubles Series(const double (&coefficients)[kCount], Doubles x) {
  const Doubles lowest = Repeated(coefficients[kFirst]);
  if constexpr (kFirst + 1 == kCount) {
    return lowest;
  } else {
    return _mm512_fmadd_pd(Series<kFirst + 1>(coefficients, x), x, lowest);
  }
}

RICCI_WIDE_INLINE Doubles Lookup(const double (&table)[16], __m512i index) {
  return _mm512_permutex2var_pd(_mm512_load_pd(table), index, _mm512_load_pd(table + 8));
}

// ln x = k ln 2 - ln c + ln (1 + r) for x = 2^k m, with the c that is chosen by m, and r = m c - 1.
RICCI_WIDE_INLINE Doubles WideLogarithm(Doubles x) {
  constexpr int64_t kExponent = int64_t{1} << 52, kOne = 0x3FF0000000000000;
  const __m512i bits = _mm512_castpd_si512(x);
  // Rounded to four bits after the first one.
  const __m512i rounded = _mm512_add_epi64(bits, _mm512_set1_epi64(int64_t{1} << 47));
  const __m512i index = _mm512_srli_epi64(rounded, 48);
  const __m512i exponent = _mm512_and_si512(_mm512_sub_epi64(rounded, _mm512_set1_epi64(kOne)),
                                            _mm512_set1_epi64(-kExponent));
  const Doubles m = _mm512_castsi512_pd(_mm512_sub_epi64(bits, exponent));
  const Doubles k = _mm512_getexp_pd(_mm512_castsi512_pd(rounded));
  const Doubles r = _mm512_fmsub_pd(m, Lookup(kFactors, index), Repeated(1));
  const Doubles start = _mm512_fmadd_pd(k, Repeated(kLn2), Lookup(kStarts, index));
  Doubles end = _mm512_fmadd_pd(k, Repeated(kLn2End), Lookup(kEnds, index));
  // The leading terms are added with their rounding errors.
  const Doubles square = _mm512_mul_pd(r, r);
  end = _mm512_fmadd_pd(_mm512_mul_pd(r, square), Series(kShortLogarithm, r), end);
  const Doubles first = _mm512_add_pd(start, r);
  const Doubles total = _mm512_fnmadd_pd(square, Repeated(0.5), first);
  const Doubles error = _mm512_add_pd(_mm512_sub_pd(start, first), r);
  const Doubles second = _mm512_fnmadd_pd(square, Repeated(0.5), _mm512_sub_pd(first, total));
  const Doubles result =
      _mm512_add_pd(total, _mm512_add_pd(_mm512_add_pd(error, second), end));
  const __mmask8 special = _mm512_fpclass_pd_mask(x, 0xFF);  // all but positive normal numbers
  if (__builtin_expect(special == 0, true)) return result;
  alignas(64) double corners[8];
  _mm512_store_pd(corners, x);
  for (double& corner : corners) corner = Logarithm::Of(corner);
  return _mm512_mask_blend_pd(special, result, _mm512_load_pd(corners));
}

RICCI_WIDE inline void WideLogarithms(const double* in, double* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm512_storeu_pd(out + i, WideLogarithm(_mm512_loadu_pd(in + i)));
  if (i == n) return;
  const auto present = static_cast<__mmask8>((1 << (n - i)) - 1);
  const Doubles x = _mm512_mask_loadu_pd(Repeated(1), present, in + i);
  _mm512_mask_storeu_pd(out + i, present, WideLogarithm(x));
}

}  // namespace ricci

#endif  // RICCI_HAS_CLONES
#endif  // RICCI_NATIVE_WIDE_LOGARITHMS_H_
