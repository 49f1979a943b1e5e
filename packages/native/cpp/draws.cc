// Uniform, normal and Gumbel numbers of a Threefry key, with the bits of the functions that XLA compiles.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "handler.h"
#include "lanes.h"
#include "normals.h"
#include "pages.h"
#include "parallel.h"
#include "threefry.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

constexpr size_t kChunk = 32768;  // elements, which are worth another thread

template <typename T>
struct Bounds {
  T low, high;
};

template <typename T>
RICCI_INLINE void UniformPart(Words key, Bounds<T> bounds, uint32_t start, size_t n,
                              T* __restrict out) {
  const T low = bounds.low, span = bounds.high - low;
  for (size_t i = 0; i < n; ++i) {
    const auto position = start + static_cast<uint32_t>(i);
    const T fraction = Fraction<T>(RandomBits<typename FloatFormat<T>::U>(key, position));
    const T scaled = std::fma(fraction, span, low);
    out[i] = scaled < low ? low : scaled;
  }
}

template <typename T>
RICCI_INLINE void NormalPart(Words key, Bounds<T>, uint32_t first, size_t n, T* __restrict out) {
  T u[kBlock];
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t count = n - start < kBlock ? n - start : kBlock;
    UniformPart<T>(key, {FloatFormat<T>::kAboveMinusOne, T(1)},
                   first + static_cast<uint32_t>(start), count, u);
    NormalBlock<T>(u, count, out + start);
  }
}

// -ln(-ln u) of uniform numbers between the least normal number and 1.
template <typename T>
RICCI_INLINE void GumbelPart(Words key, Bounds<T>, uint32_t start, size_t n, T* __restrict out) {
  UniformPart<T>(key, {std::numeric_limits<T>::min(), T(1)}, start, n, out);
  for (size_t i = 0; i < n; ++i) out[i] = -NormalLog(-NormalLog(out[i]));
}

template <typename T>
using Part = void (*)(Words, Bounds<T>, uint32_t, size_t, T*);

#define RICCI_DRAW(name, part, T)                                                               \
  RICCI_VECTORIZED void name(Words key, Bounds<T> bounds, uint32_t start, size_t n, T* out) {  \
    part<T>(key, bounds, start, n, out);                                                        \
  }
RICCI_DRAW(UniformFloats, UniformPart, float)
RICCI_DRAW(UniformDoubles, UniformPart, double)
RICCI_DRAW(NormalFloats, NormalPart, float)
RICCI_DRAW(NormalDoubles, NormalPart, double)
RICCI_DRAW(GumbelFloats, GumbelPart, float)

template <typename T>
void DrawParts(ffi::ThreadPool& pool, const uint32_t* words, Bounds<T> bounds, Part<T> part,
               ffi::AnyBuffer& out) {
  const Words key = {words[0], words[1]};
  const size_t n = out.element_count(), chunks = (n + kChunk - 1) / kChunk;
  auto* to = static_cast<T*>(out.untyped_data());
  AdviseHugePages(to, out.size_bytes());
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t start = chunk * kChunk;
    part(key, bounds, static_cast<uint32_t>(start), n - start < kChunk ? n - start : kChunk,
         to + start);
  });
}

ffi::Error Uniform(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> key, ffi::AnyBuffer low,
                   ffi::AnyBuffer high, ffi::Result<ffi::AnyBuffer> out) {
  const auto draw = [&](auto* type, auto part) {
    using T = std::remove_pointer_t<decltype(type)>;
    const Bounds<T> bounds = {*static_cast<const T*>(low.untyped_data()),
                              *static_cast<const T*>(high.untyped_data())};
    DrawParts<T>(pool, key.typed_data(), bounds, part, *out);
    return ffi::Error::Success();
  };
  switch (out->element_type()) {
    case ffi::F32: return draw(static_cast<float*>(nullptr), UniformFloats);
    case ffi::F64: return draw(static_cast<double*>(nullptr), UniformDoubles);
    default: return ffi::Error::InvalidArgument("ricci_native draws no such numbers");
  }
}

ffi::Error Normal(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> key,
                  ffi::Result<ffi::AnyBuffer> out) {
  switch (out->element_type()) {
    case ffi::F32: DrawParts<float>(pool, key.typed_data(), {}, NormalFloats, *out); break;
    case ffi::F64: DrawParts<double>(pool, key.typed_data(), {}, NormalDoubles, *out); break;
    default: return ffi::Error::InvalidArgument("ricci_native draws no such numbers");
  }
  return ffi::Error::Success();
}

ffi::Error Gumbel(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> key,
                  ffi::Result<ffi::AnyBuffer> out) {
  if (out->element_type() != ffi::F32) {
    return ffi::Error::InvalidArgument("ricci_native draws no such numbers");
  }
  DrawParts<float>(pool, key.typed_data(), {}, GumbelFloats, *out);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciUniform, ricci::Uniform,
              RICCI_BIND.Arg<xla::ffi::Buffer<xla::ffi::U32>>().Arg<xla::ffi::AnyBuffer>()
                  .Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>())
RICCI_HANDLER(RicciNormal, ricci::Normal,
              RICCI_BIND.Arg<xla::ffi::Buffer<xla::ffi::U32>>().Ret<xla::ffi::AnyBuffer>())
RICCI_HANDLER(RicciGumbel, ricci::Gumbel,
              RICCI_BIND.Arg<xla::ffi::Buffer<xla::ffi::U32>>().Ret<xla::ffi::AnyBuffer>())
