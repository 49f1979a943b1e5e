// Sums of shifted elements, and sums of products with shifted elements, in vector registers.

#ifndef RICCI_NATIVE_TAPS_H_
#define RICCI_NATIVE_TAPS_H_

#include <cstddef>
#include <cstdint>

#include "vectors.h"

namespace ricci {
namespace {

// Of the elements at in + offsets[t] + p, times weights[t][o], the sums over t, for kOutputs results
// of kVectors vectors of neighbours.
template <typename T, int kBytes, int kOutputs, int kVectors>
RICCI_INLINE void SumOfTaps(const T* in, const int64_t* offsets, size_t taps, const T* weights,
                            T* out, size_t pitch) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr size_t kWidth = kBytes / sizeof(T);
  Vector sums[kOutputs][kVectors] = {};
  for (size_t t = 0; t < taps; ++t, weights += kOutputs) {
    Vector x[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      x[v] = *reinterpret_cast<const Vector*>(in + offsets[t] + v * kWidth);
    }
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[o][v] += x[v] * weights[o];
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Vector*>(out + o * pitch + v * kWidth) = sums[o][v];
    }
  }
}

template <typename T, int kBytes, int kOutputs, int kVectors>
RICCI_INLINE void SumsOfTaps(const T* in, size_t length, const int64_t* offsets, size_t taps,
                             const T* weights, T* out, size_t pitch) {
  constexpr size_t kWidth = kBytes / sizeof(T);
  size_t p = 0;
  for (; p + (kVectors - 1) * kWidth < length; p += kVectors * kWidth) {
    SumOfTaps<T, kBytes, kOutputs, kVectors>(in + p, offsets, taps, weights, out + p, pitch);
  }
  for (; p < length; p += kWidth) {
    SumOfTaps<T, kBytes, kOutputs, 1>(in + p, offsets, taps, weights, out + p, pitch);
  }
}

// Adds to each of kOutputs times kTaps vectors the products of the elements of a factor and those at
// in + offsets[t], one by one, along the whole length.
template <typename T, int kBytes, int kOutputs, int kTaps>
RICCI_INLINE void AddProducts(const T* factors, size_t pitch, const T* in, const int64_t* offsets,
                              size_t length, T* out, size_t out_pitch) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr size_t kWidth = kBytes / sizeof(T);
  Vector sums[kOutputs][kTaps];
  const T* starts[kTaps];
#pragma GCC unroll 8
  for (int t = 0; t < kTaps; ++t) {
    starts[t] = in + offsets[t];
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      sums[o][t] = *reinterpret_cast<const Vector*>(out + o * out_pitch + t * kWidth);
    }
  }
  for (size_t p = 0; p < length; p += kWidth) {
    Vector x[kTaps];
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t) x[t] = *reinterpret_cast<const Vector*>(starts[t] + p);
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      const Vector factor = *reinterpret_cast<const Vector*>(factors + o * pitch + p);
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) sums[o][t] += factor * x[t];
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      *reinterpret_cast<Vector*>(out + o * out_pitch + t * kWidth) = sums[o][t];
    }
  }
}

template <typename T, int kBytes, int kOutputs, int kTaps>
RICCI_INLINE void AddProductsOfTaps(const T* factors, size_t pitch, const T* in,
                                    const int64_t* offsets, size_t taps, size_t length, T* out,
                                    size_t out_pitch) {
  constexpr size_t kWidth = kBytes / sizeof(T);
  size_t t = 0;
  for (; t + kTaps <= taps; t += kTaps) {
    AddProducts<T, kBytes, kOutputs, kTaps>(factors, pitch, in, offsets + t, length,
                                            out + t * kWidth, out_pitch);
  }
  for (; t < taps; ++t) {
    AddProducts<T, kBytes, kOutputs, 1>(factors, pitch, in, offsets + t, length, out + t * kWidth,
                                        out_pitch);
  }
}

// The innermost loops, compiled for one instruction set.
template <typename T>
struct Loops {
  // Of a vector, in elements.
  size_t width;
  // The most results at once: a power of 2.
  size_t most_outputs;
  // As SumsOfTaps, of a number of results.
  void (*sum_taps)(size_t outputs, const T* in, size_t length, const int64_t* offsets, size_t taps,
                   const T* weights, T* out, size_t pitch);
  // The most factors at once: a power of 2.
  size_t most_factors;
  // As AddProductsOfTaps, of a number of factors.
  void (*add_products)(size_t outputs, const T* factors, size_t pitch, const T* in,
                       const int64_t* offsets, size_t taps, size_t length, T* out,
                       size_t out_pitch);
};

// An array of sums fills most of the vector registers: there are 32, or 16.
#define RICCI_LOOPS(name, target, bytes, most, vectors_of_most, vectors, factors, taps)             \
  template <typename T>                                                                           \
  target void SumTaps##name(size_t outputs, const T* in, size_t length, const int64_t* offsets,    \
                            size_t count, const T* weights, T* out, size_t pitch) {               \
    constexpr int kMost = most;                                                                   \
    if (outputs == kMost) {                                                                       \
      SumsOfTaps<T, bytes, kMost, vectors_of_most>(in, length, offsets, count, weights, out,      \
                                                   pitch);                                        \
    } else if (outputs == 4) {                                                                    \
      SumsOfTaps<T, bytes, 4, vectors>(in, length, offsets, count, weights, out, pitch);          \
    } else if (outputs == 2) {                                                                    \
      SumsOfTaps<T, bytes, 2, vectors>(in, length, offsets, count, weights, out, pitch);          \
    } else {                                                                                      \
      SumsOfTaps<T, bytes, 1, vectors>(in, length, offsets, count, weights, out, pitch);          \
    }                                                                                             \
  }                                                                                               \
  template <typename T>                                                                           \
  target void AddProducts##name(size_t outputs, const T* from, size_t pitch, const T* in,          \
                                const int64_t* offsets, size_t count, size_t length, T* out,      \
                                size_t out_pitch) {                                               \
    if (outputs == factors) {                                                                     \
      AddProductsOfTaps<T, bytes, factors, taps>(from, pitch, in, offsets, count, length, out,    \
                                                 out_pitch);                                      \
    } else {                                                                                      \
      AddProductsOfTaps<T, bytes, 1, taps>(from, pitch, in, offsets, count, length, out,          \
                                           out_pitch);                                            \
    }                                                                                             \
  }                                                                                               \
  template <typename T>                                                                           \
  Loops<T> Loops##name() {                                                                        \
    return {bytes / sizeof(T), most, SumTaps##name<T>, factors, AddProducts##name<T>};            \
  }

#if RICCI_HAS_TARGETS
RICCI_LOOPS(Of512, RICCI_TARGET("arch=x86-64-v4,prefer-vector-width=512"), 64, 8, 3, 6, 4, 6)
RICCI_LOOPS(Of256, RICCI_TARGET("arch=x86-64-v3"), 32, 4, 3, 3, 2, 4)
#endif
RICCI_LOOPS(Of128, , 16, 4, 2, 2, 2, 4)

template <typename T>
Loops<T> ChosenLoops() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() == 64) return LoopsOf512<T>();
  if (VectorBytes() == 32) return LoopsOf256<T>();
#endif
  return LoopsOf128<T>();
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_TAPS_H_
