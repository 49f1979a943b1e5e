// The position of the first greatest or least element of each row. A NaN is better than any number.

#include "float_extrema.h"
#include "handler.h"
#include "lanes.h"
#include "orders.h"
#include "parallel.h"

namespace ricci {
namespace {

// The position of the first element of a row for which matches(bits) holds; there must be one. A block
// is searched as a whole, so that compilers make vector instructions of it.
template <typename U, typename Matches>
inline size_t FirstMatch(size_t n, const U* row, const Matches& matches) {
  constexpr size_t kBlock = 128 / sizeof(U);
  size_t start = 0;
  for (; start + kBlock <= n; start += kBlock) {
    U any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= static_cast<U>(matches(row[start + i]));
    if (any) {
      U first = kBlock;
      for (size_t i = 0; i < kBlock; ++i) {
        first = std::min(first, static_cast<U>(matches(row[start + i]) ? i : kBlock));
      }
      return start + first;
    }
  }
  while (!matches(row[start])) ++start;
  return start;
}

// The form of floats that an order compares.
template <typename Order>
struct FormOf;
template <typename Bits, Bits kInfinity, Bits kLeast>
struct FormOf<FloatOrder<Bits, kInfinity, kLeast>> {
  // Its NaN need not be the quiet one: only that it is a NaN is read.
  using type = FloatForm<Bits, kInfinity, Bits{2}>;
};

// The bits of the greatest or least integer, computed in independent lanes.
template <typename Order, bool kGreatest, typename U = typename Order::U>
inline __attribute__((always_inline)) U BestInteger(size_t n, const U* row) {
  constexpr size_t kLanes = 256 / sizeof(U);
  const auto merit = [](U bits) {
    const U key = Order::Encode(bits);
    return kGreatest ? key : static_cast<U>(~key);
  };
  U best[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      best[lane] = std::max(best[lane], merit(row[i + lane]));
    }
  }
  U greatest = 0;
  for (U key : best) greatest = std::max(greatest, key);
  for (; i < n; ++i) greatest = std::max(greatest, merit(row[i]));
  return Order::Decode(kGreatest ? greatest : static_cast<U>(~greatest));
}

// Computes the extremum, then searches the row, which is still in the cache, for the elements that are
// equal to it.
template <typename Order, bool kGreatest, typename U = typename Order::U>
RICCI_VECTORIZED size_t FirstBest(size_t n, const U* row) {
  U best;
  if constexpr (Order::kHasTies) {
    best = Extremum<typename FormOf<Order>::type, kGreatest>(n, row);
    if (Order::IsNaN(best)) return FirstMatch(n, row, Order::IsNaN);
    if (Order::IsZero(best)) return FirstMatch(n, row, Order::IsZero);
  } else {
    best = BestInteger<Order, kGreatest>(n, row);
  }
  return FirstMatch(n, row, [best](U other) { return other == best; });
}

template <bool kGreatest>
ffi::Error ArgExtremum(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
                       int64_t length) {
  const size_t n = length;
  const bool wide = ffi::ByteWidth(out->element_type()) == 8;
  const bool supported = WithOrder(in.element_type(), [&](auto order) {
    using Order = decltype(order);
    const auto* rows = static_cast<const typename Order::U*>(in.untyped_data());
    ForEachRow(pool, out->element_count(), n, [&](size_t row) {
      const size_t position = FirstBest<Order, kGreatest>(n, rows + row * n);
      if (wide) {
        static_cast<int64_t*>(out->untyped_data())[row] = position;
      } else {
        static_cast<int32_t*>(out->untyped_data())[row] = position;
      }
    });
  });
  if (!supported) return ffi::Error::InvalidArgument("ricci_native compares no such elements");
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciArgmax, ricci::ArgExtremum<true>, RICCI_BIND_ROWS)
RICCI_HANDLER(RicciArgmin, ricci::ArgExtremum<false>, RICCI_BIND_ROWS)
