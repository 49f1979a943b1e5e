// The greatest or least element of each row of floats; NaN if there is one in the row.

#include "float_extrema.h"
#include "float_passes.h"
#include "handler.h"
#include "orders.h"
#include "parallel.h"

namespace ricci {
namespace {

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

// As OfRows, in one pass in most cases.
template <typename Form, bool kGreatest, typename T>
ffi::Error OfFloats(ffi::ThreadPool& pool, ffi::AnyBuffer& in, ffi::AnyBuffer& out, size_t n, T) {
  using U = typename Form::U;
  const auto passes = ChosenPasses<T>();
  const auto extrema = kGreatest ? passes.greatest : passes.least;
  const auto by_bits = [](const T* row, size_t n) {
    const U bits = Extremum<Form, kGreatest>(n, reinterpret_cast<const U*>(row));
    T extremum;
    std::memcpy(&extremum, &bits, sizeof(T));
    return extremum;
  };
  const T* rows = static_cast<const T*>(in.untyped_data());
  T* results = static_cast<T*>(out.untyped_data());
  ForEachRange(pool, out.element_count(), n, [&](size_t first, size_t count) {
    extrema(rows + first * n, count, n, results + first, by_bits);
  });
  return ffi::Error::Success();
}

template <bool kGreatest>
ffi::Error Extrema(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
                   int64_t length) {
  switch (in.element_type()) {
    case ffi::F16: return OfRows<Float16, kGreatest>(pool, in, *out, length);
    case ffi::BF16: return OfRows<BFloat16, kGreatest>(pool, in, *out, length);
    case ffi::F32: return OfFloats<Float32, kGreatest>(pool, in, *out, length, float());
    case ffi::F64: return OfFloats<Float64, kGreatest>(pool, in, *out, length, double());
    default: return ffi::Error::InvalidArgument("ricci_native finds no extrema of such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciMax, ricci::Extrema<true>, RICCI_BIND_ROWS)
RICCI_HANDLER(RicciMin, ricci::Extrema<false>, RICCI_BIND_ROWS)
