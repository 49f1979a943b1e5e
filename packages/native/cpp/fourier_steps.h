// Steps of Fourier transforms of lengths that are powers of two, on vectors of elements.
//
// Real and imaginary parts are in arrays of their own. A transform of n elements is one of a matrix of
// n / kLanes rows, each a vector: the columns are transformed side by side (by Stockham's steps, which need
// no reversal of bits), multiplied by roots of unity, transposed in registers by square blocks, and
// transformed again side by side (Bailey, 1990, FFTs in external or hierarchical memory).

#ifndef RICCI_NATIVE_FOURIER_STEPS_H_
#define RICCI_NATIVE_FOURIER_STEPS_H_

#include <cstddef>
#include <utility>

#include "vectors.h"

namespace ricci {
namespace {

// Orders of the elements of two vectors, counted through both.
template <int kLanes>
struct Evens {
  static constexpr int At(int i) { return 2 * i; }
};
template <int kLanes>
struct Odds {
  static constexpr int At(int i) { return 2 * i + 1; }
};
template <int kLanes>
struct FirstPairs {
  static constexpr int At(int i) { return i / 2 + i % 2 * kLanes; }
};
template <int kLanes>
struct LastPairs {
  static constexpr int At(int i) { return kLanes / 2 + FirstPairs<kLanes>::At(i); }
};
template <int kLanes>
struct Reversed {
  static constexpr int At(int i) { return kLanes - 1 - i; }
};
template <int kLanes>
struct ReversedFirstPairs {
  static constexpr int At(int i) { return kLanes - 1 - i / 2 + i % 2 * kLanes; }
};
template <int kLanes>
struct ReversedLastPairs {
  static constexpr int At(int i) { return ReversedFirstPairs<kLanes>::At(i) - kLanes / 2; }
};

template <template <int> class Order, typename Vector, int... kIndices>
RICCI_INLINE void ShuffleBy(const Vector& first, const Vector& second, Vector& out,
                            std::integer_sequence<int, kIndices...>) {
  using At = Order<int(sizeof...(kIndices))>;
#if __has_builtin(__builtin_shufflevector)
  out = __builtin_shufflevector(first, second, At::At(kIndices)...);
#else
  constexpr int kLanes = sizeof...(kIndices);
  const Vector pair[2] = {first, second};
  out = Vector{pair[At::At(kIndices) / kLanes][At::At(kIndices) % kLanes]...};
#endif
}

template <template <int> class Order, typename Vector>
RICCI_INLINE void Shuffle(const Vector& first, const Vector& second, Vector& out) {
  constexpr int kLanes = sizeof(Vector) / sizeof(first[0]);
  ShuffleBy<Order>(first, second, out, std::make_integer_sequence<int, kLanes>());
}

template <int kLanes, typename T>
using Lanes = typename VectorOf<T, kLanes * int(sizeof(T))>::type;

template <int kLanes, typename T>
RICCI_INLINE void Load(const T* in, Lanes<kLanes, T>& x) {
  x = *reinterpret_cast<const Lanes<kLanes, T>*>(in);
}
template <int kLanes, typename T>
RICCI_INLINE void Store(const Lanes<kLanes, T>& x, T* out) {
  *reinterpret_cast<Lanes<kLanes, T>*>(out) = x;
}

// The real and imaginary parts of complex numbers, and back.
template <int kLanes, typename T>
RICCI_INLINE void Split(size_t n, const T* in, T* re, T* im) {
  for (size_t i = 0; i < n; i += kLanes) {
    Lanes<kLanes, T> first, second, x, y;
    Load<kLanes>(in + 2 * i, first);
    Load<kLanes>(in + 2 * i + kLanes, second);
    Shuffle<Evens>(first, second, x);
    Shuffle<Odds>(first, second, y);
    Store<kLanes>(x, re + i);
    Store<kLanes>(y, im + i);
  }
}
template <int kLanes, typename T>
RICCI_INLINE void Join(size_t n, const T* re, const T* im, T scale, T* out) {
  for (size_t i = 0; i < n; i += kLanes) {
    Lanes<kLanes, T> x, y, pairs;
    Load<kLanes>(re + i, x);
    Load<kLanes>(im + i, y);
    x *= scale;
    y *= scale;
    Shuffle<FirstPairs>(x, y, pairs);
    Store<kLanes>(pairs, out + 2 * i);
    Shuffle<LastPairs>(x, y, pairs);
    Store<kLanes>(pairs, out + 2 * i + kLanes);
  }
}

// The transform of kSize numbers, in place and in order.
template <int kSize>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <typename Vector>
  static RICCI_INLINE void Run(Vector* re, Vector* im) {
    const Vector x = re[1], y = im[1];
    re[1] = re[0] - x;
    im[1] = im[0] - y;
    re[0] += x;
    im[0] += y;
  }
};

template <>
struct Butterfly<4> {
  template <typename Vector>
  static RICCI_INLINE void Run(Vector* re, Vector* im) {
    const Vector sum_re = re[0] + re[2], sum_im = im[0] + im[2];
    const Vector difference_re = re[0] - re[2], difference_im = im[0] - im[2];
    const Vector odd_sum_re = re[1] + re[3], odd_sum_im = im[1] + im[3];
    const Vector odd_re = re[1] - re[3], odd_im = im[1] - im[3];
    re[0] = sum_re + odd_sum_re;
    im[0] = sum_im + odd_sum_im;
    re[1] = difference_re + odd_im;
    im[1] = difference_im - odd_re;
    re[2] = sum_re - odd_sum_re;
    im[2] = sum_im - odd_sum_im;
    re[3] = difference_re - odd_im;
    im[3] = difference_im + odd_re;
  }
};

// From the transforms of the even numbers and of the odd ones.
template <>
struct Butterfly<8> {
  template <typename Vector>
  static RICCI_INLINE void Run(Vector* re, Vector* im) {
    const decltype(+re[0][0]) root = 0.70710678118654752440;
    Vector even_re[4], even_im[4], odd_re[4], odd_im[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      even_re[k] = re[2 * k];
      even_im[k] = im[2 * k];
      odd_re[k] = re[2 * k + 1];
      odd_im[k] = im[2 * k + 1];
    }
    Butterfly<4>::Run(even_re, even_im);
    Butterfly<4>::Run(odd_re, odd_im);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      // The roots of unity 1, √½(1 - i), -i and √½(-1 - i), of which -i exchanges the parts.
      const Vector x = k < 2 ? odd_re[k] : odd_im[k], y = k < 2 ? odd_im[k] : -odd_re[k];
      if (k % 2 == 0) {
        re[k] = even_re[k] + x;
        im[k] = even_im[k] + y;
        re[k + 4] = even_re[k] - x;
        im[k + 4] = even_im[k] - y;
      } else {
        const Vector sum = x + y, difference = y - x;
        re[k] = even_re[k] + sum * root;
        im[k] = even_im[k] + difference * root;
        re[k + 4] = even_re[k] - sum * root;
        im[k + 4] = even_im[k] - difference * root;
      }
    }
  }
};

