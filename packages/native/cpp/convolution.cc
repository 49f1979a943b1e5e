// Convolutions of floats, in one to three dimensions, with groups, steps and dilations.
//
// Shifts of the operand are offsets in a copy of it (planes.h), so that the innermost loops run over
// contiguous elements, whole rows and the ends between them: some results are computed in vain.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "depthwise.h"
#include "handler.h"
#include "parallel.h"
#include "planes.h"
#include "taps.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// Divides a number of results into blocks of at most `most`, a power of 2.
template <typename Visit>
void ForEachBlock(size_t count, size_t most, const Visit& visit) {
  for (size_t start = 0; start < count;) {
    while (most > count - start) most /= 2;
    visit(start, most);
    start += most;
  }
}

// An operand or the result: its planes, by their first and their second index.
struct Array {
  int64_t first, second;  // the distances of planes

  // `spec` are the dimensions of the two indices, then those of space.
  Array(const ffi::AnyBuffer& buffer, ffi::Span<const int64_t> spec) {
    const auto sizes = buffer.dimensions();
    int64_t plane = 1;
    for (size_t i = 2; i < spec.size(); ++i) plane *= sizes[spec[i]];
    first = spec[0] < spec[1] ? plane * sizes[spec[1]] : plane;
    second = spec[0] < spec[1] ? plane : plane * sizes[spec[0]];
  }
};

// The spatial sizes of an array, or parameters by dimension, with ones (or `fill`) in front.
template <typename At>
Sizes Spatial(size_t count, int64_t fill, const At& at) {
  Sizes sizes;
  for (size_t i = 0; i < kSpatial; ++i) {
    sizes[i] = i + count < kSpatial ? fill : at(i + count - kSpatial);
  }
  return sizes;
}

// A convolution: result[b, o, p] is the sum over features f and elements t of the window of
// operand[b, f, p * step + t * dilation - low] kernel[o, f, t], for features of the group of o.
template <typename T>
struct Convolution {
  const T* operand;
  const T* kernel;
  T* result;
  Array operand_array, kernel_array, result_array;
  int64_t batch, outputs, inputs;  // of a group
  int64_t groups;
  bool grouped_by_batch;
  Sizes source, window, out, step, low, gap, dilation;
  Loops<T> loops = ChosenLoops<T>();

  const T* OperandPlane(int64_t group, int64_t example, int64_t feature) const {
    (grouped_by_batch ? example : feature) += group * (grouped_by_batch ? batch : inputs);
    return operand + example * operand_array.first + feature * operand_array.second;
  }
  const T* KernelPlane(int64_t group, int64_t o, int64_t feature) const {
    return kernel + (group * outputs + o) * kernel_array.first + feature * kernel_array.second;
  }
  T* ResultPlane(int64_t group, int64_t example, int64_t o) const {
    return result + example * result_array.first + (group * outputs + o) * result_array.second;
  }

  void Run(ffi::ThreadPool& pool) const {
    // The longer loop is the inner one.
    const bool over_window = Product(window) > Product(out);
    if (IsDepthwise(over_window ? window : out, over_window ? out : window, over_window)) {
      RunDepthwise(pool, over_window);
    } else if (over_window) {
      RunOverWindow(pool);
    } else {
      RunOverResult(pool);
    }
  }

 private:
  // The dimension that is divided into bands, and their size, such that what a band needs stays in
  // the cache.
  static void Bands(const Geometry& geometry, int64_t planes, int* dimension, int64_t* size) {
    constexpr int64_t kCache = (256 << 10) / sizeof(T);
    *dimension = kSpatial - 1;
    while (*dimension > 0 && Product(geometry.positions) > geometry.positions[kSpatial - 1] &&
           geometry.positions[*dimension - 1] > 1) {
      --*dimension;
    }
    const int64_t all = geometry.positions[*dimension];
    const int64_t elements = Planes(geometry, {0, 0, 0}, geometry.positions).size() * planes;
    const int64_t count = std::min(all, std::max<int64_t>(1, (elements + kCache - 1) / kCache));
    *size = (all + count - 1) / count;
  }

  // Whether each plane of the operand has its own kernels, in two dimensions without steps. `image` and
  // `taps` are the larger and the smaller of the window and the result.
  bool IsDepthwise(const Sizes& image, const Sizes& taps, bool over_window) const {
    const Sizes ones = {1, 1, 1};
    return groups > 1 && (over_window ? batch : inputs) == 1 && step == ones && gap == ones &&
           dilation == ones && image[0] == 1 && taps[0] == 1 && taps[1] > 1 &&
           image[2] >= Depthwise<T>::kLeastColumns;
  }

