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

  // Without branches, so that compilers make vector instructions of loops.
  static U Encode(U bits) {
    const U number = bits ^ static_cast<U>(AllIf(bits >> kSignPosition) | kSignBit<U>);
    const U is_zero = AllIf(IsZero(bits)), is_nan = AllIf(IsNaN(bits));
    return static_cast<U>(number & ~is_zero) | (kZero & is_zero) | is_nan;
  }
  static U Decode(U key) {
    return key ^ static_cast<U>(AllIf(!(key >> kSignPosition)) | kSignBit<U>);
  }
  static bool IsZero(U bits) { return Magnitude(bits) < kLeast; }
  static bool IsNaN(U bits) { return Magnitude(bits) > kInfinity; }
  // Whether decoding its key may give other bits.
  static bool IsTied(U bits) { return (IsZero(bits) & (bits != 0)) | IsNaN(bits); }

 private:
  static constexpr int kSignPosition = 8 * sizeof(U) - 1;

  // All bits set if a condition, 0 or 1, holds.
  static U AllIf(U condition) { return static_cast<U>(-condition); }
  static U Magnitude(U bits) { return bits & static_cast<U>(~kSignBit<U>); }
};

}  // namespace ricci

#endif  // RICCI_NATIVE_KEYS_H_
