// The k greatest elements of each row, in descending order, and their positions.

#include <algorithm>
#include <atomic>
#include <memory>
#include <type_traits>

#include "handler.h"
#include "lanes.h"
#include "orders.h"
#include "parallel.h"

namespace ricci {
namespace {

// The total order of floats by their bits, as of XLA's TopK: -NaN, -infinity, ..., -0, 0, ..., infinity,
// NaN. Elements of equal keys are the same.
template <typename Bits>
struct TotalOrder {
  using U = Bits;
  static U Encode(U bits) {
    const U negative = bits >> (8 * sizeof(U) - 1);
    return bits ^ static_cast<U>(static_cast<U>(-negative) | kSignBit<U>);
  }
  static U Decode(U key) {
    const U negative = static_cast<U>(~key) >> (8 * sizeof(U) - 1);
    return key ^ static_cast<U>(static_cast<U>(-negative) | kSignBit<U>);
  }
};

template <typename Order>
using TotalOrderOf = std::conditional_t<Order::kHasTies, TotalOrder<typename Order::U>, Order>;

// The elements that may be among the k greatest. A candidate is one number, the key above the position
// with its bits flipped, so that of equal elements the first one is the greatest.
template <typename U>
class Candidates {
 public:
  using Packed = std::conditional_t<sizeof(U) <= 4, uint64_t, unsigned __int128>;

  explicit Candidates(size_t k)
      : k_(k), most_(std::max<size_t>(2 * k, 64)), packed_(new Packed[most_]) {}

  bool has_bound() const { return bounded_; }
  // No element of this key or less is among the k greatest, unless it is a candidate already.
  U bound() const { return bound_; }

  void Add(U key, size_t position) {
    packed_[count_++] = Packed{key} << 32 | static_cast<uint32_t>(~position);
    if (count_ == most_) Select();
  }

  // Leaves the k greatest in descending order; there are at least so many.
  const Packed* Finish() {
    Select();
    std::sort(packed_.get(), packed_.get() + k_, std::greater<Packed>());
    return packed_.get();
  }
  static U Key(Packed candidate) { return static_cast<U>(candidate >> 32); }
  static uint32_t Position(Packed candidate) { return ~static_cast<uint32_t>(candidate); }

 private:
  void Select() {
    Packed* const first = packed_.get();
    std::nth_element(first, first + (k_ - 1), first + count_, std::greater<Packed>());
    count_ = k_;
    bound_ = Key(first[k_ - 1]);
    bounded_ = true;
  }

  const size_t k_, most_;
  const std::unique_ptr<Packed[]> packed_;
  size_t count_ = 0;
  U bound_ = 0;
  bool bounded_ = false;
};

// Whether a block has a key above a bound; without branches, so that compilers make vector
// instructions of it.
template <typename Order, typename U = typename Order::U>
RICCI_VECTORIZED bool HasAbove(size_t n, const U* block, U bound) {
  U any = 0;
  for (size_t i = 0; i < n; ++i) any |= static_cast<U>(Order::Encode(block[i]) > bound);
  return any != 0;
}

// Once there are 2 k candidates, all but the k greatest are dropped, and the least of these bounds what
// can still become one. After a part of the row few blocks have an element above the bound.
template <typename Order, typename U = typename Order::U>
void TopKOfRow(size_t n, size_t k, const U* row, U* values, int32_t* positions) {
  constexpr size_t kBlock = 256;
  Candidates<U> candidates(k);
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t size = std::min(kBlock, n - start);
    if (candidates.has_bound() && !HasAbove<Order>(size, row + start, candidates.bound())) continue;
    for (size_t i = start; i < start + size; ++i) {
      const U key = Order::Encode(row[i]);
      if (!candidates.has_bound() || key > candidates.bound()) candidates.Add(key, i);
    }
  }
  const auto* greatest = candidates.Finish();
  for (size_t i = 0; i < k; ++i) {
    values[i] = Order::Decode(Candidates<U>::Key(greatest[i]));
    positions[i] = static_cast<int32_t>(Candidates<U>::Position(greatest[i]));
  }
}

ffi::Error TopK(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> values,
                ffi::ResultBuffer<ffi::S32> positions, int64_t length, int64_t k) {
  const size_t n = length;
  const bool supported = WithOrder(in.element_type(), [&](auto order) {
    using Order = TotalOrderOf<decltype(order)>;
    using U = typename Order::U;
    ForEachRow(pool, in.element_count() / n, n, [&](size_t row) {
      TopKOfRow<Order>(n, k, static_cast<const U*>(in.untyped_data()) + row * n,
                       static_cast<U*>(values->untyped_data()) + row * k,
                       positions->typed_data() + row * k);
    });
  });
  if (!supported) return ffi::Error::InvalidArgument("ricci_native compares no such elements");
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciTopK, ricci::TopK,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::AnyBuffer>()
                  .Ret<xla::ffi::Buffer<xla::ffi::S32>>()
                  .Attr<int64_t>("length")
                  .Attr<int64_t>("k"))
