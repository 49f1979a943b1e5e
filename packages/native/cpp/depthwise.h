// Convolutions of planes with one kernel each, and their derivatives by the kernels.
//
// An element of the operand is loaded once for each column of the kernel, and used for all rows of it.

#ifndef RICCI_NATIVE_DEPTHWISE_H_
#define RICCI_NATIVE_DEPTHWISE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "vectors.h"

namespace ricci {
namespace {

// The rows of a result that are computed at once.
constexpr size_t kRowsOfResult = 4;

// The sizes of a plane of the operand, of its kernel, and of a plane of the result, and what is padded
// before the first row and the first column.
struct PlaneSizes {
  int64_t rows, columns, tall, wide, out_rows, out_columns, low_rows, low_columns;
};

// kRows rows and kVectors vectors of columns of the result, by a kernel of any size.
template <typename T, int kBytes, size_t kRows, size_t kVectors>
RICCI_INLINE void WeighBlock(const T* in, size_t pitch, const T* weights, size_t tall, size_t wide,
                             T* out, size_t out_pitch) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr size_t kWidth = kBytes / sizeof(T);
  Vector sums[kRows][kVectors] = {};
  for (size_t a = 0; a < tall; ++a, in += pitch) {
    for (size_t b = 0; b < wide; ++b) {
      const T weight = *weights++, *x = in + b;
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r, x += pitch) {
#pragma GCC unroll 2
        for (size_t v = 0; v < kVectors; ++v) {
          sums[r][v] += weight * *reinterpret_cast<const Vector*>(x + v * kWidth);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r, out += out_pitch) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Vector*>(out + v * kWidth) = sums[r][v];
    }
  }
}

// As WeighBlock, by a square kernel, each element of which is in a vector of `weights`.
template <typename T, int kBytes, size_t kRows, size_t kVectors, size_t kSize, typename Vector>
RICCI_INLINE void WeighSquare(const T* in, size_t pitch, const Vector (&weights)[kSize][kSize],
                              T* out, size_t out_pitch) {
  constexpr size_t kWidth = kBytes / sizeof(T);
  Vector sums[kRows][kVectors] = {};
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows + kSize - 1; ++r, in += pitch) {
#pragma GCC unroll 8
    for (size_t b = 0; b < kSize; ++b) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) {
        const Vector row = *reinterpret_cast<const Vector*>(in + b + v * kWidth);
#pragma GCC unroll 8
        for (size_t a = 0; a < kSize; ++a) {
          if (a <= r && r - a < kRows) sums[r - a][v] += weights[a][b] * row;
        }
      }
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r, out += out_pitch) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Vector*>(out + v * kWidth) = sums[r][v];
    }
  }
}

// kRows rows of the result, of at least a vector. The last vectors overlap those before them. The kernel
// is a square of kSize unless that is 0.
template <typename T, int kBytes, size_t kRows, size_t kSize>
RICCI_INLINE void WeighRows(const T* in, size_t pitch, const T* weights, size_t tall, size_t wide,
                            T* out, size_t columns) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr size_t kWidth = kBytes / sizeof(T), kPair = 2 * kWidth;
  Vector square[std::max<size_t>(kSize, 1)][std::max<size_t>(kSize, 1)];
  for (size_t i = 0; i < kSize * kSize; ++i) square[i / kSize][i % kSize] = Vector{} + weights[i];
  size_t start = 0;
  // With two vectors the elements of a kernel of 5 by 5 do not stay in registers.
  for (; kSize < 5 && columns >= kPair && start + kWidth < columns; start += kPair) {
    const size_t column = std::min(start, columns - kPair);
    if constexpr (kSize == 0) {
      WeighBlock<T, kBytes, kRows, 2>(in + column, pitch, weights, tall, wide, out + column, columns);
    } else {
      WeighSquare<T, kBytes, kRows, 2>(in + column, pitch, square, out + column, columns);
    }
  }
  for (; start < columns; start += kWidth) {
    const size_t column = std::min(start, columns - kWidth);
    if constexpr (kSize == 0) {
      WeighBlock<T, kBytes, kRows, 1>(in + column, pitch, weights, tall, wide, out + column, columns);
    } else {
      WeighSquare<T, kBytes, kRows, 1>(in + column, pitch, square, out + column, columns);
    }
  }
}

template <typename T, int kBytes, size_t kSize>
RICCI_INLINE void WeighBand(const T* in, size_t pitch, const T* weights, size_t tall, size_t wide,
                            T* out, size_t rows, size_t columns) {
  if (rows < kRowsOfResult) {
    for (size_t r = 0; r < rows; ++r) {
      WeighRows<T, kBytes, 1, kSize>(in + r * pitch, pitch, weights, tall, wide, out + r * columns,
                                     columns);
    }
    return;
  }
  for (size_t start = 0; start < rows; start += kRowsOfResult) {
    const size_t r = std::min(start, rows - kRowsOfResult);
    WeighRows<T, kBytes, kRowsOfResult, kSize>(in + r * pitch, pitch, weights, tall, wide,
                                               out + r * columns, columns);
  }
}

