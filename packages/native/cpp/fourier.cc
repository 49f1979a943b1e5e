// Fourier transforms of rows whose lengths are powers of two.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fourier_steps.h"
#include "handler.h"
#include "lanes.h"
#include "parallel.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// The kinds of transform, as StableHLO counts them.
enum Kind { kForward, kInverse, kRealForward, kRealInverse };

// The roots of unity of transforms of n complex numbers.
template <typename T>
struct Roots {
  size_t n, lanes;
  std::vector<int> radices;         // of the columns' steps
  std::vector<std::vector<T>> steps;  // the roots of all steps but the last
  std::vector<T> matrix_re, matrix_im;  // those between the columns and the rows
  std::vector<T> reals_re, reals_im;    // half of those of 2n numbers
};

constexpr long double kQuarter = 1.57079632679489661923132169163975144L;

template <typename T>
Roots<T> MakeRoots(size_t n, size_t lanes) {
  // Of an angle from the nearest quarter of a turn, so that symmetric roots are equal but for their signs.
  const auto root = [&](size_t numerator, size_t denominator, T& re, T& im) {
    const size_t quarter = (8 * numerator / denominator + 1) / 2;
    // Exact, as denominators are powers of two.
    const long double turn = 4 * (long double)numerator / denominator - quarter;
    const long double cosine = std::cos(kQuarter * turn), sine = std::sin(kQuarter * turn);
    const long double res[] = {cosine, -sine, -cosine, sine}, ims[] = {sine, cosine, -sine, -cosine};
    re = T(res[quarter % 4]);
    im = T(-ims[quarter % 4]);
  };
  Roots<T> roots{n, lanes, {}, {}, {}, {}, {}, {}};
  const size_t rows = n / lanes;
  // Steps of 8, and of 4 where 8 would leave 2.
  for (size_t left = rows; left > 1;) {
    const size_t radix = left == 4 || left == 16 ? 4 : 8;
    const size_t count = left / radix;
    roots.radices.push_back(int(radix));
    if (count > 1) {
      std::vector<T> step(2 * count * (radix - 1));
      for (size_t p = 0; p < count; ++p) {
        for (size_t k = 1; k < radix; ++k) {
          T* at = &step[2 * (p * (radix - 1) + k - 1)];
          root(p * k, left, at[0], at[1]);
        }
      }
      roots.steps.push_back(std::move(step));
    }
    left = count;
  }
  roots.matrix_re.resize(n);
  roots.matrix_im.resize(n);
  for (size_t k = 0; k < rows; ++k) {
    for (size_t i = 0; i < lanes; ++i) {
      root(k * i, n, roots.matrix_re[k * lanes + i], roots.matrix_im[k * lanes + i]);
    }
  }
  roots.reals_re.resize(n / 2 + 1);
  roots.reals_im.resize(n / 2 + 1);
  for (size_t k = 0; k <= n / 2; ++k) {
    root(k, 2 * n, roots.reals_re[k], roots.reals_im[k]);
    roots.reals_re[k] /= 2;
    roots.reals_im[k] /= 2;
  }
  return roots;
}

// The roots of a length, computed once.
template <typename T>
const Roots<T>& RootsOf(size_t n, size_t lanes) {
  static std::mutex mutex;
  static std::map<size_t, Roots<T>> all;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = all.find(n);
  return found != all.end() ? found->second : all.emplace(n, MakeRoots<T>(n, lanes)).first->second;
}

template <int kLanes, typename T>
RICCI_INLINE void TransformRow(Kind kind, const Roots<T>& roots, const T* in, T* space, T* out) {
  const size_t n = roots.n, pitch = n + kLanes;
  Parts<T> now{space, space + pitch}, next{space + 2 * pitch, space + 3 * pitch};
  const Parts<const T> reals{roots.reals_re.data(), roots.reals_im.data()};
  // The inverse transform is that of the exchanged parts, exchanged.
  switch (kind) {
    case kForward: case kRealForward: Split<kLanes>(n, in, now.re, now.im); break;
    case kInverse: Split<kLanes>(n, in, now.im, now.re); break;
    case kRealInverse: CombineReals<kLanes>(n, reals, in, Parts<T>{now.im, now.re}); break;
  }
  size_t count = n / kLanes, stride = 1;
  for (size_t step = 0; step < roots.radices.size(); ++step) {
    const int radix = roots.radices[step];
    count /= radix;
    if (count > 1) {
      const T* factors = roots.steps[step].data();
      if (radix == 8) Step<kLanes, 8>(count, stride, factors, now, next);
      else Step<kLanes, 4>(count, stride, factors, now, next);
    } else {
      const Parts<const T> factors{roots.matrix_re.data(), roots.matrix_im.data()};
      if (radix == 8) LastStep<kLanes, 8>(stride, factors, now, next);
      else LastStep<kLanes, 4>(stride, factors, now, next);
    }
    stride *= radix;
    std::swap(now, next);
  }
  TransformRows<kLanes>(n / kLanes, now, next);
  switch (kind) {
    case kForward: Join<kLanes>(n, next.re, next.im, T(1), out); break;
    case kInverse: Join<kLanes>(n, next.im, next.re, T(1) / n, out); break;
    case kRealInverse: Join<kLanes>(n, next.im, next.re, T(1) / (2 * n), out); break;
    case kRealForward: SeparateReals<kLanes>(n, reals, Parts<const T>{next.re, next.im}, out); break;
  }
}

