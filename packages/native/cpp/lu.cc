// The LU factorization, with partial pivoting, of many small matrices.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "handler.h"
#include "lanes.h"
#include "parallel.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// Factorizes a matrix of `rows` rows of n <= kWidth elements, as LAPACK's getrf does: below the
// diagonal of the result are the factors of the rows, on and above it what is left of them. The pivot of
// a column is the first of its greatest magnitudes. `pivots` tells the exchanges, `permutation` the
// order of the rows after all of them.
//
// Rows are copied to a length that the compiler knows, so that they are added by vector instructions.
template <typename T, int kWidth>
RICCI_VECTORIZED void Factorize(int rows, int n, const T* matrix, T* result, int32_t* pivots,
                                int32_t* permutation) {
  T left[kWidth][kWidth], factors[kWidth][kWidth];
  int order[kWidth];
  for (int i = 0; i < rows; ++i) {
    if (n == kWidth) {
      std::copy_n(matrix + i * n, kWidth, left[i]);
    } else {
      for (int j = 0; j < kWidth; ++j) left[i][j] = j < n ? matrix[i * n + j] : T(0);
    }
    order[i] = i;
  }
  for (int k = 0; k < std::min(rows, n); ++k) {
    int best = k;
    T greatest = std::abs(left[order[k]][k]);
    for (int i = k + 1; i < rows; ++i) {
      const T magnitude = std::abs(left[order[i]][k]);
      const bool is_greater = magnitude > greatest;
      best = is_greater ? i : best;
      greatest = is_greater ? magnitude : greatest;
    }
    std::swap(order[k], order[best]);
    pivots[k] = best;
    T pivot_row[kWidth];
    std::copy_n(left[order[k]], kWidth, pivot_row);
    // A column of zeros has factors of zero.
    const T pivot = pivot_row[k] == 0 ? T(1) : pivot_row[k], inverse = 1 / pivot;
    // The inverse of a tiny pivot may be infinite.
    const bool multiplies = std::abs(pivot) >= std::numeric_limits<T>::min();
    for (int i = k + 1; i < rows; ++i) {
      T* row = left[order[i]];
      const T factor = multiplies ? row[k] * inverse : row[k] / pivot;
      factors[order[i]][k] = factor;
      // In the columns up to k there is nothing left that is read.
      for (int j = 0; j < kWidth; ++j) row[j] -= factor * pivot_row[j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    permutation[i] = order[i];
    const int from = std::min(i, n);
    const T *factor = factors[order[i]], *rest = left[order[i]];
    for (int j = 0; j < n; ++j) result[i * n + j] = j < from ? factor[j] : rest[j];
  }
}

template <typename T>
void FactorizeAll(ffi::ThreadPool& pool, ffi::AnyBuffer in, T* out, int32_t* pivots,
                  int32_t* permutation) {
  const auto sizes = in.dimensions();
  const int64_t rows = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
  const int64_t size = rows * n, least = std::min(rows, n);
  const T* matrices = static_cast<const T*>(in.untyped_data());
  const auto factorize = std::max(rows, n) <= 8    ? Factorize<T, 8>
                         : std::max(rows, n) <= 16 ? Factorize<T, 16>
                                                   : Factorize<T, 32>;
  ForEachRow(pool, in.element_count() / size, size, [&](size_t i) {
    factorize(rows, n, matrices + i * size, out + i * size, pivots + i * least,
              permutation + i * rows);
  });
}

ffi::Error Lu(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
              ffi::Result<ffi::AnyBuffer> pivots, ffi::Result<ffi::AnyBuffer> permutation) {
  const auto sizes = in.dimensions();
  if (sizes.size() < 2 || std::max(sizes[sizes.size() - 1], sizes[sizes.size() - 2]) > 32) {
    return ffi::Error::InvalidArgument("ricci_native factorizes no such matrices");
  }
  auto* exchanges = static_cast<int32_t*>(pivots->untyped_data());
  auto* order = static_cast<int32_t*>(permutation->untyped_data());
  switch (in.element_type()) {
    case ffi::F32:
      FactorizeAll(pool, in, static_cast<float*>(out->untyped_data()), exchanges, order);
      return ffi::Error::Success();
    case ffi::F64:
      FactorizeAll(pool, in, static_cast<double*>(out->untyped_data()), exchanges, order);
      return ffi::Error::Success();
    default: return ffi::Error::InvalidArgument("ricci_native factorizes no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciLu, ricci::Lu,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>())