// Arrays of the real and imaginary parts.
template <typename T>
struct Parts {
  T *re, *im;
};

// A step of the transforms of columns: of `count` transforms of kRadix rows each, for every one of `stride`
// rows. `roots` has kRadix - 1 roots of unity for each of the transforms.
template <int kLanes, int kRadix, typename T>
RICCI_INLINE void Step(size_t count, size_t stride, const T* roots, Parts<T> in, Parts<T> out) {
  for (size_t p = 0; p < count; ++p, roots += 2 * (kRadix - 1)) {
    for (size_t q = 0; q < stride; ++q) {
      Lanes<kLanes, T> re[kRadix], im[kRadix];
#pragma GCC unroll 8
      for (size_t k = 0; k < kRadix; ++k) {
        const size_t at = (q + stride * (p + count * k)) * kLanes;
        Load<kLanes>(in.re + at, re[k]);
        Load<kLanes>(in.im + at, im[k]);
      }
      Butterfly<kRadix>::Run(re, im);
#pragma GCC unroll 8
      for (size_t k = 0; k < kRadix; ++k) {
        const size_t at = (q + stride * (kRadix * p + k)) * kLanes;
        if (k == 0) {
          Store<kLanes>(re[k], out.re + at);
          Store<kLanes>(im[k], out.im + at);
        } else {
          const T x = roots[2 * k - 2], y = roots[2 * k - 1];
          const Lanes<kLanes, T> turned_re = re[k] * x - im[k] * y;
          const Lanes<kLanes, T> turned_im = re[k] * y + im[k] * x;
          Store<kLanes>(turned_re, out.re + at);
          Store<kLanes>(turned_im, out.im + at);
        }
      }
    }
  }
}

