// Products of matrices whose operands fit in the caches, by tiles of the result in vector registers.

#ifndef RICCI_NATIVE_PRODUCTS_H_
#define RICCI_NATIVE_PRODUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "lanes.h"

namespace ricci {
namespace {

#define RICCI_INLINE inline __attribute__((always_inline))

// A matrix of which element (i, j) is at data[i * row + j * column].
template <typename T>
struct Matrix {
  T* data;
  size_t row, column;
};

// A tile of `kRows` rows and `kVectors` vectors of columns. `b` has contiguous rows of a given stride. Each
// element adds its products in order, whatever the tile.
template <typename T, int kBytes, int kVectors, int kRows>
RICCI_INLINE void Tile(size_t depth, Matrix<const T> a, const T* b, size_t b_row, T* c, size_t c_row) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kLanes = kBytes / sizeof(T);
  Vector sums[kRows][kVectors] = {};
#pragma GCC unroll 4
  for (size_t p = 0; p < depth; ++p) {
    // Copied one by one, so that each is a register.
    Vector columns[kVectors];
    for (int v = 0; v < kVectors; ++v) std::memcpy(&columns[v], b + p * b_row + v * kLanes, kBytes);
    for (int i = 0; i < kRows; ++i) {
      const T factor = a.data[i * a.row + p * a.column];
      for (int v = 0; v < kVectors; ++v) sums[i][v] += factor * columns[v];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) std::memcpy(c + i * c_row + v * kLanes, &sums[i][v], kBytes);
  }
}

// The tiles of some columns: full ones, then one of the rows that are left.
template <typename T, int kBytes, int kVectors, int kRows>
RICCI_INLINE void Panel(size_t rows, size_t depth, Matrix<const T> a, const T* b, size_t b_row, T* c,
                        size_t c_row) {
  size_t i = 0;
  const auto tile = [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    Tile<T, kBytes, kVectors, kCount>(depth, {a.data + i * a.row, a.row, a.column}, b, b_row, c + i * c_row, c_row);
    i += kCount;
  };
  while (i + kRows <= rows) tile(std::integral_constant<int, kRows>());
  if constexpr (kRows > 4) {
    while (i + 4 <= rows) tile(std::integral_constant<int, 4>());
  }
  if (i + 2 <= rows) tile(std::integral_constant<int, 2>());
  if (i < rows) tile(std::integral_constant<int, 1>());
}

// The rows of a panel with fewer columns than its vectors have that are computed, then copied.
constexpr size_t kRowsAtOnce = 32;

// c = a b, of contiguous rows. `space` is for (depth + kRowsAtOnce) rows of a panel.
template <typename T, int kBytes, int kVectors, int kRows>
RICCI_INLINE void Multiply(size_t rows, size_t columns, size_t depth, Matrix<const T> a,
                           Matrix<const T> b, T* c, T* space) {
  constexpr size_t kWidth = kVectors * kBytes / sizeof(T);
  for (size_t j = 0; j < columns; j += kWidth) {
    const size_t width = std::min(kWidth, columns - j);
    const T* panel = b.data + j * b.column;
    size_t panel_row = b.row;
    if (b.column != 1 || width < kWidth) {
      for (size_t p = 0; p < depth; ++p) {
        for (size_t l = 0; l < width; ++l) space[p * kWidth + l] = panel[p * b.row + l * b.column];
        for (size_t l = width; l < kWidth; ++l) space[p * kWidth + l] = 0;
      }
      panel = space;
      panel_row = kWidth;
    }
    if (width == kWidth) {
      Panel<T, kBytes, kVectors, kRows>(rows, depth, a, panel, panel_row, c + j, columns);
      continue;
    }
    T* results = space + depth * kWidth;
    for (size_t i = 0; i < rows; i += kRowsAtOnce) {
      const size_t some = std::min(kRowsAtOnce, rows - i);
      Panel<T, kBytes, kVectors, kRows>(some, depth, {a.data + i * a.row, a.row, a.column}, panel, panel_row,
                              results, kWidth);
      for (size_t r = 0; r < some; ++r) {
        std::copy_n(results + r * kWidth, width, c + (i + r) * columns + j);
      }
    }
  }
}

// The function for the processor's vectors and a number of columns.
template <typename T>
using MultiplyFunction = void (*)(size_t, size_t, size_t, Matrix<const T>, Matrix<const T>, T*, T*);

// The most bytes of a row of a panel.
constexpr size_t kPanelBytes = 128;

#define RICCI_MULTIPLY(name, attributes, bytes, vectors, tile_rows)                               \
  template <typename T>                                                                           \
  attributes void name(size_t rows, size_t columns, size_t depth, Matrix<const T> a,              \
                       Matrix<const T> b, T* c, T* space) {                                       \
    Multiply<T, bytes, vectors, tile_rows>(rows, columns, depth, a, b, c, space);                 \
  }

RICCI_MULTIPLY(MultiplyBy16, , 16, 2, 4)
#ifdef RICCI_HAS_CLONES
RICCI_MULTIPLY(MultiplyNarrow, __attribute__((target("arch=x86-64-v3"))), 16, 1, 4)
RICCI_MULTIPLY(MultiplyMiddle, __attribute__((target("arch=x86-64-v3"))), 32, 1, 8)
RICCI_MULTIPLY(MultiplyBy32, __attribute__((target("arch=x86-64-v3"))), 32, 2, 4)
RICCI_MULTIPLY(MultiplyHalf, __attribute__((target("arch=x86-64-v4"))), 32, 2, 6)
RICCI_MULTIPLY(MultiplyBy64, __attribute__((target("arch=x86-64-v4"))), 64, 2, 12)
#endif

template <typename T>
MultiplyFunction<T> FastestMultiply(size_t columns) {
#ifdef RICCI_HAS_CLONES
  const size_t bytes = columns * sizeof(T);
  if (__builtin_cpu_supports("x86-64-v3")) {
    if (bytes <= 16) return MultiplyNarrow<T>;
    if (bytes <= 32) return MultiplyMiddle<T>;
    if (!__builtin_cpu_supports("x86-64-v4")) return MultiplyBy32<T>;
    // The last panel is computed whole.
    const bool is_half_full = (bytes - 1) % kPanelBytes < kPanelBytes / 2;
    return is_half_full && bytes < 4 * kPanelBytes ? MultiplyHalf<T> : MultiplyBy64<T>;
  }
#endif
  (void)columns;
  return MultiplyBy16<T>;
}

// Products of many pairs of square matrices, of which a row is a vector: those of the second are in
// registers. Element (i, j) of the first is at a[i * row + j * column].
template <typename T, int kBytes>
RICCI_INLINE void MultiplySquares(size_t count, const T* a, size_t row, size_t column, const T* b,
                                  T* c) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kSize = kBytes / sizeof(T);
  for (size_t i = 0; i < count; ++i, a += kSize * kSize, b += kSize * kSize, c += kSize * kSize) {
    Vector rows[kSize];
#pragma GCC unroll 16
    for (size_t p = 0; p < kSize; ++p) std::memcpy(&rows[p], b + p * kSize, kBytes);
#pragma GCC unroll 4
    for (size_t r = 0; r < kSize; ++r) {
      Vector sum = {};
#pragma GCC unroll 16
      for (size_t p = 0; p < kSize; ++p) sum += a[r * row + p * column] * rows[p];
      std::memcpy(c + r * kSize, &sum, kBytes);
    }
  }
}

