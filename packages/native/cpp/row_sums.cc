// The sum of each row of floats.

#include "float_passes.h"
#include "handler.h"
#include "parallel.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

ffi::Error RowSums(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
                   int64_t length) {
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const auto sums = ChosenPasses<T>().sums;
    const T* rows = static_cast<const T*>(in.untyped_data());
    T* results = static_cast<T*>(out->untyped_data());
    ForEachRange(pool, out->element_count(), length, [&](size_t first, size_t count) {
      sums(rows + first * length, count, length, results + first);
    });
    return ffi::Error::Success();
  };
  switch (in.element_type()) {
    case ffi::F32: return add(float());
    case ffi::F64: return add(double());
    default: return ffi::Error::InvalidArgument("ricci_native sums no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciRowSums, ricci::RowSums, RICCI_BIND_ROWS)
