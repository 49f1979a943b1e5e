// Elementwise functions, where they are all that is computed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "angles.h"
#include "exponentials.h"
#include "handler.h"
#include "lanes.h"
#include "logarithms.h"
#include "pages.h"
#include "parallel.h"
#include "powers.h"
#include "wide_logarithms.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

constexpr size_t kBlock = 1024;   // elements, which stay in the first cache
constexpr size_t kChunk = 32768;  // elements, which are worth another thread

// A block is computed again by the general form if an element needs it.
template <typename Function>
RICCI_INLINE void ByBlocks(const float* __restrict in, float* __restrict out, size_t n) {
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t count = n - start < kBlock ? n - start : kBlock;
    const float* __restrict x = in + start;
    float* __restrict y = out + start;
    uint32_t most = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t measure = Function::Measure(x[i]);
      most = measure > most ? measure : most;
      y[i] = Function::Near(x[i]);
    }
    if (most <= Function::kMost) continue;
    for (size_t i = 0; i < count; ++i) y[i] = Function::Of(x[i]);
  }
}

RICCI_VECTORIZED void Sines(const float* in, float* out, size_t n) { ByBlocks<Sine>(in, out, n); }
RICCI_VECTORIZED void Cosines(const float* in, float* out, size_t n) {
  ByBlocks<Cosine>(in, out, n);
}
RICCI_VECTORIZED void Tangents(const float* in, float* out, size_t n) {
  ByBlocks<Tangent>(in, out, n);
}
RICCI_VECTORIZED void CubeRoots(const float* in, float* out, size_t n) {
  ByBlocks<CubeRoot>(in, out, n);
}

RICCI_VECTORIZED void FloatLogarithms(const float* in, float* out, size_t n) {
  ByBlocks<FloatLogarithm>(in, out, n);
}
RICCI_VECTORIZED void ExponentialsLessOne(const float* in, float* out, size_t n) {
  ByBlocks<ExponentialLessOne>(in, out, n);
}
RICCI_VECTORIZED void GaussianUnits(const float* in, float* out, size_t n) {
  ByBlocks<GaussianUnit>(in, out, n);
}

RICCI_STREAMED void Floors(const float* __restrict in, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = std::floor(in[i]);
}
RICCI_STREAMED void Ceilings(const float* __restrict in, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = std::ceil(in[i]);
}

RICCI_VECTORIZED void Logarithms(const double* __restrict in, double* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = Logarithm::Of(in[i]);
}

RICCI_VECTORIZED void Powers(const float* __restrict bases, const float* __restrict exponents,
                             float* __restrict out, size_t n) {
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t count = n - start < kBlock ? n - start : kBlock;
    const float *__restrict x = bases + start, *__restrict y = exponents + start;
    float* __restrict to = out + start;
    uint32_t most = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t measure = Power::Measure(x[i], y[i]);
      most = measure > most ? measure : most;
      to[i] = Power::Near(x[i], y[i]);
    }
    if (most <= Power::kMost) continue;
    for (size_t i = 0; i < count; ++i) to[i] = Power::Of(x[i], y[i]);
  }
}

// Calls body(start, count) for chunks of the elements of a result.
template <typename Body>
void ForEachPart(ffi::ThreadPool& pool, ffi::AnyBuffer& out, const Body& body) {
  const size_t n = out.element_count(), chunks = (n + kChunk - 1) / kChunk;
  AdviseHugePages(out.untyped_data(), out.size_bytes());
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t start = chunk * kChunk;
    body(start, n - start < kChunk ? n - start : kChunk);
  });
}

template <typename T, void (*kFunction)(const T*, T*, size_t)>
ffi::Error Unary(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out) {
  const auto* from = static_cast<const T*>(in.untyped_data());
  auto* to = static_cast<T*>(out->untyped_data());
  ForEachPart(pool, *out, [&](size_t start, size_t n) { kFunction(from + start, to + start, n); });
  return ffi::Error::Success();
}

ffi::Error LogarithmsOf(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out) {
  if (in.element_type() != ffi::DataType::F64) return Unary<float, FloatLogarithms>(pool, in, out);
#ifdef RICCI_HAS_CLONES
  if (__builtin_cpu_supports("x86-64-v4")) {
    return Unary<double, WideLogarithms>(pool, in, out);
  }
#endif
  return Unary<double, Logarithms>(pool, in, out);
}

// An array, or a scalar that is repeated for a chunk.
class Operand {
 public:
  Operand(ffi::AnyBuffer buffer, size_t n) : data_(static_cast<const float*>(buffer.untyped_data())) {
    if (buffer.element_count() != n) repeated_.assign(n < kChunk ? n : kChunk, *data_);
  }
  const float* Part(size_t start) const {
    return repeated_.empty() ? data_ + start : repeated_.data();
  }

 private:
  const float* data_;
  std::vector<float> repeated_;
};

ffi::Error PowersOf(ffi::ThreadPool pool, ffi::AnyBuffer bases, ffi::AnyBuffer exponents,
                    ffi::Result<ffi::AnyBuffer> out) {
  const Operand x(bases, out->element_count()), y(exponents, out->element_count());
  auto* to = static_cast<float*>(out->untyped_data());
  ForEachPart(pool, *out, [&](size_t start, size_t n) {
    Powers(x.Part(start), y.Part(start), to + start, n);
  });
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

// Whether products and sums are computed at once, in vectors: by the processor, and as compiled.
extern "C" __attribute__((visibility("default"))) int RicciFusesProducts() {
#if defined(__aarch64__) || (defined(__FMA__) && defined(__AVX2__))
  return 1;
#elif defined(RICCI_HAS_CLONES)
  return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
  return 0;
#endif
}

#define RICCI_BIND_UNARY RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>()

RICCI_HANDLER(RicciSin, (ricci::Unary<float, ricci::Sines>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciCos, (ricci::Unary<float, ricci::Cosines>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciTan, (ricci::Unary<float, ricci::Tangents>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciCbrt, (ricci::Unary<float, ricci::CubeRoots>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciLog, ricci::LogarithmsOf, RICCI_BIND_UNARY)
RICCI_HANDLER(RicciExpm1, (ricci::Unary<float, ricci::ExponentialsLessOne>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciGelu, (ricci::Unary<float, ricci::GaussianUnits>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciFloor, (ricci::Unary<float, ricci::Floors>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciCeil, (ricci::Unary<float, ricci::Ceilings>), RICCI_BIND_UNARY)
RICCI_HANDLER(RicciPow, ricci::PowersOf,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>())