// The last step of the columns, whose results are multiplied by the roots of unity of the whole matrix.
template <int kLanes, int kRadix, typename T>
RICCI_INLINE void LastStep(size_t stride, Parts<const T> roots, Parts<T> in, Parts<T> out) {
  for (size_t q = 0; q < stride; ++q) {
    Lanes<kLanes, T> re[kRadix], im[kRadix];
#pragma GCC unroll 8
    for (size_t k = 0; k < kRadix; ++k) {
      Load<kLanes>(in.re + (q + stride * k) * kLanes, re[k]);
      Load<kLanes>(in.im + (q + stride * k) * kLanes, im[k]);
    }
    Butterfly<kRadix>::Run(re, im);
#pragma GCC unroll 8
    for (size_t k = 0; k < kRadix; ++k) {
      const size_t at = (q + stride * k) * kLanes;
      Lanes<kLanes, T> x, y;
      Load<kLanes>(roots.re + at, x);
      Load<kLanes>(roots.im + at, y);
      const Lanes<kLanes, T> turned_re = re[k] * x - im[k] * y;
      const Lanes<kLanes, T> turned_im = re[k] * y + im[k] * x;
      Store<kLanes>(turned_re, out.re + at);
      Store<kLanes>(turned_im, out.im + at);
    }
  }
}