  void RunDepthwise(ffi::ThreadPool& pool, bool over_window) const {
    const Sizes &image = over_window ? window : out, &taps = over_window ? out : window;
    const PlaneSizes sizes = {source[1], source[2], taps[1], taps[2], image[1], image[2], low[1], low[2]};
    const int64_t planes = over_window ? groups * outputs : groups * batch;
    // A few planes for each thread at a time.
    const int64_t chunks = std::min(planes, 8 * std::max<int64_t>(pool.num_threads(), 1));
    ForEachChunk(pool, chunks, [&](int64_t chunk) {
      Depthwise<T> depthwise(sizes);
      const int64_t last = planes * (chunk + 1) / chunks;
      for (int64_t plane = planes * chunk / chunks; plane < last; ++plane) {
        if (over_window) {
          WriteProducts(plane / outputs, plane % outputs, &depthwise);
          continue;
        }
        const int64_t b = plane / groups, g = plane % groups;
        depthwise.Convolve(OperandPlane(g, b, 0), outputs, [&](int64_t o) { return KernelPlane(g, o, 0); },
                           [&](int64_t o) { return ResultPlane(g, b, o); });
      }
    });
  }

  // The derivative of a depthwise convolution by one kernel: a sum over the examples.
  void WriteProducts(int64_t g, int64_t o, Depthwise<T>* depthwise) const {
    const Geometry geometry{source, window, out, dilation, step, low, gap};
    std::vector<T> sums(Product(out), T(0));
    for (int64_t f = 0; f < inputs; ++f) {
      depthwise->AddProducts(OperandPlane(g, 0, f), KernelPlane(g, o, f), sums.data());
    }
    T* to = ResultPlane(g, 0, o);
    ForEachTap(out, [&](const Sizes& tap) {
      const int64_t t = tap[1] * out[2] + tap[2];
      // Around the cotangent zeros are multiplied by elements, which may be infinite.
      to[t] = std::isnan(sums[t]) ? ElementByElement(geometry, g, 0, o, tap) : sums[t];
    });
  }

  void RunOverResult(ffi::ThreadPool& pool) const {
    const Geometry geometry{source, out, window, step, dilation, low, gap};
    const int64_t window_size = Product(window), taps = inputs * window_size;
    // The weights of a block of results lie together, tap by tap.
    std::unique_ptr<T[]> weights(new T[groups * outputs * taps]);
    for (int64_t g = 0; g < groups; ++g) {
      ForEachBlock(outputs, loops.most_outputs, [&](size_t start, size_t count) {
        T* block = weights.get() + (g * outputs + start) * taps;
        for (size_t o = 0; o < count; ++o) {
          for (int64_t f = 0; f < inputs; ++f) {
            const T* from = KernelPlane(g, start + o, f);
            for (int64_t t = 0; t < window_size; ++t) block[(f * window_size + t) * count + o] = from[t];
          }
        }
      });
    }
    int dimension;
    int64_t band_size;
    Bands(geometry, inputs, &dimension, &band_size);
    const int64_t bands = (out[dimension] + band_size - 1) / band_size;
    ForEachChunk(pool, batch * groups * bands, [&](int64_t chunk) {
      const int64_t band = chunk % bands, g = chunk / bands % groups, b = chunk / bands / groups;
      Sizes begin = {0, 0, 0}, count = out;
      begin[dimension] = band * band_size;
      count[dimension] = std::min(band_size, out[dimension] - begin[dimension]);
      const Planes planes(geometry, begin, count);
      const int64_t each = planes.size(), length = planes.length();
      const int64_t slack = 8 * loops.width, pitch = length + slack;
      std::unique_ptr<T[]> in(new T[inputs * each + slack]);
      std::unique_ptr<T[]> sums(new T[loops.most_outputs * pitch]);
      std::vector<int64_t> offsets;
      offsets.reserve(taps);
      for (int64_t f = 0; f < inputs; ++f) {
        planes.Arrange(OperandPlane(g, b, f), in.get() + f * each);
        ForEachTap(window, [&](const Sizes& tap) { offsets.push_back(f * each + planes.Offset(tap)); });
      }
      std::fill_n(in.get() + inputs * each, slack, T(0));
      ForEachBlock(outputs, loops.most_outputs, [&](size_t start, size_t size) {
        loops.sum_taps(size, in.get(), length, offsets.data(), taps,
                       weights.get() + (g * outputs + start) * taps, sums.get(), pitch);
        for (size_t o = 0; o < size; ++o) {
          T* to = ResultPlane(g, b, start + o);
          for (int64_t i = 0; i < count[0]; ++i) {
            for (int64_t j = 0; j < count[1]; ++j) {
              const int64_t row = ((begin[0] + i) * out[1] + begin[1] + j) * out[2] + begin[2];
              std::copy_n(sums.get() + o * pitch + planes.Row(i, j), count[2], to + row);
            }
          }
        }
      });
    });
  }

