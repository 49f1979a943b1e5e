// Random orders: elements sorted by random numbers, which are drawn as they are needed.
//
// Elements are distributed to buckets by the highest bits of their numbers as these are drawn. A
// bucket fits in the caches: there its elements are distributed by the next 12 bits, after which
// nearly all are in order, and comparisons of neighbours do the rest. The elements of a sorted bucket
// get their numbers of the next round at once.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "handler.h"
#include "lanes.h"
#include "pages.h"
#include "radix.h"
#include "threefry.h"
#include "threefry_blocks.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// A random number in the upper half, an element in the lower one.
using Entry = uint64_t;

constexpr size_t kBlock = 1024;
constexpr size_t kLine = 64 / sizeof(Entry);
constexpr int kDigitBits = 12;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// Whether the number of one entry is greater than that of another.
RICCI_INLINE bool IsAbove(Entry entry, Entry other) { return entry > (other | UINT32_MAX); }

// Numbers drawn in order, with the elements that they belong to, in 2ᵇ buckets.
class Buckets {
 public:
  // The entries for which each of the buckets of n numbers has room: some standard deviations more
  // than the mean.
  static size_t Capacity(size_t n, int bits) {
    const double mean = std::ldexp(static_cast<double>(n), -bits);
    return static_cast<size_t>(mean + 5 * std::sqrt(mean)) + 1;
  }

  // The memory needed: a block may be added before its bucket is found full.
  static size_t Entries(size_t capacity, int bits) { return (capacity << bits) + kBlock; }

  Buckets(Words key, int bits, size_t capacity, Entry* entries)
      : draw_(ChosenWords().draw), key_(key), shift_(32 - bits), capacity_(capacity), entries_(entries) {
    ends_.resize(size_t{1} << bits);
    for (size_t b = 0; b < ends_.size(); ++b) ends_[b] = static_cast<uint32_t>(b * capacity);
  }

  // Draws numbers for more elements; false if a bucket is full.
  template <typename ElementAt>
  bool Add(size_t count, const ElementAt& element_at) {
    uint32_t numbers[kBlock + kWordsAhead];
    for (size_t start = 0; start < count; start += kBlock) {
      const size_t size = std::min(kBlock, count - start);
      draw_(key_, added_, size, numbers);
      added_ += static_cast<uint32_t>(size);
      Distribute(size, numbers, [&](size_t i) { return element_at(start + i); });
      if (!Fits()) return false;
    }
    return true;
  }

  size_t size() const { return ends_.size(); }
  const Entry* begin(size_t bucket) const { return entries_ + bucket * capacity_; }
  size_t count(size_t bucket) const { return ends_[bucket] - bucket * capacity_; }

 private:
  // Four numbers are read ahead of the stores: compilers do not, since these might change them. The
  // next line of each bucket is loaded ahead, as processors cannot tell that it comes next.
  template <typename ElementAt>
  void Distribute(size_t n, const uint32_t* numbers, const ElementAt& element_at) {
    Entry* const entries = entries_;
    uint32_t* const ends = ends_.data();
    const int shift = 32 + shift_;
    const auto store = [=](Entry entry) {
      Entry* const end = entries + ends[entry >> shift]++;
      *end = entry;
      __builtin_prefetch(end + kLine, 1);
    };
    const auto at = [&](size_t i) { return Entry{numbers[i]} << 32 | element_at(i); };
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Entry ahead[4] = {at(i), at(i + 1), at(i + 2), at(i + 3)};
      for (const Entry entry : ahead) store(entry);
    }
    for (; i < n; ++i) store(at(i));
  }

  bool Fits() const {
    bool fits = true;
    for (size_t b = 0; b < ends_.size(); ++b) fits &= ends_[b] <= (b + 1) * capacity_;
    return fits;
  }

  void (*draw_)(Words, uint32_t, size_t, uint32_t*);
  Words key_;
  uint32_t added_ = 0;
  int shift_;
  size_t capacity_;
  Entry* entries_;
  std::vector<uint32_t> ends_;
};

// Compares neighbours and exchanges them if they are out of order, by turns those behind even and odd
// positions: runs of five are in order then. Returns whether all entries are. Behind them there is room
// for two more.
RICCI_VECTORIZED bool ExchangeNeighbours(size_t n, Entry* entries) {
  entries[n] = entries[n + 1] = UINT64_MAX;
  for (int pass = 0; pass < 5; ++pass) {
    Entry* const row = entries + pass % 2;
    for (size_t i = 0; i < n; i += 2) {
      const Entry first = row[i], second = row[i + 1];
      const bool exchanges = IsAbove(first, second);
      row[i] = exchanges ? second : first;
      row[i + 1] = exchanges ? first : second;
    }
  }
  uint64_t unordered = 0;
  for (size_t i = 0; i < n; ++i) unordered |= IsAbove(entries[i], entries[i + 1]);
  return !unordered;
}