// Transposes kLanes vectors: each round interleaves the first half of them with the second.
template <int kLanes, typename Vector>
RICCI_INLINE void TransposeSquare(Vector* x) {
#pragma GCC unroll 3
  for (int round = 1; round < kLanes; round *= 2) {
    Vector next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      Shuffle<FirstPairs>(x[i], x[i + kLanes / 2], next[2 * i]);
      Shuffle<LastPairs>(x[i], x[i + kLanes / 2], next[2 * i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) x[i] = next[i];
  }
}

// The transforms of the rows of the matrix, whose results are in order.
template <int kLanes, typename T>
RICCI_INLINE void TransformRows(size_t rows, Parts<T> in, Parts<T> out) {
  for (size_t start = 0; start < rows; start += kLanes) {
    Lanes<kLanes, T> re[kLanes], im[kLanes];
#pragma GCC unroll 8
    for (size_t r = 0; r < kLanes; ++r) Load<kLanes>(in.re + (start + r) * kLanes, re[r]);
    TransposeSquare<kLanes>(re);
#pragma GCC unroll 8
    for (size_t r = 0; r < kLanes; ++r) Load<kLanes>(in.im + (start + r) * kLanes, im[r]);
    TransposeSquare<kLanes>(im);
    Butterfly<kLanes>::Run(re, im);
#pragma GCC unroll 8
    for (size_t k = 0; k < kLanes; ++k) {
      Store<kLanes>(re[k], out.re + start + rows * k);
      Store<kLanes>(im[k], out.im + start + rows * k);
    }
  }
}

// The first n + 1 numbers of the transform of 2n real numbers, from the transform z of n complex ones, whose
// parts are every other of them. `roots` has half of the roots of unity of 2n, from the first power on.
template <int kLanes, typename T>
RICCI_INLINE void SeparateReals(size_t n, Parts<const T> roots, Parts<const T> z, T* out) {
  out[0] = z.re[0] + z.im[0];
  out[1] = 0;
  out[2 * n] = z.re[0] - z.im[0];
  out[2 * n + 1] = 0;
  for (size_t k = 1; k <= n / 2; k += kLanes) {
    const size_t mirrored = n - k - (kLanes - 1);
    Lanes<kLanes, T> a, b, c, d, x, y, pairs;
    Load<kLanes>(z.re + k, a);
    Load<kLanes>(z.im + k, b);
    Load<kLanes>(z.re + mirrored, x);
    Load<kLanes>(z.im + mirrored, y);
    Shuffle<Reversed>(x, x, c);
    Shuffle<Reversed>(y, y, d);
    Load<kLanes>(roots.re + k, x);
    Load<kLanes>(roots.im + k, y);
    // The transforms of the even numbers and of the odd ones, the latter turned.
    const T half = T(0.5);
    const Lanes<kLanes, T> even_re = half * (a + c), even_im = half * (b - d);
    const Lanes<kLanes, T> sum = b + d, difference = a - c;
    // Each product is added to what comes before, so that it is not rounded.
    const Lanes<kLanes, T> near_re = even_re + sum * x, near_im = even_im + sum * y;
    const Lanes<kLanes, T> far_re = even_re - sum * x, far_im = sum * y - even_im;
    a = near_re + difference * y;
    b = near_im - difference * x;
    c = far_re - difference * y;
    d = far_im - difference * x;
    Shuffle<ReversedFirstPairs>(c, d, pairs);
    Store<kLanes>(pairs, out + 2 * mirrored);
    Shuffle<ReversedLastPairs>(c, d, pairs);
    Store<kLanes>(pairs, out + 2 * mirrored + kLanes);
    Shuffle<FirstPairs>(a, b, pairs);
    Store<kLanes>(pairs, out + 2 * k);
    Shuffle<LastPairs>(a, b, pairs);
    Store<kLanes>(pairs, out + 2 * k + kLanes);
  }
}

// The inverse of SeparateReals, times 2. The imaginary parts of the first and last number are not read.
template <int kLanes, typename T>
RICCI_INLINE void CombineReals(size_t n, Parts<const T> roots, const T* in, Parts<T> z) {
  for (size_t k = 1; k <= n / 2; k += kLanes) {
    const size_t mirrored = n - k - (kLanes - 1);
    Lanes<kLanes, T> a, b, c, d, x, y, first, second;
    Load<kLanes>(in + 2 * k, first);
    Load<kLanes>(in + 2 * k + kLanes, second);
    Shuffle<Evens>(first, second, a);
    Shuffle<Odds>(first, second, b);
    Load<kLanes>(in + 2 * mirrored, first);
    Load<kLanes>(in + 2 * mirrored + kLanes, second);
    Shuffle<Evens>(first, second, x);
    Shuffle<Odds>(first, second, y);
    Shuffle<Reversed>(x, x, c);
    Shuffle<Reversed>(y, y, d);
    Load<kLanes>(roots.re + k, x);
    Load<kLanes>(roots.im + k, y);
    const Lanes<kLanes, T> even_re = a + c, even_im = b - d;
    const Lanes<kLanes, T> difference = 2 * (a - c), sum = 2 * (b + d);
    // The odd ones, turned back, times i.
    const Lanes<kLanes, T> odd_re = difference * y - sum * x, odd_im = difference * x + sum * y;
    a = even_re + odd_re;
    b = even_im + odd_im;
    x = even_re - odd_re;
    y = odd_im - even_im;
    Shuffle<Reversed>(x, x, c);
    Shuffle<Reversed>(y, y, d);
    Store<kLanes>(c, z.re + mirrored);
    Store<kLanes>(d, z.im + mirrored);
    Store<kLanes>(a, z.re + k);
    Store<kLanes>(b, z.im + k);
  }
  z.re[0] = in[0] + in[2 * n];
  z.im[0] = in[0] - in[2 * n];
}

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_FOURIER_STEPS_H_
