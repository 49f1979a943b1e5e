// Products of small matrices, and of many of them.

#include <memory>
#include <type_traits>

#include "handler.h"
#include "parallel.h"
#include "products.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// A matrix in row-major order, or its transpose.
template <typename T>
Matrix<const T> MatrixAt(const T* data, size_t rows, size_t columns, bool transposed) {
  return transposed ? Matrix<const T>{data, 1, rows} : Matrix<const T>{data, columns, 1};
}

template <typename T>
void MultiplyAll(ffi::ThreadPool& pool, const T* a, const T* b, T* c, size_t count, size_t rows,
                 size_t columns, size_t depth, bool a_transposed, bool b_transposed) {
  const auto multiply = FastestMultiply<T>(columns);
  const bool are_squares = rows == columns && rows == depth && !b_transposed;
  const auto squares = are_squares ? FastestSquares<T>(rows) : nullptr;
  const auto run = [&](size_t first, size_t last) {
    if (squares) {
      const size_t begin = first * rows * rows;
      squares(last - first, a + begin, a_transposed ? 1 : rows, a_transposed ? rows : 1, b + begin,
              c + begin);
      return;
    }
    const std::unique_ptr<T[]> space(new T[(depth + kRowsAtOnce) * (kPanelBytes / sizeof(T))]);
    for (size_t i = first; i < last; ++i) {
      multiply(rows, columns, depth, MatrixAt(a + i * rows * depth, rows, depth, a_transposed),
               MatrixAt(b + i * depth * columns, depth, columns, b_transposed),
               c + i * rows * columns, space.get());
    }
  };
  // A product of fewer terms is left to the calling thread.
  constexpr size_t kLeastShared = size_t{1} << 20;
  const size_t threads = std::max<int64_t>(pool.num_threads(), 1);
  const size_t chunks =
      count * rows * columns * depth < kLeastShared ? 1 : std::min(count, 4 * threads);
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    run(count * chunk / chunks, count * (chunk + 1) / chunks);
  });
}

ffi::Error Products(ffi::ThreadPool pool, ffi::AnyBuffer a, ffi::AnyBuffer b,
                    ffi::Result<ffi::AnyBuffer> c, int64_t depth, bool a_transposed,
                    bool b_transposed) {
  const auto sizes = c->dimensions();
  if (sizes.size() < 2) return ffi::Error::InvalidArgument("ricci_native multiplies matrices only");
  const size_t rows = sizes[sizes.size() - 2], columns = sizes[sizes.size() - 1];
  const size_t count = c->element_count() / (rows * columns);
  const auto multiply = [&](auto zero) {
    using T = decltype(zero);
    MultiplyAll(pool, static_cast<const T*>(a.untyped_data()), static_cast<const T*>(b.untyped_data()),
                static_cast<T*>(c->untyped_data()), count, rows, columns, depth, a_transposed,
                b_transposed);
    return ffi::Error::Success();
  };
  switch (c->element_type()) {
    case ffi::F32: return multiply(float());
    case ffi::F64: return multiply(double());
    default: return ffi::Error::InvalidArgument("ricci_native multiplies no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciProducts, ricci::Products,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>()
                  .Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Attr<int64_t>("depth")
                  .Attr<bool>("lhs_transposed")
                  .Attr<bool>("rhs_transposed"))
