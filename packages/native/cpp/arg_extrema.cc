// The position of the first greatest or least element of each row. A NaN is better than any number.

#include <atomic>

#include "handler.h"
#include "lanes.h"
#include "orders.h"
#include "parallel.h"

namespace ricci {
namespace {

// The key of an element, the greatest for the best one.
template <typename Order, bool kGreatest, typename U = typename Order::U>
inline U Merit(U bits) {
  const U key = Order::Encode(bits);
  if constexpr (kGreatest) return key;
  const U flipped = static_cast<U>(~key);
  if constexpr (!Order::kHasTies) return flipped;
  // Of floats the greatest key is that of NaNs, which stay the best.
  return key == std::numeric_limits<U>::max() ? key : flipped;
}

// The position of the first element of a row for which matches(bits) holds; there must be one. A block
// is searched as a whole, so that compilers make vector instructions of it.
template <typename U, typename Matches>
inline size_t FirstMatch(size_t n, const U* row, const Matches& matches) {
  constexpr size_t kBlock = 256 / sizeof(U);
  size_t start = 0;
  for (; start + kBlock <= n; start += kBlock) {
    U any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= static_cast<U>(matches(row[start + i]));
    if (any) break;
  }
  while (!matches(row[start])) ++start;
  return start;
}

// Computes the greatest merit in independent lanes, then searches the row, which is still in the
// cache, for the elements that have it.
template <typename Order, bool kGreatest, typename U = typename Order::U>
RICCI_VECTORIZED size_t FirstBest(size_t n, const U* row) {
  constexpr size_t kLanes = 256 / sizeof(U);
  U best[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const U merit = Merit<Order, kGreatest>(row[i + lane]);
      best[lane] = best[lane] < merit ? merit : best[lane];
    }
  }
  U greatest = 0;
  for (U merit : best) greatest = std::max(greatest, merit);
  for (; i < n; ++i) greatest = std::max(greatest, Merit<Order, kGreatest>(row[i]));
  if constexpr (Order::kHasTies) {
    if (greatest == Order::kNaN) return FirstMatch(n, row, Order::IsNaN);
    if (greatest == Merit<Order, kGreatest>(U{0})) return FirstMatch(n, row, Order::IsZero);
  }
  const U bits = Order::Decode(kGreatest ? greatest : static_cast<U>(~greatest));
  return FirstMatch(n, row, [bits](U other) { return other == bits; });
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
