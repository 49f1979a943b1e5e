// The sum of each column of floats: along the leading dimensions.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "handler.h"
#include "lanes.h"
#include "parallel.h"
#include "vectors.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// The sums are the same whatever the threads: of blocks of rows, which are summed in order; of parts of
// some blocks; and of the parts. A thread sums a tile: some columns of a part.
constexpr size_t kBlockRows = 64, kPartRows = 4 * kBlockRows, kTileBytes = 8192;

// Adds the rows of a tile to the sums of its columns. `block` has room for as many.
template <typename T>
RICCI_INLINE void SumTile(const T* rows, size_t stride, size_t count, size_t columns,
                          T* __restrict sums, T* __restrict block) {
  for (size_t column = 0; column < columns; ++column) sums[column] = 0;
  for (size_t first = 0; first < count; first += kBlockRows) {
    const size_t last = std::min(count, first + kBlockRows);
    for (size_t column = 0; column < columns; ++column) block[column] = 0;
    for (size_t row = first; row < last; ++row) {
      const T* __restrict x = rows + row * stride;
      for (size_t column = 0; column < columns; ++column) block[column] += x[column];
    }
    for (size_t column = 0; column < columns; ++column) sums[column] += block[column];
  }
}

RICCI_STREAMED void SumFloats(const float* rows, size_t stride, size_t count, size_t columns,
                                float* sums, float* block) {
  SumTile(rows, stride, count, columns, sums, block);
}
RICCI_STREAMED void SumDoubles(const double* rows, size_t stride, size_t count, size_t columns,
                                 double* sums, double* block) {
  SumTile(rows, stride, count, columns, sums, block);
}

template <typename T, typename Sum>
ffi::Error SumsOf(ffi::ThreadPool& pool, const T* in, T* out, size_t rows, size_t columns,
                  const Sum& sum) {
  constexpr size_t kTile = kTileBytes / sizeof(T);
  const size_t tiles = (columns + kTile - 1) / kTile, parts = (rows + kPartRows - 1) / kPartRows;
  std::vector<T> others((parts - 1) * columns);
  const auto sums = [&](size_t part) { return part ? &others[(part - 1) * columns] : out; };
  const auto sum_tile = [&](int64_t task) {
    alignas(64) T block[kTile];
    const size_t part = task / tiles, column = task % tiles * kTile, row = part * kPartRows;
    sum(in + row * columns + column, columns, std::min(rows - row, kPartRows),
        std::min(columns - column, kTile), sums(part) + column, block);
  };
  if (rows * columns < kLeastShared) {
    for (size_t task = 0; task < parts * tiles; ++task) sum_tile(task);
  } else {
    ForEachChunk(pool, parts * tiles, sum_tile);
  }
  for (size_t part = 1; part < parts; ++part) {
    const T* from = sums(part);
    for (size_t column = 0; column < columns; ++column) out[column] += from[column];
  }
  return ffi::Error::Success();
}

ffi::Error ColumnSums(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out) {
  const size_t columns = out->element_count(), rows = in.element_count() / columns;
  switch (in.element_type()) {
    case ffi::F32:
      return SumsOf(pool, static_cast<const float*>(in.untyped_data()),
                    static_cast<float*>(out->untyped_data()), rows, columns, SumFloats);
    case ffi::F64:
      return SumsOf(pool, static_cast<const double*>(in.untyped_data()),
                    static_cast<double*>(out->untyped_data()), rows, columns, SumDoubles);
    default: return ffi::Error::InvalidArgument("ricci_native sums no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciColumnSums, ricci::ColumnSums,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>())
