// A stable sort of arrays along their minor dimension, by one or more of them.

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "buckets.h"
#include "handler.h"
#include "lanes.h"
#include "orders.h"
#include "parallel.h"
#include "radix.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

// Memory that is not initialized.
template <typename T>
std::unique_ptr<T[]> Uninitialized(size_t n) {
  return std::unique_ptr<T[]>(new T[n]);
}

// Writes the elements whose keys do not determine them, zeros and NaNs, to a sorted row in their
// original order. Their keys are the same, so that they are next to each other.
template <typename Order, typename U = typename Order::U>
RICCI_VECTORIZED void RestoreTies(size_t n, const U* in, U* out) {
  U any = 0;
  for (size_t i = 0; i < n; ++i) any |= static_cast<U>(Order::IsTied(in[i]));
  if (!any) return;
  const U zero = Order::kZero, nan = Order::kNaN;
  size_t zeros = 0, nans = n;
  for (size_t i = 0; i < n; ++i) {
    const U key = Order::Encode(in[i]);
    zeros += key < zero;
    nans -= key == nan;
  }
  for (size_t i = 0; i < n; ++i) {
    const U key = Order::Encode(in[i]);
    if (key == zero) out[zeros++] = in[i];
    if (key == nan) out[nans++] = in[i];
  }
}

// Computes the keys of a row ahead of the passes, in vector instructions.
template <typename Order, typename U = typename Order::U>
RICCI_VECTORIZED void EncodeRow(size_t n, const U* in, U* keys) {
  for (size_t i = 0; i < n; ++i) keys[i] = Order::Encode(in[i]);
}

template <typename Order, typename U = typename Order::U>
RICCI_VECTORIZED void DecodeRow(size_t n, U* row) {
  for (size_t i = 0; i < n; ++i) row[i] = Order::Decode(row[i]);
}

// Sorts one row.
template <typename Order, typename U = typename Order::U>
void SortValues(size_t n, const U* in, U* out) {
  const auto keys = Uninitialized<U>(2 * n);
  U* const buffers[] = {keys.get() + n, out};
  EncodeRow<Order>(n, in, keys.get());
  WithRadixSort<U>(n, [&](auto& radix) {
    radix.Run(
        n, [&](size_t i) { return keys[i]; }, [](U key) { return key; }, buffers,
        [&](size_t position, U key) { out[position] = Order::Decode(key); });
  });
  if constexpr (Order::kHasTies) RestoreTies<Order>(n, in, out);
}

// Sorts a row of keys of up to 32 bits and moves values of up to 32 bits along. An entry has the key
// in its upper half and the value in the lower one.
template <typename Order, typename V, typename U = typename Order::U>
void SortKeysAndValues(size_t n, const U* in, const V* values, U* out_keys, V* out_values) {
  if constexpr (sizeof(U) == 4) {
    const auto key = [in](size_t i) { return Order::Encode(in[i]); };
    if (n >= BucketSort<V>::kLeastElements &&
        BucketSort<V>::Run(n, key, values, out_keys, out_values)) {
      DecodeRow<Order>(n, out_keys);
      if constexpr (Order::kHasTies) RestoreTies<Order>(n, in, out_keys);
      return;
    }
  }
  const auto keys = Uninitialized<U>(n);
  const auto scratch = Uninitialized<uint64_t>(2 * n);
  uint64_t* const buffers[] = {scratch.get(), scratch.get() + n};
  EncodeRow<Order>(n, in, keys.get());
  WithRadixSort<U>(n, [&](auto& radix) {
    radix.Run(
        n, [&](size_t i) { return uint64_t{keys[i]} << 32 | values[i]; },
        [](uint64_t entry) { return static_cast<U>(entry >> 32); }, buffers,
        [&](size_t position, uint64_t entry) {
          out_keys[position] = Order::Decode(static_cast<U>(entry >> 32));
          out_values[position] = static_cast<V>(entry);
        });
  });
  if constexpr (Order::kHasTies) RestoreTies<Order>(n, in, out_keys);
}

// Sorts positions by the keys at them.
template <typename Order, typename U = typename Order::U>
void SortPositions(size_t n, const U* keys, const uint32_t* positions, uint32_t* sorted) {
  struct Entry {
    U key;
    uint32_t position;
  };
  const auto scratch = Uninitialized<Entry>(2 * n);
  Entry* const buffers[] = {scratch.get(), scratch.get() + n};
  WithRadixSort<U>(n, [&](auto& radix) {
    radix.Run(
        n, [&](size_t i) { return Entry{Order::Encode(keys[positions[i]]), positions[i]}; },
        [](const Entry& entry) { return entry.key; }, buffers,
        [&](size_t at, const Entry& entry) { sorted[at] = entry.position; });
  });
}

