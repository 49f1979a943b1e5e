// Cholesky factors of matrices, by blocks of columns.

#include <cmath>
#include <limits>
#include <memory>

#include "handler.h"
#include "lanes.h"
#include "parallel.h"
#include "products.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// The columns of a block, and a block's columns of some rows.
constexpr size_t kBlock = 32;

// Replaces the elements x of rows, less their sums of products, by those of x l⁻ᵀ. Sums are subtracted when
// they are complete: the elements are much greater than most terms. `columns` are the rows of lᵀ, with
// zeros on and left of the diagonal, whose inverses are `inverses`. Steps of several rows take turns,
// since each waits for the last one of its row.
template <typename T>
RICCI_VECTORIZED void SolveRows(size_t rows, T* x, T* sums, const T* columns, const T* inverses) {
  constexpr size_t kRows = 8;
  for (size_t start = 0; start < rows; start += kRows) {
    const size_t end = std::min(rows, start + kRows);
    for (size_t j = 0; j < kBlock; ++j) {
      for (size_t r = start; r < end; ++r) {
        T* sum = sums + r * kBlock;
        const T factor = (x[r * kBlock + j] - sum[j]) * inverses[j];
        for (size_t l = 0; l < kBlock; ++l) sum[l] += factor * columns[j * kBlock + l];
        x[r * kBlock + j] = factor;
      }
    }
  }
}

// Factorizes the first rows of a block, and prepares SolveRows for the others. Returns false if the
// matrix is not positive definite.
template <typename T>
RICCI_VECTORIZED bool FactorizeSquare(size_t size, T* x, T* sums, T* columns, T* inverses) {
  std::fill_n(columns, kBlock * kBlock, T(0));
  for (size_t j = 0; j < size; ++j) {
    const T pivot = x[j * kBlock + j] - sums[j * kBlock + j];
    if (pivot <= 0) return false;  // and a NaN is passed on, as by LAPACK
    const T root = std::sqrt(pivot);
    T* column = columns + j * kBlock;
    x[j * kBlock + j] = root;
    inverses[j] = 1 / root;
    for (size_t r = j + 1; r < size; ++r) {
      column[r] = (x[r * kBlock + j] - sums[r * kBlock + j]) / root;
      x[r * kBlock + j] = column[r];
    }
    for (size_t r = j + 1; r < size; ++r) {
      T* sum = sums + r * kBlock;
      for (size_t l = 0; l < kBlock; ++l) sum[l] += column[r] * column[l];
    }
  }
  return true;
}

// Copies the rows of a block from those of a matrix: elements of the lower triangle, or the means of them and
// of those of the upper one. A block's columns of the latter are read along rows.
template <typename T>
RICCI_VECTORIZED void CopyBlock(size_t n, size_t start, size_t width, bool symmetrizes, const T* a,
                                T* block) {
  constexpr size_t kRows = 64 / sizeof(T);
  const size_t rows = n - start;
  const T *lower = a + start * n + start, *upper = lower;
  if (!symmetrizes) {
    for (size_t r = 0; r < rows; ++r) std::copy_n(lower + r * n, width, block + r * kBlock);
    return;
  }
  for (size_t first = 0; first < rows; first += kRows) {
    const size_t last = std::min(rows, first + kRows);
    T turned[kRows][kBlock];
    for (size_t l = 0; l < width; ++l) {
      for (size_t r = first; r < last; ++r) turned[r - first][l] = upper[l * n + r];
    }
    for (size_t r = first; r < last; ++r) {
      const T *row = lower + r * n, *column = turned[r - first];
      for (size_t l = 0; l < width; ++l) block[r * kBlock + l] = (row[l] + column[l]) / 2;
    }
  }
}

// Writes the lower factor of a matrix of n rows; NaNs if it is not positive definite.
template <typename T>
void Factorize(size_t n, bool symmetrizes, const T* a, T* l, T* block, T* space) {
  T columns[kBlock * kBlock], inverses[kBlock];
  T *sums = space, *panel = space + n * kBlock;
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t width = std::min(kBlock, n - start), rows = n - start;
    // The products of the rows with those of the block, over the columns that are done. The last block
    // may be narrower: its rows are spread.
    const Matrix<const T> done{l + start * n, n, 1}, transposed{l + start * n, 1, n};
    FastestMultiply<T>(width)(rows, width, start, done, transposed, sums, panel);
    for (size_t r = rows; width < kBlock && r-- > 0;) {
      std::copy_backward(sums + r * width, sums + (r + 1) * width, sums + r * kBlock + width);
      std::fill(sums + r * kBlock + width, sums + (r + 1) * kBlock, T(0));
    }
    CopyBlock(n, start, width, symmetrizes, a, block);
    if (!FactorizeSquare(width, block, sums, columns, inverses)) {
      for (size_t r = 0; r < n; ++r) {
        std::fill_n(l + r * n, r + 1, std::numeric_limits<T>::quiet_NaN());
        std::fill(l + r * n + r + 1, l + (r + 1) * n, T(0));
      }
      return;
    }
    const size_t square = width * kBlock;
    SolveRows(rows - width, block + square, sums + square, columns, inverses);
    for (size_t r = 0; r < rows; ++r) {
      const size_t last = std::min(r + 1, width);
      T* row = l + (start + r) * n + start;
      std::copy_n(block + r * kBlock, last, row);
      if (r < width) std::fill(row + last, l + (start + r + 1) * n, T(0));
    }
  }
}

template <typename T>
void FactorizeAll(ffi::ThreadPool& pool, bool symmetrizes, ffi::AnyBuffer in, ffi::AnyBuffer out) {
  const auto sizes = in.dimensions();
  const size_t n = sizes[sizes.size() - 1];
  const T* matrices = static_cast<const T*>(in.untyped_data());
  T* factors = static_cast<T*>(out.untyped_data());
  ForEachRow(pool, in.element_count() / (n * n), n * n, [&](size_t i) {
    const size_t block = n * kBlock, panel = (n + kRowsAtOnce) * (kPanelBytes / sizeof(T));
    const std::unique_ptr<T[]> scratch(new T[2 * block + panel]);
    Factorize(n, symmetrizes, matrices + i * n * n, factors + i * n * n, scratch.get(),
              scratch.get() + block);
  });
}

ffi::Error Cholesky(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out, bool symmetrizes) {
  switch (in.element_type()) {
    case ffi::F32: FactorizeAll<float>(pool, symmetrizes, in, *out); return ffi::Error::Success();
    case ffi::F64: FactorizeAll<double>(pool, symmetrizes, in, *out); return ffi::Error::Success();
    default: return ffi::Error::InvalidArgument("ricci_native factorizes no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciCholesky, ricci::Cholesky,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>().Attr<bool>("symmetrizes"))