  // The derivative by a kernel is a convolution of a large window, by the cotangents, and a small
  // result. Here the elements of the window are the positions, those of the result the taps.
  void RunOverWindow(ffi::ThreadPool& pool) const {
    const Geometry geometry{source, window, out, dilation, step, low, gap};
    const int64_t out_size = Product(out), taps = batch * out_size;
    int dimension;
    int64_t band_size;
    Bands(geometry, batch, &dimension, &band_size);
    // A chunk of results has sums that stay in the cache; it arranges the operand of its group anew.
    constexpr int64_t kCache = (512 << 10) / sizeof(T);
    const int64_t threads = std::max<int64_t>(pool.num_threads(), 1);
    const int64_t sums_size = outputs * taps * static_cast<int64_t>(loops.width);
    const int64_t parts = std::min<int64_t>(
        (outputs + loops.most_factors - 1) / loops.most_factors,
        std::max((sums_size + kCache - 1) / kCache, groups < threads ? threads : 1));
    // Whole blocks of factors.
    const int64_t part_size = (outputs + parts * loops.most_factors - 1) /
                              (parts * loops.most_factors) * loops.most_factors;
    ForEachChunk(pool, groups * parts, [&](int64_t chunk) {
      const int64_t g = chunk / parts, part = chunk % parts;
      const int64_t first = std::min(outputs, part * part_size);
      const int64_t last = std::min(outputs, first + part_size);
      const size_t width = loops.width, out_pitch = taps * width;
      std::vector<T> sums((last - first) * out_pitch, T(0));
      for (int64_t position = 0; position < window[dimension]; position += band_size) {
        Sizes begin = {0, 0, 0}, count = window;
        begin[dimension] = position;
        count[dimension] = std::min(band_size, window[dimension] - position);
        AddBand(geometry, begin, count, g, first, last, sums.data(), out_pitch);
      }
      for (int64_t o = first; o < last; ++o) {
        for (int64_t b = 0; b < batch; ++b) {
          ForEachTap(out, [&](const Sizes& tap) {
            const int64_t t = (tap[0] * out[1] + tap[1]) * out[2] + tap[2];
            const T* lanes = sums.data() + (o - first) * out_pitch + (b * out_size + t) * width;
            T total = 0;
            for (size_t lane = 0; lane < width; ++lane) total += lanes[lane];
            // Between the rows zeros are multiplied by elements, which may be infinite.
            if (std::isnan(total)) total = ElementByElement(geometry, g, b, o, tap);
            ResultPlane(g, b, o)[t] = total;
          });
        }
      }
    });
  }

  void AddBand(const Geometry& geometry, const Sizes& begin, const Sizes& count, int64_t g,
               int64_t first, int64_t last, T* sums, size_t out_pitch) const {
    const Planes planes(geometry, begin, count);
    const int64_t each = planes.size(), out_size = Product(out), taps = batch * out_size;
    const size_t width = loops.width;
    const size_t length = (planes.length() + width - 1) / width * width;
    std::unique_ptr<T[]> in(new T[batch * each + width]), factors(new T[(last - first) * length]);
    std::fill_n(in.get() + batch * each, width, T(0));
    std::fill_n(factors.get(), (last - first) * length, T(0));
    std::vector<int64_t> offsets;
    offsets.reserve(taps);
    for (int64_t b = 0; b < batch; ++b) {
      ForEachTap(out, [&](const Sizes& tap) { offsets.push_back(b * each + planes.Offset(tap)); });
    }
    for (int64_t f = 0; f < inputs; ++f) {
      for (int64_t b = 0; b < batch; ++b) {
        planes.Arrange(OperandPlane(g, b, f), in.get() + b * each);
      }
      for (int64_t o = first; o < last; ++o) {
        const T* from = KernelPlane(g, o, f);
        for (int64_t i = 0; i < count[0]; ++i) {
          for (int64_t j = 0; j < count[1]; ++j) {
            const int64_t row = ((begin[0] + i) * window[1] + begin[1] + j) * window[2] + begin[2];
            std::copy_n(from + row, count[2], factors.get() + (o - first) * length + planes.Row(i, j));
          }
        }
      }
      size_t o = 0;
      const size_t all = last - first;
      while (o < all) {
        const size_t block = all - o >= loops.most_factors ? loops.most_factors : 1;
        loops.add_products(block, factors.get() + o * length, length, in.get(), offsets.data(), taps,
                           length, sums + o * out_pitch, out_pitch);
        o += block;
      }
    }
  }

