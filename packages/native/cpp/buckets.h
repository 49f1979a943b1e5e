// Sort of many evenly spread 32-bit keys together with values, by buckets that fit in the caches.
//
// Each pass of a plain radix sort writes a long array in an order in which most lines miss the caches.
// Here one pass does: it distributes keys and values to buckets of the results, by the highest 8 bits
// of the keys. Each bucket is then sorted, where it is, by the next 16 bits. So few keys share 24 bits
// that insertion puts the rest in order.

#ifndef RICCI_NATIVE_BUCKETS_H_
#define RICCI_NATIVE_BUCKETS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lanes.h"

namespace ricci {
namespace {

template <typename Value>
class BucketSort {
 public:
  // From so many elements on it is faster, as long as the largest bucket, read to entries of 64 bits,
  // fits in a cache of the second level.
  static constexpr size_t kLeastElements = size_t{1} << 18;
  static constexpr size_t kLargestBucket = size_t{1} << 16;

  // Returns whether the keys are spread evenly enough, and then sorts n of them, stably. key(i) is the
  // i-th key, ordered as an unsigned integer.
  template <typename Key>
  static bool Run(size_t n, const Key& key, const Value* values, uint32_t* out_keys,
                  Value* out_values) {
    size_t ends[kBuckets], largest = 0;
    CountBuckets(n, key, ends, &largest);
    if (largest > kLargestBucket) return false;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t k = key(i);
      const size_t at = ends[k >> 24]++;
      out_keys[at] = k;
      out_values[at] = values[i];
    }
    const std::unique_ptr<Entry[]> first(new Entry[largest]), second(new Entry[largest]);
    for (size_t b = 0, start = 0; b < kBuckets; start = ends[b++]) {
      SortBucket(ends[b] - start, out_keys + start, out_values + start, first.get(), second.get());
    }
    return true;
  }

 private:
  static constexpr size_t kBuckets = 256;
  using Counts = uint32_t[kBuckets];

  // An entry has its key in the upper half and its value in the lower one.
  using Entry = uint64_t;

  // Computes where each bucket begins. Counts by turns in several arrays, since a counter waits for its
  // own last increment.
  template <typename Key>
  static void CountBuckets(size_t n, const Key& key, size_t* starts, size_t* largest) {
    Counts counts[4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (size_t j = 0; j < 4; ++j) ++counts[j][key(i + j) >> 24];
    }
    for (; i < n; ++i) ++counts[0][key(i) >> 24];
    size_t start = 0;
    for (size_t b = 0; b < kBuckets; ++b) {
      const size_t size = size_t{counts[0][b]} + counts[1][b] + counts[2][b] + counts[3][b];
      starts[b] = start;
      start += size;
      *largest = std::max(*largest, size);
    }
  }

  static size_t Digit(int shift, uint32_t key) { return key >> shift & (kBuckets - 1); }

  // One pass of a radix sort, by 8 bits of the keys. Four entries are read ahead of the stores:
  // compilers do not, since these might change what is read.
  template <typename EntryAt>
  static void Pass(int shift, size_t n, const EntryAt& at, const Counts& counts, Entry* out) {
    Entry* ends[kBuckets];
    for (size_t b = 0; b < kBuckets; ++b) {
      ends[b] = out;
      out += counts[b];
    }
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Entry e[4] = {at(i), at(i + 1), at(i + 2), at(i + 3)};
      for (size_t j = 0; j < 4; ++j) *ends[Digit(shift, e[j] >> 32)]++ = e[j];
    }
    for (; i < n; ++i) {
      const Entry e = at(i);
      *ends[Digit(shift, e >> 32)]++ = e;
    }
  }

  static void SortBucket(size_t n, uint32_t* keys, Value* values, Entry* first, Entry* second) {
    Counts counts[3] = {};
    for (size_t i = 0; i < n; ++i) {
      ++counts[1][Digit(8, keys[i])];
      ++counts[2][Digit(16, keys[i])];
    }
    const auto in = [=](size_t i) { return Entry{keys[i]} << 32 | values[i]; };
    const auto in_first = [=](size_t i) { return first[i]; };
    const auto in_second = [=](size_t i) { return second[i]; };
    Pass(8, n, in, counts[1], first);
    Pass(16, n, in_first, counts[2], second);
    if (!InsertInOrder(n, second)) {
      // Many keys share 24 bits.
      for (size_t i = 0; i < n; ++i) ++counts[0][Digit(0, keys[i])];
      Pass(0, n, in, counts[0], second);
      Pass(8, n, in_second, counts[1], first);
      Pass(16, n, in_first, counts[2], second);
    }
    StoreEntries(n, second, keys, values);
  }

  // Moves entries to their places by insertion; false if that would take long.
  static bool InsertInOrder(size_t n, Entry* entries) {
    if (IsSorted(n, entries)) return true;
    size_t moves = 4 * n;
    for (size_t i = 1; i < n; ++i) {
      const Entry entry = entries[i];
      size_t j = i;
      for (; j > 0 && entries[j - 1] >> 32 > entry >> 32; --j) {
        if (moves-- == 0) return false;
        entries[j] = entries[j - 1];
      }
      if (j < i) entries[j] = entry;
    }
    return true;
  }

  RICCI_VECTORIZED static bool IsSorted(size_t n, const Entry* entries) {
    uint64_t unordered = 0;
    for (size_t i = 1; i < n; ++i) unordered |= entries[i] >> 32 < entries[i - 1] >> 32;
    return unordered == 0;
  }

  RICCI_VECTORIZED static void StoreEntries(size_t n, const Entry* entries, uint32_t* keys,
                                            Value* values) {
    for (size_t i = 0; i < n; ++i) {
      keys[i] = static_cast<uint32_t>(entries[i] >> 32);
      values[i] = static_cast<Value>(entries[i]);
    }
  }
};

}  // namespace
}  // namespace ricci

#endif  // RICCI_NATIVE_BUCKETS_H_
