// Random words in blocks, several vectors at a time.
//
// Each step of the cipher needs the one before it. The processor looks ahead by less than one vector's
// steps, so that the steps of several vectors take turns.

#ifndef RICCI_NATIVE_THREEFRY_BLOCKS_H_
#define RICCI_NATIVE_THREEFRY_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "threefry.h"
#include "vectors.h"

namespace ricci {
namespace {

// The numbers that a call may write beyond those that are asked for.
constexpr size_t kWordsAhead = 63;

template <int kBytes>
class WordVectors {
 public:
  static constexpr size_t kVectors = 4, kLanes = kBytes / 4, kWords = kVectors * kLanes;
  static_assert(kWords <= kWordsAhead + 1, "buffers have room for one more step");

  // Encrypts the counters from `start` on and stores the random bits of 32 of each.
  RICCI_INLINE static void Draw(Words key, uint32_t start, uint32_t* out) {
    const uint32_t k0 = key.first, k1 = key.second, k2 = k0 ^ k1 ^ 0x1BD11BDA;
    Vectors x, y;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      std::memcpy(&x[v], kZeros, kBytes);
      std::memcpy(&y[v], kPositions, kBytes);
      x[v] += k0, y[v] += start + static_cast<uint32_t>(v * kLanes) + k1;
    }
    Even(x, y), Add(x, y, k1, k2 + 1);
    Odd(x, y), Add(x, y, k2, k0 + 2);
    Even(x, y), Add(x, y, k0, k1 + 3);
    Odd(x, y), Add(x, y, k1, k2 + 4);
    Even(x, y), Add(x, y, k2, k0 + 5);
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const Vector bits = x[v] ^ y[v];
      std::memcpy(out + v * kLanes, &bits, kBytes);
    }
  }

 private:
  using Vector = typename VectorOf<uint32_t, kBytes>::type;
  using Vectors = Vector[kVectors];
  static constexpr uint32_t kZeros[16] = {};
  static constexpr uint32_t kPositions[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  RICCI_INLINE static void Add(Vectors& x, Vectors& y, uint32_t first, uint32_t second) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) x[v] += first, y[v] += second;
  }

  template <int kBits>
  RICCI_INLINE static void Round(Vectors& x, Vectors& y) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) x[v] += y[v];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) y[v] = (y[v] << kBits | y[v] >> (32 - kBits)) ^ x[v];
  }

  RICCI_INLINE static void Even(Vectors& x, Vectors& y) {
    Round<13>(x, y), Round<15>(x, y), Round<26>(x, y), Round<6>(x, y);
  }
  RICCI_INLINE static void Odd(Vectors& x, Vectors& y) {
    Round<17>(x, y), Round<29>(x, y), Round<16>(x, y), Round<24>(x, y);
  }
};

#define RICCI_WORDS(name, target, bytes)                                         \
  target void name(Words key, uint32_t start, size_t n, uint32_t* out) {         \
    for (size_t i = 0; i < n; i += WordVectors<bytes>::kWords) {                 \
      WordVectors<bytes>::Draw(key, start + static_cast<uint32_t>(i), out + i); \
    }                                                                            \
  }

#if RICCI_HAS_TARGETS
RICCI_WORDS(DrawWords512, RICCI_TARGET("arch=x86-64-v4"), 64)
RICCI_WORDS(DrawWords256, RICCI_TARGET("arch=x86-64-v3"), 32)
#endif
RICCI_WORDS(DrawWords128, , 16)

// A function that draws the random bits of n elements from a position on. The array has room for
// `kWordsAhead` more.
using WordsFunction = void (*)(Words key, uint32_t start, size_t n, uint32_t* out);

inline WordsFunction ChosenWords() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() >= 64) return DrawWords512;
  if (VectorBytes() >= 32) return DrawWords256;
#endif
  return DrawWords128;
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_THREEFRY_BLOCKS_H_