template <typename T>
RICCI_INLINE void StoreEach(size_t n, const Entry* entries, T* out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(entries[i]);
}
RICCI_VECTORIZED void StoreElements(size_t n, const Entry* entries, uint32_t* out) {
  StoreEach(n, entries, out);
}
template <typename T>
void StoreElements(size_t n, const Entry* entries, T* out) {
  StoreEach(n, entries, out);
}

// Adds up the counts of two arrays, and each sum to those after it among four.
RICCI_VECTORIZED void AddFours(const uint16_t* more, uint16_t* counts) {
  for (size_t d = 0; d < kDigits; d += 4) {
    uint64_t sums, others;
    std::memcpy(&sums, counts + d, sizeof(sums));
    std::memcpy(&others, more + d, sizeof(others));
    sums += others;
    sums += sums << 16;
    sums += sums << 32;
    std::memcpy(counts + d, &sums, sizeof(sums));
  }
}

// Replaces the counts of digits by the sums of those before them; more of them are in another array.
void ComputeSums(const uint16_t* more, uint16_t* counts) {
  AddFours(more, counts);
  uint64_t sum = 0;
  for (size_t d = 0; d < kDigits; d += 4) {
    uint64_t sums;
    std::memcpy(&sums, counts + d, sizeof(sums));
    const uint64_t before = (sums << 16) + sum * 0x0001000100010001;
    std::memcpy(counts + d, &before, sizeof(before));
    sum += sums >> 48;
  }
}

// A stable sort of buckets.
class Sorter {
 public:
  Sorter(int bits, size_t capacity)
      : shift_(64 - bits - kDigitBits), sorted_(new Entry[capacity + 2]) {}

  // Returns the sorted entries, which stay until the next call. Those of the next one are loaded ahead.
  const Entry* Sort(size_t n, const Entry* entries, const Entry* next) {
    ComputeEnds(n, entries);
    Entry* const sorted = sorted_.get();
    uint16_t* const ends = counts_[0];
    const int shift = shift_;
    const auto store = [=](Entry entry) { sorted[ends[entry >> shift & (kDigits - 1)]++] = entry; };
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Entry ahead[4] = {entries[i], entries[i + 1], entries[i + 2], entries[i + 3]};
      __builtin_prefetch(next + i, 0, 2);
      for (const Entry entry : ahead) store(entry);
    }
    for (; i < n; ++i) store(entries[i]);
    if (!ExchangeNeighbours(n, sorted)) Insert(n, sorted);
    return sorted;
  }

 private:
  size_t Digit(Entry entry) const { return entry >> shift_ & (kDigits - 1); }

  // Counts by turns in two arrays, since a counter waits for its own last increment.
  void ComputeEnds(size_t n, const Entry* entries) {
    std::memset(counts_, 0, sizeof(counts_));
    for (size_t i = 0; i + 2 <= n; i += 2) {
      ++counts_[0][Digit(entries[i])];
      ++counts_[1][Digit(entries[i + 1])];
    }
    if (n % 2) ++counts_[0][Digit(entries[n - 1])];
    ComputeSums(counts_[1], counts_[0]);
  }

  static void Insert(size_t n, Entry* entries) {
    for (size_t i = 1; i < n; ++i) {
      const Entry entry = entries[i];
      size_t j = i;
      for (; j > 0 && IsAbove(entries[j - 1], entry); --j) entries[j] = entries[j - 1];
      entries[j] = entry;
    }
  }

  int shift_;
  uint16_t counts_[2][kDigits];
  std::unique_ptr<Entry[]> sorted_;
};

// The keys of the rounds: each round splits the key, and draws by the second of the two.
std::vector<Words> KeysOfRounds(Words key, int64_t rounds) {
  std::vector<Words> keys;
  for (int64_t round = 0; round < rounds; ++round) {
    keys.push_back(Encrypt(key, {0, 1}));
    key = Encrypt(key, {0, 0});
  }
  return keys;
}

