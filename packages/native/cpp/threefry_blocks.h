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

// The elements that a function may read and write beyond those that are asked for.
constexpr size_t kWordsAhead = 63;

template <int kBytes>
class WordVectors {
 public:
  static constexpr size_t kVectors = 4, kLanes = kBytes / 4, kWords = kVectors * kLanes;
  static_assert(kWords <= kWordsAhead + 1, "arrays have room for one more step");

  // Encrypts the counters from `start` on and stores the random bits of 32 of each.
  RICCI_INLINE static void Draw(Words key, uint32_t start, uint32_t* out) {
    Vectors k0, k1, x, y;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      std::memcpy(&x[v], kZeros, kBytes);
      std::memcpy(&y[v], kPositions, kBytes);
      k0[v] = x[v] + key.first, k1[v] = x[v] + key.second;
      y[v] += start + static_cast<uint32_t>(v * kLanes);
    }
    Encrypt(k0, k1, x, y);
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const Vector bits = x[v] ^ y[v];
      std::memcpy(out + v * kLanes, &bits, kBytes);
    }
  }

  // Encrypts a counter by each key, of which two arrays have the words.
  RICCI_INLINE static void Derive(const uint32_t* first, const uint32_t* second, Words counter,
                                  uint32_t* out_first, uint32_t* out_second) {
    Vectors k0, k1, x, y;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      std::memcpy(&k0[v], first + v * kLanes, kBytes);
      std::memcpy(&k1[v], second + v * kLanes, kBytes);
      std::memcpy(&x[v], kZeros, kBytes);
      y[v] = x[v] + counter.second;
      x[v] += counter.first;
    }
    Encrypt(k0, k1, x, y);
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      std::memcpy(out_first + v * kLanes, &x[v], kBytes);
      std::memcpy(out_second + v * kLanes, &y[v], kBytes);
    }
  }

 private:
  using Vector = typename VectorOf<uint32_t, kBytes>::type;
  using Vectors = Vector[kVectors];
  static constexpr uint32_t kZeros[16] = {};
  static constexpr uint32_t kPositions[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  // The steps of `Encrypt` of one counter.
  RICCI_INLINE static void Encrypt(const Vectors& k0, const Vectors& k1, Vectors& x, Vectors& y) {
    Vectors k2;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) k2[v] = k0[v] ^ k1[v] ^ 0x1BD11BDA;
    Add(x, k0, y, k1, 0), Even(x, y);
    Add(x, k1, y, k2, 1), Odd(x, y);
    Add(x, k2, y, k0, 2), Even(x, y);
    Add(x, k0, y, k1, 3), Odd(x, y);
    Add(x, k1, y, k2, 4), Even(x, y);
    Add(x, k2, y, k0, 5);
  }

  RICCI_INLINE static void Add(Vectors& x, const Vectors& first, Vectors& y, const Vectors& second,
                               uint32_t number) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) x[v] += first[v], y[v] += second[v] + number;
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

// Functions of n elements, which may read and write `kWordsAhead` more.
struct WordsFunctions {
  // The random bits of the elements from a position on.
  void (*draw)(Words key, uint32_t start, size_t n, uint32_t* out);
  // The words of a counter by each key.
  void (*derive)(const uint32_t* first, const uint32_t* second, Words counter, size_t n,
                 uint32_t* out_first, uint32_t* out_second);
};

#define RICCI_WORDS(name, target, bytes)                                                      \
  target void Draw##name(Words key, uint32_t start, size_t n, uint32_t* out) {                \
    for (size_t i = 0; i < n; i += WordVectors<bytes>::kWords) {                              \
      WordVectors<bytes>::Draw(key, start + static_cast<uint32_t>(i), out + i);               \
    }                                                                                         \
  }                                                                                           \
  target void Derive##name(const uint32_t* first, const uint32_t* second, Words counter,      \
                           size_t n, uint32_t* out_first, uint32_t* out_second) {             \
    for (size_t i = 0; i < n; i += WordVectors<bytes>::kWords) {                              \
      WordVectors<bytes>::Derive(first + i, second + i, counter, out_first + i, out_second + i); \
    }                                                                                         \
  }                                                                                           \
  inline WordsFunctions Words##name() { return {Draw##name, Derive##name}; }

#if RICCI_HAS_TARGETS
RICCI_WORDS(Of512, RICCI_TARGET("arch=x86-64-v4"), 64)
RICCI_WORDS(Of256, RICCI_TARGET("arch=x86-64-v3"), 32)
#endif
RICCI_WORDS(Of128, , 16)

inline WordsFunctions ChosenWords() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() >= 64) return WordsOf512();
  if (VectorBytes() >= 32) return WordsOf256();
#endif
  return WordsOf128();
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_THREEFRY_BLOCKS_H_
