// Counts of small integers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "floats.h"
#include "handler.h"
#include "lanes.h"
#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

constexpr size_t kBlock = 1024;
constexpr size_t kLeastChunk = size_t{1} << 16;  // elements, which are worth another thread
// Elements are counted by turns in several arrays, since a counter waits for its own last increment.
constexpr size_t kTurns = 4;
// Counters of one array, of which several fit in a cache of the second level.
constexpr size_t kMostTurned = 16384;

// Computes the counter of each element: negative ones count as 0, and those beyond the last counter
// in one more.
template <typename T>
RICCI_INLINE void CountersOf(const T* __restrict x, size_t n, uint32_t length,
                             uint32_t* __restrict counters) {
  using Place = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  for (size_t i = 0; i < n; ++i) {
    const auto place = static_cast<Place>(x[i] > T(0) ? x[i] : T(0));
    counters[i] = place < length ? static_cast<uint32_t>(place) : length;
  }
}

#define RICCI_COUNTERS(T)                                                              \
  RICCI_VECTORIZED void WriteCounters(const T* x, size_t n, uint32_t length,           \
                                      uint32_t* counters) {                            \
    CountersOf(x, n, length, counters);                                                \
  }
RICCI_COUNTERS(int8_t)
RICCI_COUNTERS(int16_t)
RICCI_COUNTERS(int32_t)
RICCI_COUNTERS(int64_t)
RICCI_COUNTERS(uint8_t)
RICCI_COUNTERS(uint16_t)
RICCI_COUNTERS(uint32_t)
RICCI_COUNTERS(uint64_t)

// Counts in `turns` arrays of `stride` counters each.
template <typename T>
void CountElements(const T* x, size_t n, uint32_t length, size_t turns, size_t stride,
                   uint32_t* counts) {
  uint32_t counters[kBlock];
  uint32_t* turn[kTurns];
  for (size_t t = 0; t < kTurns; ++t) turn[t] = counts + (t % turns) * stride;
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t count = std::min(kBlock, n - start);
    WriteCounters(x + start, count, length, counters);
    size_t i = 0;
    for (; i + kTurns <= count; i += kTurns) {
      for (size_t t = 0; t < kTurns; ++t) ++turn[t][counters[i + t]];
    }
    for (; i < count; ++i) ++turn[0][counters[i]];
  }
}

template <typename Out>
void AddCounts(const uint32_t* __restrict counts, size_t n, Out* __restrict out) {
  for (size_t i = 0; i < n; ++i) out[i] += static_cast<Out>(counts[i]);
}

template <typename T, typename Out>
void Bincount(ffi::ThreadPool& pool, const T* x, size_t n, Out* out, size_t length) {
  const size_t threads = std::max<int64_t>(pool.num_threads(), 1);
  const size_t chunks = std::max<size_t>(std::min(threads, n / kLeastChunk), 1);
  const size_t turns = length <= kMostTurned ? kTurns : 1, stride = length + 1;
  const std::unique_ptr<uint32_t[]> counts(new uint32_t[chunks * turns * stride]());
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t first = n * chunk / chunks, last = n * (chunk + 1) / chunks;
    CountElements(x + first, last - first, static_cast<uint32_t>(length), turns, stride,
                  &counts[chunk * turns * stride]);
  });
  std::fill(out, out + length, Out(0));
  for (size_t i = 0; i < chunks * turns; ++i) AddCounts(&counts[i * stride], length, out);
}

ffi::Error BincountOf(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out) {
  const auto count = [&](auto type) {
    using T = decltype(type);
    const auto* x = static_cast<const T*>(in.untyped_data());
    const size_t n = in.element_count(), length = out->element_count();
    if (out->element_type() == ffi::S64) {
      Bincount(pool, x, n, static_cast<int64_t*>(out->untyped_data()), length);
    } else {
      Bincount(pool, x, n, static_cast<int32_t*>(out->untyped_data()), length);
    }
    return ffi::Error::Success();
  };
  switch (in.element_type()) {
    case ffi::S8: return count(int8_t());
    case ffi::S16: return count(int16_t());
    case ffi::S32: return count(int32_t());
    case ffi::S64: return count(int64_t());
    case ffi::U8: return count(uint8_t());
    case ffi::U16: return count(uint16_t());
    case ffi::U32: return count(uint32_t());
    case ffi::U64: return count(uint64_t());
    default: return ffi::Error::InvalidArgument("ricci_native counts no such elements");
  }
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciBincount, ricci::BincountOf,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>())
