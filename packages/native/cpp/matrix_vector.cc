// The product of a matrix, whose rows lie in memory one by one, and a vector.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "float_passes.h"
#include "handler.h"
#include "parallel.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// Of each row, the sum of its products with the vector: in lanes, and blocks as in SumOfRow.
template <typename T, int kBytes>
RICCI_INLINE T ProductOfRow(const T* row, const T* vector, size_t n) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kLanes = kBytes / sizeof(T), kStep = kPassVectors * kLanes, kBlock = 64 * kStep;
  T total = 0;
  size_t i = 0;
  while (i + kStep <= n) {
    const size_t end = std::min(n, i + kBlock);
    Vector sums[kPassVectors] = {};
    for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kPassVectors; ++v) {
        Vector x, y;
        std::memcpy(&x, row + i + v * kLanes, kBytes);
        std::memcpy(&y, vector + i + v * kLanes, kBytes);
        sums[v] += x * y;
      }
    }
    total += SumOfLanes<T>(sums);
  }
  T rest = 0;
  for (; i < n; ++i) rest += row[i] * vector[i];
  return total + rest;
}

#define RICCI_PRODUCTS_OF_ROWS(name, target, bytes)                                             \
  template <typename T>                                                                         \
  target void Products##name(const T* rows, const T* vector, size_t count, size_t n, T* out) {  \
    for (size_t r = 0; r < count; ++r) {                                                        \
      out[r] = ProductOfRow<T, bytes>(rows + r * n, vector, n);                                 \
    }                                                                                           \
  }

#if RICCI_HAS_TARGETS
RICCI_PRODUCTS_OF_ROWS(Of256, RICCI_TARGET("arch=x86-64-v3"), 32)
#endif
RICCI_PRODUCTS_OF_ROWS(Of128, , 16)

template <typename T>
auto ChosenProducts() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() >= 32) return ProductsOf256<T>;
#endif
  return ProductsOf128<T>;
}

ffi::Error MatrixVector(ffi::ThreadPool pool, ffi::AnyBuffer matrix, ffi::AnyBuffer vector,
                        ffi::Result<ffi::AnyBuffer> out) {
  const auto multiply = [&](auto zero) {
    using T = decltype(zero);
    const auto products = ChosenProducts<T>();
    const T* rows = static_cast<const T*>(matrix.untyped_data());
    const T* factors = static_cast<const T*>(vector.untyped_data());
    T* results = static_cast<T*>(out->untyped_data());
    const size_t n = vector.element_count();
    ForEachRange(pool, out->element_count(), n, [&](size_t first, size_t count) {
      products(rows + first * n, factors, count, n, results + first);
    });
    return ffi::Error::Success();
  };
  switch (matrix.element_type()) {
    case ffi::F32: return multiply(float());
    case ffi::F64: return multiply(double());
    default: return ffi::Error::InvalidArgument("ricci_native multiplies no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciMatrixVector, ricci::MatrixVector,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>())
