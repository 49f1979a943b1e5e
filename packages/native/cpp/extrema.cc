// The greatest or least element of each row of floats; NaN if there is one in the row.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "handler.h"
#include "keys.h"
#include "lanes.h"
#include "orders.h"
#include "parallel.h"

namespace ricci {
namespace {

// A form of IEEE's floats: the bits of infinity, and of the least normal number.
template <typename Bits, Bits kInfinityBits, Bits kLeast>
struct FloatForm {
  using U = Bits;
  using Key = std::make_signed_t<Bits>;
  static constexpr U kInfinity = kInfinityBits;
  static constexpr U kNaN = kInfinityBits | (kLeast >> 1);

  // Numbers are ordered as these integers: those of negative ones have all bits but the sign's
  // flipped. The map is its own inverse.
  static Key Ordered(U bits) {
    const U negative = static_cast<U>(static_cast<Key>(bits) >> (8 * sizeof(U) - 1));
    return static_cast<Key>(bits ^ (negative & static_cast<U>(~kSignBit<U>)));
  }
};

// One pass, in independent lanes, for the greatest and the least element at once: one of them is
// beyond the infinities where there is a NaN.
template <typename Form, bool kGreatest, typename U = typename Form::U>
RICCI_VECTORIZED U Extremum(size_t n, const U* row) {
  using Key = typename Form::Key;
  constexpr size_t kLanes = 256 / sizeof(U);
  Key greatest[kLanes], least[kLanes];
  std::fill_n(greatest, kLanes, std::numeric_limits<Key>::min());
  std::fill_n(least, kLanes, std::numeric_limits<Key>::max());
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const Key key = Form::Ordered(row[i + lane]);
      greatest[lane] = std::max(greatest[lane], key);
      least[lane] = std::min(least[lane], key);
    }
  }
  for (size_t lane = 0; i + lane < n; ++lane) {
    const Key key = Form::Ordered(row[i + lane]);
    greatest[lane] = std::max(greatest[lane], key);
    least[lane] = std::min(least[lane], key);
  }
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) {
      greatest[lane] = std::max(greatest[lane], greatest[lane + width]);
      least[lane] = std::min(least[lane], least[lane + width]);
    }
  }
  const bool has_nan = greatest[0] > Form::Ordered(Form::kInfinity) ||
                       least[0] < Form::Ordered(Form::kInfinity | kSignBit<U>);
  if (has_nan) return Form::kNaN;
  return static_cast<U>(Form::Ordered(static_cast<U>(kGreatest ? greatest[0] : least[0])));
}

template <typename Form, bool kGreatest>
ffi::Error OfRows(ffi::ThreadPool& pool, ffi::AnyBuffer& in, ffi::AnyBuffer& out, size_t n) {
  using U = typename Form::U;
  const U* rows = static_cast<const U*>(in.untyped_data());
  U* results = static_cast<U*>(out.untyped_data());
  ForEachRow(pool, out.element_count(), n, [&](size_t row) {
    results[row] = Extremum<Form, kGreatest>(n, rows + row * n);
  });
  return ffi::Error::Success();
}

template <bool kGreatest>
ffi::Error Extrema(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
                   int64_t length) {
  switch (in.element_type()) {
    case ffi::F16:
      return OfRows<FloatForm<uint16_t, 0x7c00, 0x400>, kGreatest>(pool, in, *out, length);
    case ffi::BF16:
      return OfRows<FloatForm<uint16_t, 0x7f80, 0x80>, kGreatest>(pool, in, *out, length);
    case ffi::F32:
      return OfRows<FloatForm<uint32_t, 0x7f800000, 0x800000>, kGreatest>(pool, in, *out, length);
    case ffi::F64:
      return OfRows<FloatForm<uint64_t, 0x7ff0000000000000, 0x10000000000000>, kGreatest>(
          pool, in, *out, length);
    default: return ffi::Error::InvalidArgument("ricci_native finds no extrema of such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciMax, ricci::Extrema<true>, RICCI_BIND_ROWS)
RICCI_HANDLER(RicciMin, ricci::Extrema<false>, RICCI_BIND_ROWS)