// Writes elements in random order; false if a bucket is full.
template <typename T>
bool ShuffleByBuckets(const std::vector<Words>& keys, size_t n, const T* in, T* out) {
  int bits = 1;
  while (n >> bits > kDigits) ++bits;
  const size_t capacity = Buckets::Capacity(n, bits), half = Buckets::Entries(capacity, bits);
  // One block for two rounds, which malloc keeps up to a greater size than two.
  const std::unique_ptr<Entry[]> memory(new Entry[keys.size() > 1 ? 2 * half : half]);
  AdviseHugePages(memory.get(), (keys.size() > 1 ? 2 * half : half) * sizeof(Entry));
  const auto sorter = std::make_unique<Sorter>(bits, capacity);
  Buckets buckets(keys[0], bits, capacity, memory.get());
  if (!buckets.Add(n, [in](size_t i) { return in[i]; })) return false;
  for (size_t round = 1; round < keys.size(); ++round) {
    Buckets next(keys[round], bits, capacity, memory.get() + round % 2 * half);
    for (size_t b = 0; b < buckets.size(); ++b) {
      const size_t count = buckets.count(b);
      const Entry* sorted = sorter->Sort(count, buckets.begin(b), buckets.begin(b + 1));
      if (!next.Add(count, [=](size_t i) { return static_cast<T>(sorted[i]); })) return false;
    }
    buckets = std::move(next);
  }
  for (size_t b = 0; b < buckets.size(); ++b) {
    const size_t count = buckets.count(b);
    StoreElements(count, sorter->Sort(count, buckets.begin(b), buckets.begin(b + 1)), out);
    out += count;
  }
  return true;
}

// The same by a sort of any numbers.
template <typename T>
void ShuffleByRadix(const std::vector<Words>& keys, size_t n, const T* in, T* out) {
  const std::unique_ptr<uint32_t[]> numbers(new uint32_t[n + kWordsAhead]);
  const std::unique_ptr<Entry[]> scratch(new Entry[2 * n]);
  Entry* const buffers[] = {scratch.get(), scratch.get() + n};
  std::vector<T> elements(in, in + n);
  for (const Words key : keys) {
    ChosenWords().draw(key, 0, n, numbers.get());
    WithRadixSort<uint32_t>(n, [&](auto& radix) {
      radix.Run(
          n, [&](size_t i) { return Entry{numbers[i]} << 32 | elements[i]; },
          [](Entry entry) { return static_cast<uint32_t>(entry >> 32); }, buffers,
          [out](size_t at, Entry entry) { out[at] = static_cast<T>(entry); });
    });
    elements.assign(out, out + n);
  }
}

template <typename T>
void ShuffleElements(const std::vector<Words>& keys, size_t n, const void* in, void* out) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(out);
  // One call in some thousands has a full bucket.
  if (!ShuffleByBuckets(keys, n, from, to)) ShuffleByRadix(keys, n, from, to);
}

// The same of wide elements: positions are shuffled.
template <typename T>
void GatherElements(const std::vector<Words>& keys, size_t n, const void* in, void* out) {
  const std::unique_ptr<uint32_t[]> positions(new uint32_t[2 * n]);
  uint32_t* const order = positions.get() + n;
  std::iota(positions.get(), order, 0);
  ShuffleElements<uint32_t>(keys, n, positions.get(), order);
  for (size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = static_cast<const T*>(in)[order[i]];
}

struct Pair {
  uint64_t low, high;
};

ffi::Error Shuffle(ffi::ThreadPool, ffi::Buffer<ffi::U32> key, ffi::AnyBuffer in,
                   ffi::Result<ffi::AnyBuffer> out, int64_t rounds) {
  const size_t n = in.element_count();
  const auto shuffle = [&](auto function) {
    const Words words = {key.typed_data()[0], key.typed_data()[1]};
    function(KeysOfRounds(words, rounds), n, in.untyped_data(), out->untyped_data());
    return ffi::Error::Success();
  };
  switch (ffi::ByteWidth(in.element_type())) {
    case 1: return shuffle(ShuffleElements<uint8_t>);
    case 2: return shuffle(ShuffleElements<uint16_t>);
    case 4: return shuffle(ShuffleElements<uint32_t>);
    case 8: return shuffle(GatherElements<uint64_t>);
    case 16: return shuffle(GatherElements<Pair>);
    default: return ffi::Error::InvalidArgument("ricci_native shuffles no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciShuffle, ricci::Shuffle,
              RICCI_BIND.Arg<xla::ffi::Buffer<xla::ffi::U32>>().Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>().Attr<int64_t>("rounds"))
