// Root-mean-square normalization, and its derivative, on the CPU.
//
//   y = x * inv * weight,  inv = 1 / sqrt(mean(x^2) + eps)
//
// over the last dimension of x. The weight has the dimensions of x, without some of those before the
// last, which repeat it: so the same functions also work on batches, where every operand has the
// batch's dimensions first.

#include <cmath>
#include <cstdint>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// The numbers of rows of x and of the weight, and the length of a row.
struct Sizes {
  int64_t rows, weights, length;
};

ffi::ErrorOr<Sizes> SizesOf(const ffi::AnyBuffer& x, const ffi::AnyBuffer& weight) {
  auto rows = [](const ffi::AnyBuffer& array) {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < array.dimensions().size(); ++i) count *= array.dimensions()[i];
    return count;
  };
  if (x.dimensions().size() == 0 || weight.dimensions().size() == 0 ||
      x.dimensions().back() != weight.dimensions().back()) {
    return ffi::Unexpected(
        ffi::Error::InvalidArgument("x and weight must have the same last dimension"));
  }
  Sizes sizes{rows(x), rows(weight), x.dimensions().back()};
  if (sizes.rows != 0 && (sizes.weights == 0 || sizes.rows % sizes.weights != 0)) {
    return ffi::Unexpected(ffi::Error::InvalidArgument(
        "the weight has " + std::to_string(sizes.weights) + " rows, which do not divide the " +
        std::to_string(sizes.rows) + " rows of x"));
  }
  return sizes;
}

template <typename T>
void Forward(Sizes sizes, T eps, const T* x, const T* weight, T* y, T* inv) {
  const int64_t n = sizes.length, repeats = sizes.rows / sizes.weights;
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const T* in = x + row * n;
    const T* scale = weight + row / repeats * n;
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += in[i] * in[i];
    inv[row] = 1 / std::sqrt(sum / n + eps);
    for (int64_t i = 0; i < n; ++i) y[row * n + i] = in[i] * inv[row] * scale[i];
  }
}

// With s = sum(ct * weight * x) of a row:
//   dx = inv * weight * ct - x * inv^3 * s / n,   dweight = sum over rows of x * inv * ct
template <typename T>
void Backward(Sizes sizes, const T* x, const T* weight, const T* inv, const T* ct, T* dx,
              T* dweight) {
  const int64_t n = sizes.length, repeats = sizes.rows / sizes.weights;
  for (int64_t i = 0; i < sizes.weights * n; ++i) dweight[i] = 0;
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const int64_t at = row * n, from = row / repeats * n;
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += ct[at + i] * weight[from + i] * x[at + i];
    const T cubed = inv[row] * inv[row] * inv[row] * sum / n;
    for (int64_t i = 0; i < n; ++i) {
      dx[at + i] = inv[row] * weight[from + i] * ct[at + i] - x[at + i] * cubed;
      dweight[from + i] += x[at + i] * inv[row] * ct[at + i];
    }
  }
}

ffi::Error ForwardImpl(double eps, ffi::AnyBuffer x, ffi::AnyBuffer weight,
                       ffi::Result<ffi::AnyBuffer> y, ffi::Result<ffi::AnyBuffer> inv) {
  ffi::ErrorOr<Sizes> sizes = SizesOf(x, weight);
  if (sizes.has_error()) return sizes.error();
  if (sizes->rows == 0) return ffi::Error::Success();
  switch (x.element_type()) {
    case ffi::F32:
      Forward<float>(*sizes, static_cast<float>(eps), x.typed_data<float>(),
                     weight.typed_data<float>(), y->typed_data<float>(), inv->typed_data<float>());
      return ffi::Error::Success();
    case ffi::F64:
      Forward<double>(*sizes, eps, x.typed_data<double>(), weight.typed_data<double>(),
                      y->typed_data<double>(), inv->typed_data<double>());
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("rms_norm works on float32 and float64");
  }
}

ffi::Error BackwardImpl(ffi::AnyBuffer x, ffi::AnyBuffer weight, ffi::AnyBuffer inv,
                        ffi::AnyBuffer ct, ffi::Result<ffi::AnyBuffer> dx,
                        ffi::Result<ffi::AnyBuffer> dweight) {
  ffi::ErrorOr<Sizes> sizes = SizesOf(x, weight);
  if (sizes.has_error()) return sizes.error();
  if (sizes->weights == 0) return ffi::Error::Success();
  switch (x.element_type()) {
    case ffi::F32:
      Backward<float>(*sizes, x.typed_data<float>(), weight.typed_data<float>(),
                      inv.typed_data<float>(), ct.typed_data<float>(), dx->typed_data<float>(),
                      dweight->typed_data<float>());
      return ffi::Error::Success();
    case ffi::F64:
      Backward<double>(*sizes, x.typed_data<double>(), weight.typed_data<double>(),
                       inv.typed_data<double>(), ct.typed_data<double>(), dx->typed_data<double>(),
                       dweight->typed_data<double>());
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("rms_norm works on float32 and float64");
  }
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNorm, ForwardImpl,
                              ffi::Ffi::Bind()
                                  .Attr<double>("eps")
                                  .Arg<ffi::AnyBuffer>()    // x
                                  .Arg<ffi::AnyBuffer>()    // weight
                                  .Ret<ffi::AnyBuffer>()    // y
                                  .Ret<ffi::AnyBuffer>());  // inv

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormGrad, BackwardImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::AnyBuffer>()    // x
                                  .Arg<ffi::AnyBuffer>()    // weight
                                  .Arg<ffi::AnyBuffer>()    // inv
                                  .Arg<ffi::AnyBuffer>()    // ct
                                  .Ret<ffi::AnyBuffer>()    // dx
                                  .Ret<ffi::AnyBuffer>());  // dweight
