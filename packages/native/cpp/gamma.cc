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
#include "threefry_blocks.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

constexpr size_t kChunk = 8192;  // numbers, which are worth another thread

// The random bits of a block of proposals, for a normal and a uniform number each.
struct Bits {
  uint32_t normal[kBlock], uniform[kBlock];
};

void DrawBits(const WordsFunctions& words, const uint32_t* keys, size_t count, Bits& bits) {
  uint32_t first[kBlock] = {}, second[kBlock] = {}, other_first[kBlock], other_second[kBlock];
  for (size_t i = 0; i < count; ++i) first[i] = keys[2 * i], second[i] = keys[2 * i + 1];
  const auto derive = [&](Words counter, uint32_t* to_first, uint32_t* to_second) {
    words.derive(first, second, counter, count, to_first, to_second);
  };
  derive({0, 0}, first, second);
  derive({0, 2}, other_first, other_second);
  words.derive(other_first, other_second, {0, 0}, count, other_first, other_second);
  for (size_t i = 0; i < count; ++i) bits.uniform[i] = other_first[i] ^ other_second[i];
  derive({0, 1}, first, second);
  derive({0, 1}, first, second);
  derive({0, 0}, first, second);
  for (size_t i = 0; i < count; ++i) bits.normal[i] = first[i] ^ second[i];
}

// Computes v = (1 + c x)³ for normal numbers x, and whether it is rejected.
RICCI_VECTORIZED void ProposeBlock(const Bits& bits, const float* __restrict c,
                                   const float* __restrict d, size_t count, float* __restrict v,
                                   uint8_t* __restrict is_rejected) {
  using Format = FloatFormat<float>;
  float doubled[kBlock], x[kBlock];
  for (size_t i = 0; i < count; ++i) {
    doubled[i] = std::fma(Fraction<float>(bits.normal[i]), 2.0f, Format::kAboveMinusOne);
  }
  NormalBlock<float>(doubled, count, x);
  for (size_t i = 0; i < count; ++i) {
    const float u = Fraction<float>(bits.uniform[i]);
    const float root = std::fma(x[i], c[i], 1.0f), square = x[i] * x[i];
    const float cube = root * root * root;
    // Comparisons with NaN are false, and reject nothing.
    const bool is_negative = root <= 0.0f;
    const bool beyond_squeeze = u >= std::fma(-0.0331f, square * square, 1.0f);
    const float log_u = NormalLog(u > 0.0f ? u : 1e-38f);
    const float log_v = NormalLog(is_negative ? 1.0f : cube);
    const float bound = std::fma(0.5f, square, d[i] * ((1.0f - cube) + log_v));
    const bool beyond_density = (log_u >= bound) & (u > 0.0f);
    v[i] = cube;
    is_rejected[i] = is_negative | (beyond_squeeze & beyond_density);
  }
}

ffi::Error Propose(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> keys, ffi::Buffer<ffi::F32> c,
                   ffi::Buffer<ffi::F32> d, ffi::Result<ffi::Buffer<ffi::F32>> v,
                   ffi::Result<ffi::Buffer<ffi::PRED>> is_rejected) {
  const size_t n = v->element_count(), chunks = (n + kChunk - 1) / kChunk;
  const WordsFunctions words = ChosenWords();
  auto* rejected = static_cast<uint8_t*>(is_rejected->untyped_data());
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t last = n - chunk * kChunk < kChunk ? n : (chunk + 1) * kChunk;
    for (size_t at = chunk * kChunk; at < last; at += kBlock) {
      const size_t count = last - at < kBlock ? last - at : kBlock;
      Bits bits;
      DrawBits(words, keys.typed_data() + 2 * at, count, bits);
      ProposeBlock(bits, c.typed_data() + at, d.typed_data() + at, count, v->typed_data() + at,
                   rejected + at);
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