template <typename T>
void Gather(size_t n, const uint32_t* positions, const void* in, void* out) {
  for (size_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = static_cast<const T*>(in)[positions[i]];
  }
}

struct Pair {
  uint64_t low, high;
};

void Gather(size_t width, size_t n, const uint32_t* positions, const void* in, void* out) {
  switch (width) {
    case 1: return Gather<uint8_t>(n, positions, in, out);
    case 2: return Gather<uint16_t>(n, positions, in, out);
    case 4: return Gather<uint32_t>(n, positions, in, out);
    case 8: return Gather<uint64_t>(n, positions, in, out);
    default: return Gather<Pair>(n, positions, in, out);
  }
}

// Calls visit(V()) with the unsigned integer of a width in bytes of up to 4; false for others.
template <typename Visit>
bool WithNarrow(size_t width, const Visit& visit) {
  switch (width) {
    case 1: visit(uint8_t()); return true;
    case 2: visit(uint16_t()); return true;
    case 4: visit(uint32_t()); return true;
    default: return false;
  }
}

// The part of an operand and of its result that is one row.
struct Row {
  ffi::DataType type;
  size_t width;
  const char* in;
  char* out;
};

bool SortRow(size_t n, const std::vector<Row>& rows, size_t num_keys) {
  const Row& first = rows[0];
  bool sorted = false;
  if (rows.size() == 1) {
    return WithOrder(first.type, [&](auto order) {
      using Order = decltype(order);
      using U = typename Order::U;
      SortValues<Order>(n, reinterpret_cast<const U*>(first.in), reinterpret_cast<U*>(first.out));
    });
  }
  if (rows.size() == 2 && num_keys == 1 && first.width <= 4) {
    WithNarrow(rows[1].width, [&](auto value) {
      using V = decltype(value);
      sorted = WithOrder(first.type, [&](auto order) {
        using Order = decltype(order);
        using U = typename Order::U;
        if constexpr (sizeof(U) <= 4) {
          SortKeysAndValues<Order, V>(n, reinterpret_cast<const U*>(first.in),
                                      reinterpret_cast<const V*>(rows[1].in),
                                      reinterpret_cast<U*>(first.out),
                                      reinterpret_cast<V*>(rows[1].out));
        }
      });
    });
    if (sorted) return true;
  }
  // By the last key first: each sort is stable, so that elements of equal keys stay in the order of
  // the later ones.
  auto positions = Uninitialized<uint32_t>(n), next = Uninitialized<uint32_t>(n);
  std::iota(positions.get(), positions.get() + n, 0);
  for (size_t key = num_keys; key-- > 0;) {
    sorted = WithOrder(rows[key].type, [&](auto order) {
      using Order = decltype(order);
      using U = typename Order::U;
      SortPositions<Order>(n, reinterpret_cast<const U*>(rows[key].in), positions.get(),
                           next.get());
    });
    if (!sorted) return false;
    std::swap(positions, next);
  }
  for (const Row& row : rows) Gather(row.width, n, positions.get(), row.in, row.out);
  return true;
}

ffi::Error Sort(ffi::ThreadPool pool, ffi::RemainingArgs args, ffi::RemainingRets rets,
                int64_t length, int64_t num_keys) {
  std::vector<Row> operands;
  size_t count = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    auto in = args.get<ffi::AnyBuffer>(i);
    auto out = rets.get<ffi::AnyBuffer>(i);
    if (!in.has_value()) return in.error();
    if (!out.has_value()) return out.error();
    operands.push_back({in->element_type(), ffi::ByteWidth(in->element_type()),
                        static_cast<const char*>(in->untyped_data()),
                        static_cast<char*>((*out)->untyped_data())});
    count = in->element_count();
  }
  if (count == 0) return ffi::Error::Success();
  const size_t n = static_cast<size_t>(length);
  std::atomic<bool> supported{true};
  ForEachRow(pool, count / n, n, [&](size_t row) {
    std::vector<Row> parts(operands);
    for (Row& part : parts) {
      part.in += row * n * part.width;
      part.out += row * n * part.width;
    }
    if (!SortRow(n, parts, num_keys)) supported = false;
  });
  if (!supported) return ffi::Error::InvalidArgument("ricci_native sorts no keys of this type");
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciSort, ricci::Sort,
              RICCI_BIND.RemainingArgs().RemainingRets().Attr<int64_t>("length").Attr<int64_t>(
                  "num_keys"))
