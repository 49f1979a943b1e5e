// Radix sort by the least significant digit first: stable, and linear in the number of entries.
//
// Each pass distributes all entries to buckets by one digit of their keys, in order, so that entries
// of equal digits stay in the order of the digits before. The sizes of the buckets of all passes are
// counted together ahead of the first. A pass in which one bucket has all entries is left out, so
// that integers of a small range take a pass or two.

#ifndef RICCI_NATIVE_RADIX_H_
#define RICCI_NATIVE_RADIX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ricci {

template <typename Key, int kDigitBits>
class RadixSort {
 public:
  // Sorts n entries, fewer than 2³².
  //
  //   entry_of(i)           the i-th entry
  //   key_of(entry)         its key
  //   buffers               two arrays of n entries for the passes between the first and the last.
  //                         The last pass reads from the first of the two.
  //   store(position, entry)  writes the result, in the last pass
  template <typename Entry, typename EntryOf, typename KeyOf, typename Store>
  void Run(size_t n, const EntryOf& entry_of, const KeyOf& key_of, Entry* const (&buffers)[2],
           const Store& store) {
    Count(n, [&](size_t i) { return key_of(entry_of(i)); });
    if (passes_ == 0) {
      for (size_t i = 0; i < n; ++i) store(i, entry_of(i));
      return;
    }
    if (passes_ == 1) return Distribute(0, n, entry_of, key_of, store);
    if constexpr (kDigits > 1) {
      // The buffers alternate such that the last of these passes writes to buffers[0].
      int into = passes_ % 2;
      Distribute(0, n, entry_of, key_of, StoreIn<Entry>{buffers[into]});
      for (int pass = 1; pass + 1 < passes_; ++pass, into = 1 - into) {
        Distribute(pass, n, ReadFrom<Entry>{buffers[into]}, key_of,
                   StoreIn<Entry>{buffers[1 - into]});
      }
      Distribute(passes_ - 1, n, ReadFrom<Entry>{buffers[0]}, key_of, store);
    }
  }

 private:
  static constexpr int kDigits = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
  static constexpr size_t kBuckets = size_t{1} << kDigitBits;

  template <typename Entry>
  struct StoreIn {
    Entry* array;
    void operator()(size_t position, const Entry& entry) const { array[position] = entry; }
  };
  template <typename Entry>
  struct ReadFrom {
    const Entry* array;
    const Entry& operator()(size_t i) const { return array[i]; }
  };

  static size_t Digit(Key key, int digit) {
    return static_cast<size_t>(key >> (digit * kDigitBits)) & (kBuckets - 1);
  }

  // Computes the first position of each bucket of each digit, and which digits need a pass.
  template <typename KeyAt>
  void Count(size_t n, const KeyAt& key_at) {
    positions_.assign(kDigits * kBuckets, 0);
    passes_ = 0;
    for (size_t i = 0; i < n; ++i) {
      const Key key = key_at(i);
      for (int digit = 0; digit < kDigits; ++digit) {
        ++positions_[digit * kBuckets + Digit(key, digit)];
      }
    }
    for (int digit = 0; n > 0 && digit < kDigits; ++digit) {
      uint32_t* positions = &positions_[digit * kBuckets];
      if (positions[Digit(key_at(0), digit)] == n) continue;
      digit_of_pass_[passes_++] = digit;
      uint32_t sum = 0;
      for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
        const uint32_t size = positions[bucket];
        positions[bucket] = sum;
        sum += size;
      }
    }
  }

  template <typename EntryOf, typename KeyOf, typename Store>
  void Distribute(int pass, size_t n, const EntryOf& entry_of, const KeyOf& key_of,
                  const Store& store) {
    const int digit = digit_of_pass_[pass];
    uint32_t* positions = &positions_[digit * kBuckets];
    for (size_t i = 0; i < n; ++i) {
      const auto entry = entry_of(i);
      store(positions[Digit(key_of(entry), digit)]++, entry);
    }
  }

  std::vector<uint32_t> positions_;
  int digit_of_pass_[kDigits];
  int passes_ = 0;
};

// Calls sort(RadixSort) with the digits that are fastest for n entries. With 11 bits three passes
// sort 32 bits. In long arrays the 2048 ends of buckets miss the caches too often; in short ones the
// counters take longer than the entries. There a digit has 8 bits.
template <typename Key, typename Sort>
void WithRadixSort(size_t n, const Sort& sort) {
  if (sizeof(Key) >= 4 && n >= 1024 && n < (size_t{1} << 18)) {
    RadixSort<Key, 11> radix;
    sort(radix);
  } else {
    RadixSort<Key, 8> radix;
    sort(radix);
  }
}

}  // namespace ricci

#endif  // RICCI_NATIVE_RADIX_H_
