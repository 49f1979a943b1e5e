// Arrays of up to three spatial dimensions, arranged so that shifts of them are offsets.

#ifndef RICCI_NATIVE_PLANES_H_
#define RICCI_NATIVE_PLANES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ricci {

constexpr int kSpatial = 3;
using Sizes = std::array<int64_t, kSpatial>;

inline int64_t Product(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Which element of a source the position p and the tap t refer to, in each dimension: that at
// (p * position_step + t * tap_step - low) / gap, which is 0 where it is outside, or no whole number.
struct Geometry {
  Sizes source, positions, taps, position_step, tap_step, low, gap;
};

// The elements that a box of positions refers to. Elements whose distance is a position's step are
// neighbours: with a step of 2, each dimension is divided into the even elements and the odd ones. So
// what all positions refer to by a tap begins at an offset, and neighbours are neighbours. Behind the
// end of each row there are elements that only other taps refer to.
class Planes {
 public:
  Planes(const Geometry& geometry, const Sizes& begin, const Sizes& count)
      : geometry_(geometry), begin_(begin), count_(count) {
    for (int d = 0; d < kSpatial; ++d) {
      const int64_t step = geometry.position_step[d];
      const int64_t last = (geometry.taps[d] - 1) * geometry.tap_step[d];
      extent_[d] = count[d] + last / step;
      slot_[d].assign(step, -1);
      for (int64_t t = 0; t < geometry.taps[d]; ++t) {
        int64_t& slot = slot_[d][t * geometry.tap_step[d] % step];
        if (slot >= 0) continue;
        slot = phases_[d].size();
        phases_[d].push_back(t * geometry.tap_step[d] % step);
      }
    }
    pitch_ = {extent_[1] * extent_[2], extent_[2], 1};
  }

  // The number of elements of the arranged source.
  int64_t size() const {
    return Product(extent_) * phases_[0].size() * phases_[1].size() * phases_[2].size();
  }

  // From the first position to behind the last one.
  int64_t length() const {
    return (count_[0] - 1) * pitch_[0] + (count_[1] - 1) * pitch_[1] + count_[2];
  }

  // Where the rows of positions begin, by their index in the first two dimensions.
  int64_t Row(int64_t i, int64_t j) const { return i * pitch_[0] + j * pitch_[1]; }

  // Where the elements begin that the positions refer to by a tap.
  int64_t Offset(const Sizes& tap) const {
    int64_t slot = 0, offset = 0;
    for (int d = 0; d < kSpatial; ++d) {
      const int64_t shift = tap[d] * geometry_.tap_step[d], step = geometry_.position_step[d];
      slot = slot * phases_[d].size() + slot_[d][shift % step];
      offset += shift / step * pitch_[d];
    }
    return slot * Product(extent_) + offset;
  }

  template <typename T>
  void Arrange(const T* from, T* to) const {
    for (int64_t a : phases_[0]) {
      for (int64_t b : phases_[1]) {
        for (int64_t c : phases_[2]) to = ArrangePhase(from, {a, b, c}, to);
      }
    }
  }

 private:
  // The index in the source, or -1, of an element of a phase.
  int64_t Index(int d, int64_t phase, int64_t i) const {
    const int64_t at = (begin_[d] + i) * geometry_.position_step[d] + phase - geometry_.low[d];
    const int64_t gap = geometry_.gap[d];
    return at >= 0 && at % gap == 0 && at / gap < geometry_.source[d] ? at / gap : -1;
  }

  template <typename T>
  T* ArrangePhase(const T* from, const Sizes& phase, T* to) const {
    const int64_t step = geometry_.position_step[2], width = geometry_.source[2];
    // The element i of a row is that of index first + i * step.
    const int64_t first = begin_[2] * step + phase[2] - geometry_.low[2];
    const int64_t inside = width <= first ? 0 : (width - first + step - 1) / step;
    const int64_t end = std::min(extent_[2], inside);
    const int64_t begin = std::min(end, first >= 0 ? 0 : (-first + step - 1) / step);
    std::fill_n(to, Product(extent_), T(0));
    for (int64_t i = 0; i < extent_[0]; ++i) {
      for (int64_t j = 0; j < extent_[1]; ++j, to += extent_[2]) {
        const int64_t plane = Index(0, phase[0], i), row = Index(1, phase[1], j);
        if (plane < 0 || row < 0) continue;
        const T* source = from + (plane * geometry_.source[1] + row) * width;
        if (geometry_.gap[2] != 1) {
          for (int64_t k = 0; k < extent_[2]; ++k) {
            const int64_t index = Index(2, phase[2], k);
            if (index >= 0) to[k] = source[index];
          }
        } else if (step == 1) {
          std::copy(source + first + begin, source + first + end, to + begin);
        } else {
          for (int64_t k = begin; k < end; ++k) to[k] = source[first + k * step];
        }
      }
    }
    return to;
  }

  Geometry geometry_;
  Sizes begin_, count_, extent_, pitch_;
  std::array<std::vector<int64_t>, kSpatial> slot_, phases_;
};

// Calls visit(tap) for each tap, in order.
template <typename Visit>
void ForEachTap(const Sizes& taps, const Visit& visit) {
  for (int64_t a = 0; a < taps[0]; ++a) {
    for (int64_t b = 0; b < taps[1]; ++b) {
      for (int64_t c = 0; c < taps[2]; ++c) visit(Sizes{a, b, c});
    }
  }
}

}  // namespace ricci

#endif  // RICCI_NATIVE_PLANES_H_
