// Numbers from random bits, as XLA computes them on CPUs, to the same bits.

#ifndef RICCI_NATIVE_NORMALS_H_
#define RICCI_NATIVE_NORMALS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "floats.h"
#include "inverse_erf.h"

namespace ricci {

constexpr size_t kBlock = 512;  // elements, which stay in the first cache

template <typename T>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  using U = uint32_t;
  static constexpr int kUnusedBits = 9;
  static constexpr U kOne = 0x3F800000;
  static constexpr float kAboveMinusOne = -0x1.fffffep-1f;
};
template <>
struct FloatFormat<double> {
  using U = uint64_t;
  static constexpr int kUnusedBits = 12;
  static constexpr U kOne = 0x3FF0000000000000;
  static constexpr double kAboveMinusOne = -0x1.fffffffffffffp-1;
};

// A number in [0, 1), whose digits are the highest of the bits.
template <typename T>
RICCI_INLINE T Fraction(typename FloatFormat<T>::U bits) {
  using Format = FloatFormat<T>;
  return BitCast<T>(bits >> Format::kUnusedBits | Format::kOne) - T(1);
}

// The normal numbers of at most a block of uniform ones between -1 and 1.
template <typename T>
RICCI_INLINE void NormalBlock(const T* u, size_t count, T* __restrict out) {
  using Inverse = InverseErf<T>;
  constexpr T kRoot = T(1.4142135623730951);
  T x[kBlock], log1p[kBlock];
  uint32_t marked[kBlock];
  for (size_t i = 0; i < count; ++i) x[i] = u[i] * -u[i];
  if constexpr (sizeof(T) == 4) {
    for (size_t i = 0; i < count; ++i) {
      const T small = SmallLog1p(x[i]), large = NormalLog(T(1) + x[i]);
      log1p[i] = Inverse::IsSmall(x[i]) ? small : large;
    }
  } else {
    // XLA calls the logarithm of the C library; only where it is selected it is called here.
    for (size_t i = 0; i < count; ++i) log1p[i] = SmallLog1p(x[i]);
    size_t large = 0;
    for (size_t i = 0; i < count; ++i) {
      marked[large] = static_cast<uint32_t>(i);
      large += !Inverse::IsSmall(x[i]);
    }
    for (size_t j = 0; j < large; ++j) log1p[marked[j]] = std::log(T(1) + x[marked[j]]);
  }
  for (size_t i = 0; i < count; ++i) out[i] = Inverse::Center(u[i], log1p[i]) * kRoot;
  size_t tails = 0;
  for (size_t i = 0; i < count; ++i) {
    marked[tails] = static_cast<uint32_t>(i);
    tails += !Inverse::IsCentral(log1p[i]);
  }
  for (size_t j = 0; j < tails; ++j) {
    const uint32_t i = marked[j];
    out[i] = Inverse::Tail(u[i], log1p[i]) * kRoot;
  }
}

}  // namespace ricci

#endif  // RICCI_NATIVE_NORMALS_H_
