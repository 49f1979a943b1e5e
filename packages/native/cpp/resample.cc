// Products along one dimension with a matrix of weights in which a column has few neighbours that are
// not zero, as of resampled images.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "handler.h"
#include "parallel.h"
#include "vectors.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// The weights of each sample of the result: those of `taps` samples of the operand, from `first` on.
// weights[t * count + j] is that of the sample first[j] + t.
template <typename T>
struct Band {
  size_t size, count, taps;
  const T* matrix;
  std::vector<int32_t> first;
  std::vector<T> weights;

  Band(const T* matrix, size_t size, size_t count)
      : size(size), count(count), taps(1), matrix(matrix), first(count, size) {
    std::vector<int32_t> last(count, 0);
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < count; ++j) {
        const bool is_zero = matrix[i * count + j] == 0;
        first[j] = std::min<int32_t>(first[j], is_zero ? size : i);
        last[j] = is_zero ? last[j] : i;
      }
    }
    for (size_t j = 0; j < count; ++j) taps = std::max<int64_t>(taps, last[j] - first[j] + 1);
    weights.resize(taps * count);
    for (size_t j = 0; j < count; ++j) {
      first[j] = std::min<int32_t>(first[j], size - taps);
      for (size_t t = 0; t < taps; ++t) weights[t * count + j] = matrix[(first[j] + t) * count + j];
    }
  }
};

// The elements of a row of the result, in which `inner` elements are a sample, by vectors: for each, the
// element that its window begins at, and the positions in this of the elements that are weighted.
template <typename T>
struct Windows {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  size_t lanes;
  bool fit = false;
  std::vector<size_t> start, begin;  // in the result, and of the window
  std::vector<Index> positions;
  std::vector<T> weights;

  // They do not fit where the elements are spread further than two vectors.
  Windows(const Band<T>& band, size_t inner, size_t lanes) : lanes(lanes) {
    const size_t from = band.size * inner, to = band.count * inner;
    if (from < 2 * lanes || to < lanes) return;
    for (size_t next = 0; next < to; next += lanes) {
      const size_t k = std::min(next, to - lanes);
      size_t low = from, high = 0;
      for (size_t l = k; l < k + lanes; ++l) {
        const size_t base = band.first[l / inner] * inner + l % inner;
        low = std::min(low, base);
        high = std::max(high, base + (band.taps - 1) * inner);
      }
      low = std::min(low, from - 2 * lanes);
      if (high >= low + 2 * lanes) return;
      start.push_back(k);
      begin.push_back(low);
      for (size_t t = 0; t < band.taps; ++t) {
        for (size_t l = k; l < k + lanes; ++l) {
          positions.push_back((band.first[l / inner] + t) * inner + l % inner - low);
          weights.push_back(band.weights[t * band.count + l / inner]);
        }
      }
    }
    fit = true;
  }
};

// A row of a result by its windows.
template <typename T, int kBytes>
RICCI_INLINE void WeighWindows(const Windows<T>& windows, size_t taps, const T* in, T* out) {
  using Index = typename Windows<T>::Index;
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef Index Indices __attribute__((vector_size(kBytes)));
  constexpr size_t kLanes = kBytes / sizeof(T);
  const T* weights = windows.weights.data();
  const Index* positions = windows.positions.data();
  for (size_t w = 0; w < windows.start.size(); ++w) {
    Vector low, high, sum = {};
    std::memcpy(&low, in + windows.begin[w], kBytes);
    std::memcpy(&high, in + windows.begin[w] + kLanes, kBytes);
    for (size_t t = 0; t < taps; ++t, weights += kLanes, positions += kLanes) {
      Indices position;
      Vector weight;
      std::memcpy(&position, positions, kBytes);
      std::memcpy(&weight, weights, kBytes);
      sum += weight * __builtin_shuffle(low, high, position);
    }
    std::memcpy(out + windows.start[w], &sum, kBytes);
  }
}

// Of `taps` rows of `pitch` elements the weighted sum, of `length` elements.
template <typename T, int kBytes>
RICCI_INLINE void WeighRows(const T* in, size_t pitch, const T* weights, size_t distance, size_t taps,
                            size_t length, T* out) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr size_t kLanes = kBytes / sizeof(T), kVectors = 4;
  size_t i = 0;
  for (; i + kVectors * kLanes <= length; i += kVectors * kLanes) {
    Vector sums[kVectors] = {};
    for (size_t t = 0; t < taps; ++t) {
      for (size_t v = 0; v < kVectors; ++v) {
        Vector x;
        std::memcpy(&x, in + t * pitch + i + v * kLanes, kBytes);
        sums[v] += weights[t * distance] * x;
      }
    }
    std::memcpy(out + i, sums, sizeof(sums));
  }
  for (; i < length; ++i) {
    T sum = 0;
    for (size_t t = 0; t < taps; ++t) sum += weights[t * distance] * in[t * pitch + i];
    out[i] = sum;
  }
}

// Whether all of some rows are finite.
template <typename T>
RICCI_INLINE bool AreFinite(const T* rows, size_t count, size_t pitch, size_t length) {
  constexpr size_t kLanes = 16;
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
  Vector zeros = {};
  T zero = 0;
  for (size_t r = 0; r < count; ++r, rows += pitch) {
    size_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      Vector x;
      std::memcpy(&x, rows + i, sizeof(x));
      zeros += x * T(0);
    }
    for (; i < length; ++i) zero += rows[i] * T(0);
  }
  for (size_t lane = 0; lane < kLanes; ++lane) zero += zeros[lane];
  return zero == 0;
}

