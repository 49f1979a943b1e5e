// First proposals of gamma numbers, by the method of Marsaglia and Tsang.
//
// Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "handler.h"
#include "lanes.h"
#include "normals.h"
#include "parallel.h"
#include "threefry.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

constexpr size_t kChunk = 8192;  // numbers, which are worth another thread

// Computes v = (1 + c x)³ for a normal number x of each key, and whether it is rejected.
RICCI_VECTORIZED void ProposeBlock(const uint32_t* __restrict keys, const float* __restrict c,
                                   const float* __restrict d, size_t count, float* __restrict v,
                                   uint8_t* __restrict is_rejected) {
  using Format = FloatFormat<float>;
  float doubled[kBlock], x[kBlock], u[kBlock];
  for (size_t i = 0; i < count; ++i) {
    const Words key = Encrypt({keys[2 * i], keys[2 * i + 1]}, {0, 0});
    const Words normal_key = Encrypt(Encrypt(key, {0, 1}), {0, 1});
    const Words uniform_key = Encrypt(key, {0, 2});
    const float fraction = Fraction<float>(RandomBits<uint32_t>(normal_key, 0));
    doubled[i] = std::fma(fraction, 2.0f, Format::kAboveMinusOne);
    u[i] = Fraction<float>(RandomBits<uint32_t>(uniform_key, 0));
  }
  NormalBlock<float>(doubled, count, x);
  for (size_t i = 0; i < count; ++i) {
    const float root = std::fma(x[i], c[i], 1.0f), square = x[i] * x[i];
    const float cube = root * root * root;
    // Comparisons with NaN are false, and reject nothing.
    const bool is_negative = root <= 0.0f;
    const bool beyond_squeeze = u[i] >= std::fma(-0.0331f, square * square, 1.0f);
    const float log_u = NormalLog(u[i] > 0.0f ? u[i] : 1e-38f);
    const float log_v = NormalLog(is_negative ? 1.0f : cube);
    const bool beyond_density =
        (log_u >= std::fma(d[i], (1.0f - cube) + log_v, 0.5f * square)) & (u[i] > 0.0f);
    v[i] = cube;
    is_rejected[i] = is_negative | (beyond_squeeze & beyond_density);
  }
}

ffi::Error Propose(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> keys, ffi::Buffer<ffi::F32> c,
                   ffi::Buffer<ffi::F32> d, ffi::Result<ffi::Buffer<ffi::F32>> v,
                   ffi::Result<ffi::Buffer<ffi::PRED>> is_rejected) {
  const size_t n = v->element_count(), chunks = (n + kChunk - 1) / kChunk;
  auto* rejected = static_cast<uint8_t*>(is_rejected->untyped_data());
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t last = n - chunk * kChunk < kChunk ? n : (chunk + 1) * kChunk;
    for (size_t at = chunk * kChunk; at < last; at += kBlock) {
      ProposeBlock(keys.typed_data() + 2 * at, c.typed_data() + at, d.typed_data() + at,
                   last - at < kBlock ? last - at : kBlock, v->typed_data() + at, rejected + at);
    }
  });
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciGammaProposals, ricci::Propose,
              RICCI_BIND.Arg<xla::ffi::Buffer<xla::ffi::U32>>()
                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                  .Arg<xla::ffi::Buffer<xla::ffi::F32>>()
                  .Ret<xla::ffi::Buffer<xla::ffi::F32>>()
                  .Ret<xla::ffi::Buffer<xla::ffi::PRED>>())