template <typename T>
using SquaresFunction = void (*)(size_t, const T*, size_t, size_t, const T*, T*);

#ifdef RICCI_HAS_CLONES
#define RICCI_SQUARES(name, level, bytes)                                                         \
  template <typename T>                                                                           \
  __attribute__((target("arch=x86-64-" level))) void name(size_t count, const T* a, size_t row,    \
                                                          size_t column, const T* b, T* c) {      \
    MultiplySquares<T, bytes>(count, a, row, column, b, c);                                       \
  }

RICCI_SQUARES(SquaresOf16, "v3", 16)
RICCI_SQUARES(SquaresOf32, "v3", 32)
RICCI_SQUARES(SquaresOf64, "v4", 64)
#endif

// The function for matrices of a size, or null.
template <typename T>
SquaresFunction<T> FastestSquares(size_t size) {
#ifdef RICCI_HAS_CLONES
  const size_t bytes = size * sizeof(T);
  if (__builtin_cpu_supports("x86-64-v3")) {
    if (bytes == 16) return SquaresOf16<T>;
    if (bytes == 32) return SquaresOf32<T>;
    if (bytes == 64 && __builtin_cpu_supports("x86-64-v4")) return SquaresOf64<T>;
  }
#endif
  (void)size;
  return nullptr;
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_PRODUCTS_H_