  // One element of the result, from those that it depends on.
  T ElementByElement(const Geometry& geometry, int64_t g, int64_t b, int64_t o,
                     const Sizes& tap) const {
    const Planes planes(geometry, {0, 0, 0}, geometry.positions);
    std::unique_ptr<T[]> in(new T[planes.size()]);
    const int64_t offset = planes.Offset(tap);
    T total = 0;
    for (int64_t f = 0; f < inputs; ++f) {
      planes.Arrange(OperandPlane(g, b, f), in.get());
      const T* factor = KernelPlane(g, o, f);
      for (int64_t i = 0; i < window[0]; ++i) {
        for (int64_t j = 0; j < window[1]; ++j) {
          const T* row = in.get() + offset + planes.Row(i, j);
          for (int64_t k = 0; k < window[2]; ++k) total += row[k] * *factor++;
        }
      }
    }
    return total;
  }
};

using Numbers = ffi::Span<const int64_t>;

template <typename T>
void Convolve(ffi::ThreadPool& pool, ffi::AnyBuffer lhs, ffi::AnyBuffer rhs, ffi::AnyBuffer out,
              Numbers lhs_spec, Numbers rhs_spec, Numbers out_spec, Numbers window_strides,
              Numbers low, Numbers lhs_dilation, Numbers rhs_dilation, int64_t feature_groups,
              int64_t batch_groups) {
  const auto lhs_sizes = lhs.dimensions(), rhs_sizes = rhs.dimensions();
  const auto out_sizes = out.dimensions();
  const size_t count = lhs_spec.size() - 2;
  const int64_t groups = feature_groups * batch_groups;
  Convolution<T> convolution{
      static_cast<const T*>(lhs.untyped_data()),
      static_cast<const T*>(rhs.untyped_data()),
      static_cast<T*>(out.untyped_data()),
      Array(lhs, lhs_spec),
      Array(rhs, rhs_spec),
      Array(out, out_spec),
      out_sizes[out_spec[0]],
      rhs_sizes[rhs_spec[0]] / groups,
      rhs_sizes[rhs_spec[1]],
      groups,
      batch_groups > 1,
      Spatial(count, 1, [&](size_t i) { return lhs_sizes[lhs_spec[i + 2]]; }),
      Spatial(count, 1, [&](size_t i) { return rhs_sizes[rhs_spec[i + 2]]; }),
      Spatial(count, 1, [&](size_t i) { return out_sizes[out_spec[i + 2]]; }),
      Spatial(count, 1, [&](size_t i) { return window_strides[i]; }),
      Spatial(count, 0, [&](size_t i) { return low[i]; }),
      Spatial(count, 1, [&](size_t i) { return lhs_dilation[i]; }),
      Spatial(count, 1, [&](size_t i) { return rhs_dilation[i]; }),
  };
  convolution.Run(pool);
}

ffi::Error ConvolveFloats(ffi::ThreadPool pool, ffi::AnyBuffer lhs, ffi::AnyBuffer rhs,
                          ffi::Result<ffi::AnyBuffer> out, Numbers lhs_spec, Numbers rhs_spec,
                          Numbers out_spec, Numbers window_strides, Numbers low,
                          Numbers lhs_dilation, Numbers rhs_dilation, int64_t feature_groups,
                          int64_t batch_groups) {
  const auto convolve = [&](auto zero) {
    Convolve<decltype(zero)>(pool, lhs, rhs, *out, lhs_spec, rhs_spec, out_spec, window_strides, low,
                             lhs_dilation, rhs_dilation, feature_groups, batch_groups);
    return ffi::Error::Success();
  };
  switch (lhs.element_type()) {
    case ffi::F32: return convolve(float{});
    case ffi::F64: return convolve(double{});
    default: return ffi::Error::InvalidArgument("ricci_native convolves no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciConvolution, ricci::ConvolveFloats,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>()
                  .Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Attr<xla::ffi::Span<const int64_t>>("lhs_spec")
                  .Attr<xla::ffi::Span<const int64_t>>("rhs_spec")
                  .Attr<xla::ffi::Span<const int64_t>>("out_spec")
                  .Attr<xla::ffi::Span<const int64_t>>("window_strides")
                  .Attr<xla::ffi::Span<const int64_t>>("low")
                  .Attr<xla::ffi::Span<const int64_t>>("lhs_dilation")
                  .Attr<xla::ffi::Span<const int64_t>>("rhs_dilation")
                  .Attr<int64_t>("feature_groups")
                  .Attr<int64_t>("batch_groups"))