// Adds to sums[a * wide + b], for kTall rows a of a kernel, the products of the elements of `factors`
// and of those of `in`, a rows below and b columns on. There are kTall - 1 rows of zeros below the
// factors. Both have a pitch, and rows of whole pairs of vectors.
template <typename T, int kBytes, size_t kTall>
RICCI_INLINE void MultiplyBand(const T* in, const T* factors, size_t pitch, size_t rows,
                               size_t columns, size_t wide, T* sums) {
  using Vector = typename VectorOf<T, kBytes>::type;
  constexpr size_t kWidth = kBytes / sizeof(T), kVectors = 2;
  for (size_t b = 0; b < wide; ++b) {
    Vector totals[kTall][kVectors] = {};
    for (size_t column = 0; column < columns; column += kVectors * kWidth) {
      // Of the row r, row[a] is the row r - a of the factors.
      Vector row[kTall][kVectors] = {};
      const T* x = in + column + b;
      const T* factor = factors + column;
      for (size_t r = 0; r < rows + kTall - 1; ++r, x += pitch, factor += pitch) {
#pragma GCC unroll 2
        for (size_t v = 0; v < kVectors; ++v) {
          const Vector element = *reinterpret_cast<const Vector*>(x + v * kWidth);
#pragma GCC unroll 8
          for (size_t a = kTall - 1; a > 0; --a) row[a][v] = row[a - 1][v];
          row[0][v] = *reinterpret_cast<const Vector*>(factor + v * kWidth);
#pragma GCC unroll 8
          for (size_t a = 0; a < kTall; ++a) totals[a][v] += element * row[a][v];
        }
      }
    }
    for (size_t a = 0; a < kTall; ++a) {
      const Vector total = totals[a][0] + totals[a][1];
      T sum = 0;
      for (size_t lane = 0; lane < kWidth; ++lane) sum += total[lane];
      sums[a * wide + b] += sum;
    }
  }
}

// The loops for one instruction set, and vectors of which a row of the result has at least one.
template <typename T>
struct DepthwiseLoops {
  size_t width;
  void (*weigh)(const T* in, size_t pitch, const T* weights, size_t tall, size_t wide, T* out,
                size_t rows, size_t columns);
  void (*multiply)(const T* in, const T* factors, size_t pitch, size_t rows, size_t columns,
                   size_t tall, size_t wide, T* sums);
};

#define RICCI_DEPTHWISE(name, target, bytes)                                                      \
  template <typename T>                                                                           \
  target void Weigh##name(const T* in, size_t pitch, const T* weights, size_t tall, size_t wide,   \
                          T* out, size_t rows, size_t columns) {                                  \
    if (tall == 3 && wide == 3) {                                                                        \
      WeighBand<T, bytes, 3>(in, pitch, weights, tall, wide, out, rows, columns);                 \
    } else if (tall == 5 && wide == 5) {                                                                 \
      WeighBand<T, bytes, 5>(in, pitch, weights, tall, wide, out, rows, columns);                 \
    } else {                                                                                      \
      WeighBand<T, bytes, 0>(in, pitch, weights, tall, wide, out, rows, columns);                 \
    }                                                                                             \
  }                                                                                               \
  template <typename T>                                                                           \
  target void Multiply##name(const T* in, const T* factors, size_t pitch, size_t rows,             \
                             size_t columns, size_t tall, size_t wide, T* sums) {                 \
    for (size_t a = 0; a < tall;) {                                                               \
      const T* x = in + a * pitch;                                                                \
      if (tall - a >= 3) {                                                                        \
        MultiplyBand<T, bytes, 3>(x, factors, pitch, rows, columns, wide, sums + a * wide);       \
        a += 3;                                                                                   \
      } else {                                                                                    \
        MultiplyBand<T, bytes, 1>(x, factors, pitch, rows, columns, wide, sums + a * wide);       \
        a += 1;                                                                                   \
      }                                                                                           \
    }                                                                                             \
  }

#if RICCI_HAS_TARGETS
RICCI_DEPTHWISE(DepthwiseOf512, RICCI_TARGET("arch=x86-64-v4,prefer-vector-width=512"), 64)
RICCI_DEPTHWISE(DepthwiseOf256, RICCI_TARGET("arch=x86-64-v3"), 32)
RICCI_DEPTHWISE(DepthwiseOf128WithProducts, RICCI_TARGET("arch=x86-64-v3"), 16)
#endif
RICCI_DEPTHWISE(DepthwiseOf128, , 16)

