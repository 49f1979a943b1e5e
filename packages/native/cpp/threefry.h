// Threefry-2x32 with 20 rounds, the cipher behind random keys.
//
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

#ifndef RICCI_NATIVE_THREEFRY_H_
#define RICCI_NATIVE_THREEFRY_H_

#include <cstdint>

#include "floats.h"

namespace ricci {

struct Words {
  uint32_t first, second;
};

template <int kBits>
RICCI_INLINE uint32_t RotateLeft(uint32_t x) {
  return x << kBits | x >> (32 - kBits);
}

// Four rounds, each of which rotates the second word by its number of bits.
template <int kBits0, int kBits1, int kBits2, int kBits3>
RICCI_INLINE Words Rounds(Words x) {
  x.first += x.second, x.second = RotateLeft<kBits0>(x.second) ^ x.first;
  x.first += x.second, x.second = RotateLeft<kBits1>(x.second) ^ x.first;
  x.first += x.second, x.second = RotateLeft<kBits2>(x.second) ^ x.first;
  x.first += x.second, x.second = RotateLeft<kBits3>(x.second) ^ x.first;
  return x;
}

RICCI_INLINE Words Encrypt(Words key, Words counter) {
  const uint32_t k0 = key.first, k1 = key.second, k2 = k0 ^ k1 ^ 0x1BD11BDA;
  const auto even = Rounds<13, 15, 26, 6>;
  const auto odd = Rounds<17, 29, 16, 24>;
  Words x = {counter.first + k0, counter.second + k1};
  x = even(x), x.first += k1, x.second += k2 + 1;
  x = odd(x), x.first += k2, x.second += k0 + 2;
  x = even(x), x.first += k0, x.second += k1 + 3;
  x = odd(x), x.first += k1, x.second += k2 + 4;
  x = even(x), x.first += k2, x.second += k0 + 5;
  return x;
}

// The random bits of an element, by its position in the array.
template <typename U>
RICCI_INLINE U RandomBits(Words key, uint32_t position) {
  const Words words = Encrypt(key, {0, position});
  if constexpr (sizeof(U) == 8) return uint64_t{words.first} << 32 | words.second;
  return static_cast<U>(words.first ^ words.second);
}

}  // namespace ricci

#endif  // RICCI_NATIVE_THREEFRY_H_
