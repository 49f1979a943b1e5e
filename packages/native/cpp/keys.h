// Order-preserving maps from elements to unsigned integers.
//
// A sort compares the integers, so that it needs neither a comparator nor the arithmetic of the
// element's type: 16-bit floats are handled as their bits. The order is that of XLA's sort on CPUs as
// lax.sort writes it: ascending, all zeros equal, all NaNs equal and last.

#ifndef RICCI_NATIVE_KEYS_H_
#define RICCI_NATIVE_KEYS_H_

#include <cstdint>
#include <limits>

namespace ricci {

template <typename U>
constexpr U kSignBit = static_cast<U>(U{1} << (8 * sizeof(U) - 1));

// Unsigned integers, and bool.
template <typename Bits>
struct UnsignedOrder {
  using U = Bits;
  static constexpr bool kHasTies = false;
  static U Encode(U bits) { return bits; }
  static U Decode(U key) { return key; }
};

// Integers in two's complement: flipping the sign bit moves the negative ones below the others.
template <typename Bits>
struct SignedOrder {
  using U = Bits;
  static constexpr bool kHasTies = false;
  static U Encode(U bits) { return bits ^ kSignBit<U>; }
  static U Decode(U key) { return key ^ kSignBit<U>; }
};

// Floats of IEEE's form, whose infinity has the bits `kInfinity`. Negative numbers get all bits
// flipped, because greater ones have smaller magnitudes; the others only the sign bit. Magnitudes
// below `kLeast` have the key of 0: these are zeros, and the subnormal numbers that XLA's
// comparisons on CPUs take for zeros. Every NaN has the greatest key, which no number has.
template <typename Bits, Bits kInfinity, Bits kLeast>
struct FloatOrder {
  using U = Bits;
  static constexpr bool kHasTies = true;
  static constexpr U kNaN = std::numeric_limits<U>::max();
  static constexpr U kZero = kSignBit<U>;

  static U Encode(U bits) {
    const U mask = (bits & kSignBit<U>) ? std::numeric_limits<U>::max() : kSignBit<U>;
    const U key = Magnitude(bits) < kLeast ? kZero : static_cast<U>(bits ^ mask);
    return Magnitude(bits) > kInfinity ? kNaN : key;
  }
  static U Decode(U key) {
    const U mask = (key & kSignBit<U>) ? kSignBit<U> : std::numeric_limits<U>::max();
    return key ^ mask;
  }
  // Whether decoding its key may give other bits.
  static bool IsTied(U bits) {
    return (Magnitude(bits) < kLeast && bits != 0) || Magnitude(bits) > kInfinity;
  }

 private:
  static U Magnitude(U bits) { return bits & static_cast<U>(~kSignBit<U>); }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_KEYS_H_