template <typename T>
DepthwiseLoops<T> LoopsOfWidth(size_t columns) {
  const size_t bytes = std::min<size_t>(VectorBytes(), columns * sizeof(T));
#if RICCI_HAS_TARGETS
  if (bytes >= 64) return {64 / sizeof(T), WeighDepthwiseOf512<T>, MultiplyDepthwiseOf512<T>};
  if (bytes >= 32) return {32 / sizeof(T), WeighDepthwiseOf256<T>, MultiplyDepthwiseOf256<T>};
  if (VectorBytes() > 16) {
    return {16 / sizeof(T), WeighDepthwiseOf128WithProducts<T>, MultiplyDepthwiseOf128WithProducts<T>};
  }
#endif
  (void)bytes;
  return {16 / sizeof(T), WeighDepthwiseOf128<T>, MultiplyDepthwiseOf128<T>};
}

// Copies rows of a plane between zeros: the row 0 and the column 0 are at `first_row` and `first_column`
// of the plane, which may be outside of it. The columns around it are left as they are.
template <typename T>
void CopyRows(const T* plane, int64_t rows, int64_t columns, int64_t first_row, int64_t first_column,
              int64_t count, int64_t pitch, T* to) {
  // Two copies of a size that the compiler knows, which may overlap, or one of any size.
  constexpr int64_t kFew = 16 / sizeof(T);
  const int64_t begin = std::min(pitch, std::max<int64_t>(0, -first_column));
  const int64_t size = std::min(pitch, columns - first_column) - begin;
  if (size <= 0) return;
  for (int64_t r = 0; r < count; ++r, to += pitch) {
    T* const row = to + begin;
    if (first_row + r < 0 || first_row + r >= rows) {
      std::fill_n(row, size, T(0));
      continue;
    }
    const T* from = plane + (first_row + r) * columns + first_column + begin;
    if (size < kFew) {
      for (int64_t i = 0; i < size; ++i) row[i] = from[i];
      continue;
    }
    for (int64_t i = 0; i + kFew < size; i += kFew) std::memcpy(row + i, from + i, 16);
    std::memcpy(row + size - kFew, from + size - kFew, 16);
  }
}

// The planes that one thread convolves, in bands of rows that stay in the caches.
template <typename T>
class Depthwise {
 public:
  // The fewest columns of a result.
  static constexpr int64_t kLeastColumns = 16 / sizeof(T);

  explicit Depthwise(const PlaneSizes& sizes)
      : sizes_(sizes), loops_(LoopsOfWidth<T>(sizes.out_columns)) {}

  // The result of one plane, for each kernel of `outputs`: their planes are given by functions.
  template <typename Kernel, typename Result>
  void Convolve(const T* plane, int64_t outputs, const Kernel& kernel, const Result& result) {
    const PlaneSizes& s = sizes_;
    const int64_t pitch = s.out_columns + s.wide - 1;
    const int64_t band = std::max<int64_t>(kRowsOfResult, kBand / pitch);
    space_.resize((std::min(band, s.out_rows) + s.tall - 1) * pitch);
    for (int64_t row = 0; row < s.out_rows; row += band) {
      const int64_t count = std::min(band, s.out_rows - row);
      CopyRows(plane, s.rows, s.columns, row - s.low_rows, -s.low_columns, count + s.tall - 1, pitch,
               space_.data());
      for (int64_t o = 0; o < outputs; ++o) {
        loops_.weigh(space_.data(), pitch, kernel(o), s.tall, s.wide, result(o) + row * s.out_columns,
                     count, s.out_columns);
      }
    }
  }

  // Adds to the sums, as many as a kernel has elements, the products of shifts of a plane of the
  // operand and a plane of the cotangent, of the size of the result.
  void AddProducts(const T* plane, const T* cotangent, T* sums) {
    const PlaneSizes& s = sizes_;
    const int64_t width = 2 * loops_.width;
    const int64_t columns = (s.out_columns + width - 1) / width * width;
    const int64_t pitch = columns + s.wide - 1;
    const int64_t band = std::max<int64_t>(kRowsOfResult, kBand / pitch);
    const int64_t most = std::min(band, s.out_rows) + s.tall - 1;
    space_.resize((2 * most + kRowsOfZeros) * pitch);
    T* const factors = space_.data() + most * pitch;
    for (int64_t row = 0; row < s.out_rows; row += band) {
      const int64_t count = std::min(band, s.out_rows - row);
      CopyRows(plane, s.rows, s.columns, row - s.low_rows, -s.low_columns, count + s.tall - 1, pitch,
               space_.data());
      CopyRows(cotangent + row * s.out_columns, count, s.out_columns, 0, 0, count + kRowsOfZeros,
               pitch, factors);
      loops_.multiply(space_.data(), factors, pitch, count, columns, s.tall, s.wide, sums);
    }
  }

 private:
  static constexpr int64_t kBand = (16 << 10) / sizeof(T), kRowsOfZeros = 2;

  PlaneSizes sizes_;
  DepthwiseLoops<T> loops_;
  // Around what is copied, these are zeros.
  std::vector<T> space_;
};

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_DEPTHWISE_H_