template <typename T>
using TransformFunction = void (*)(size_t, Kind, const Roots<T>&, const T*, size_t, T*, T*, size_t);

#define RICCI_TRANSFORM(name, attributes, bytes)                                                       \
  template <typename T>                                                                                \
  attributes void name(size_t rows, Kind kind, const Roots<T>& roots, const T* in, size_t in_row, T* space, \
                       T* out, size_t out_row) {                                                       \
    for (size_t row = 0; row < rows; ++row) {                                                          \
      TransformRow<bytes / int(sizeof(T))>(kind, roots, in + row * in_row, space, out + row * out_row);     \
    }                                                                                                  \
  }

RICCI_TRANSFORM(TransformBy16, , 16)
#ifdef RICCI_HAS_CLONES
RICCI_TRANSFORM(TransformNarrow, __attribute__((target("arch=x86-64-v3"))), 16)
RICCI_TRANSFORM(TransformBy32, __attribute__((target("arch=x86-64-v3"))), 32)
// Vectors of 64 bytes take longer: these have registers for all of a step's numbers.
RICCI_TRANSFORM(TransformWith32Registers, __attribute__((target("arch=x86-64-v4"))), 32)
#endif

// The function for the processor's vectors, which have at most as many lanes as the matrix has rows.
template <typename T>
TransformFunction<T> FastestTransform(size_t n, size_t& lanes) {
  const auto fits = [&](size_t bytes) {
    lanes = bytes / sizeof(T);
    return lanes * lanes <= n;
  };
#ifdef RICCI_HAS_CLONES
  if (__builtin_cpu_supports("x86-64-v3")) {
    if (!fits(32)) {
      fits(16);
      return TransformNarrow<T>;
    }
    return __builtin_cpu_supports("x86-64-v4") ? TransformWith32Registers<T> : TransformBy32<T>;
  }
#endif
  fits(16);
  return TransformBy16<T>;
}

template <typename T>
void TransformAll(ffi::ThreadPool& pool, Kind kind, size_t count, size_t length, const T* in, T* out) {
  const bool is_real = kind == kRealForward || kind == kRealInverse;
  const size_t n = is_real ? length / 2 : length;
  size_t lanes;
  const auto transform = FastestTransform<T>(n, lanes);
  const Roots<T>& roots = RootsOf<T>(n, lanes);
  const size_t in_row = kind == kRealInverse ? 2 * n + 2 : 2 * n;
  const size_t out_row = kind == kRealForward ? 2 * n + 2 : 2 * n;
  const size_t threads = std::max<int64_t>(pool.num_threads(), 1);
  const size_t chunks = count * n < kLeastShared ? 1 : std::min(count, 4 * threads);
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t first = count * chunk / chunks, last = count * (chunk + 1) / chunks;
    const std::unique_ptr<T[]> space(new T[4 * (n + lanes)]);
    transform(last - first, kind, roots, in + first * in_row, in_row, space.get(), out + first * out_row,
              out_row);
  });
}

ffi::Error Fourier(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out, int64_t length,
                   int64_t kind) {
  const bool is_real = kind == kRealForward || kind == kRealInverse;
  const size_t least = is_real ? 32 : 16;
  if (size_t(length) < least || (length & (length - 1)) || kind < 0 || kind > kRealInverse) {
    return ffi::Error::InvalidArgument("ricci_native has no such transform");
  }
  const size_t row = kind == kRealForward ? length / 2 + 1 : length;
  const size_t count = out->element_count() / row;
  const auto transform = [&](auto zero) {
    using T = decltype(zero);
    TransformAll(pool, Kind(kind), count, length, static_cast<const T*>(in.untyped_data()),
                 static_cast<T*>(out->untyped_data()));
    return ffi::Error::Success();
  };
  switch (out->element_type()) {
    case ffi::F32: case ffi::C64: return transform(float());
    case ffi::F64: case ffi::C128: return transform(double());
    default: return ffi::Error::InvalidArgument("ricci_native transforms no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciFourier, ricci::Fourier, RICCI_BIND_ROWS.Attr<int64_t>("kind"))