template <typename T>
struct ResampleLoops {
  size_t lanes;
  void (*weigh_windows)(const Windows<T>& windows, size_t taps, const T* in, T* out);
  void (*weigh_rows)(const T* in, size_t pitch, const T* weights, size_t distance, size_t taps,
                     size_t length, T* out);
  bool (*are_finite)(const T* rows, size_t count, size_t pitch, size_t length);
};

#define RICCI_RESAMPLE(name, target, bytes)                                                      \
  template <typename T>                                                                          \
  target void WeighWindows##name(const Windows<T>& windows, size_t taps, const T* in, T* out) {  \
    WeighWindows<T, bytes>(windows, taps, in, out);                                              \
  }                                                                                              \
  template <typename T>                                                                          \
  target void WeighRows##name(const T* in, size_t pitch, const T* weights, size_t distance,      \
                              size_t taps, size_t length, T* out) {                              \
    WeighRows<T, bytes>(in, pitch, weights, distance, taps, length, out);                        \
  }                                                                                              \
  template <typename T>                                                                          \
  target bool AreFinite##name(const T* rows, size_t count, size_t pitch, size_t length) {        \
    return AreFinite<T>(rows, count, pitch, length);                                             \
  }                                                                                              \
  template <typename T>                                                                          \
  ResampleLoops<T> ResampleLoops##name() {                                                       \
    return {bytes / sizeof(T), WeighWindows##name<T>, WeighRows##name<T>, AreFinite##name<T>};   \
  }

#if RICCI_HAS_TARGETS
RICCI_RESAMPLE(Of512, RICCI_TARGET("arch=x86-64-v4,prefer-vector-width=512"), 64)
RICCI_RESAMPLE(Of256, RICCI_TARGET("arch=x86-64-v3"), 32)
#endif
RICCI_RESAMPLE(Of128, , 16)

template <typename T>
ResampleLoops<T> ChosenResampleLoops() {
#if RICCI_HAS_TARGETS
  if (VectorBytes() == 64) return ResampleLoopsOf512<T>();
  if (VectorBytes() == 32) return ResampleLoopsOf256<T>();
#endif
  return ResampleLoopsOf128<T>();
}

// The product with the whole matrix, of `length` elements of each sample: beside an infinity or a NaN,
// products with zeros are NaN.
template <typename T>
void MultiplyAll(const Band<T>& band, size_t inner, size_t length, const T* in, T* out) {
  for (size_t j = 0; j < band.count; ++j) {
    for (size_t l = 0; l < length; ++l) {
      T sum = 0;
      for (size_t i = 0; i < band.size; ++i) {
        sum += band.matrix[i * band.count + j] * in[i * inner + l];
      }
      out[j * inner + l] = sum;
    }
  }
}

// Elements of a sample from which on rows of samples are added, and that one thread adds at once.
constexpr size_t kLeastInner = 16, kMostInner = 2048;

template <typename T>
ffi::Error ResampleAll(ffi::ThreadPool& pool, const T* x, const T* matrix, T* result, size_t outer,
                       size_t size, size_t count, size_t inner) {
  const Band<T> band(matrix, size, count);
  const auto loops = ChosenResampleLoops<T>();
  if (inner < kLeastInner) {
    const Windows<T> windows(band, inner, loops.lanes);
    ForEachRow(pool, outer, (size + count) * inner, [&](size_t row) {
      const T* in = x + row * size * inner;
      T* out = result + row * count * inner;
      if (!loops.are_finite(in, 1, 0, size * inner)) {
        MultiplyAll(band, inner, inner, in, out);
      } else if (windows.fit) {
        loops.weigh_windows(windows, band.taps, in, out);
      } else {
        for (size_t j = 0; j < count; ++j) {
          for (size_t l = 0; l < inner; ++l) {
            T sum = 0;
            for (size_t t = 0; t < band.taps; ++t) {
              sum += band.weights[t * count + j] * in[(band.first[j] + t) * inner + l];
            }
            out[j * inner + l] = sum;
          }
        }
      }
    });
    return ffi::Error::Success();
  }
  const size_t parts = (inner + kMostInner - 1) / kMostInner;
  ForEachRow(pool, outer * parts, (size + count) * (inner / parts), [&](size_t chunk) {
    const size_t part = chunk % parts, begin = inner * part / parts;
    const size_t length = inner * (part + 1) / parts - begin;
    const T* in = x + chunk / parts * size * inner + begin;
    T* out = result + chunk / parts * count * inner + begin;
    if (!loops.are_finite(in, size, inner, length)) {
      MultiplyAll(band, inner, length, in, out);
      return;
    }
    for (size_t j = 0; j < count; ++j) {
      loops.weigh_rows(in + band.first[j] * inner, inner, band.weights.data() + j, count, band.taps,
                       length, out + j * inner);
    }
  });
  return ffi::Error::Success();
}

ffi::Error Resample(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::AnyBuffer weights,
                    ffi::Result<ffi::AnyBuffer> out, int64_t axis) {
  size_t outer = 1, inner = 1;
  const auto sizes = x.dimensions(), matrix = weights.dimensions();
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= sizes[d];
  }
  const auto resample = [&](auto zero) {
    using T = decltype(zero);
    return ResampleAll(pool, static_cast<const T*>(x.untyped_data()),
                       static_cast<const T*>(weights.untyped_data()),
                       static_cast<T*>(out->untyped_data()), outer, matrix[0], matrix[1], inner);
  };
  switch (x.element_type()) {
    case ffi::F32: return resample(float());
    case ffi::F64: return resample(double());
    default: return ffi::Error::InvalidArgument("ricci_native resamples no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciResample, ricci::Resample,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>()
                  .Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Attr<int64_t>("axis"))
