// The sums of each row's elements up to each one.

#include <cstddef>
#include <memory>

#include "handler.h"
#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// XLA sums in a tree, and so does this, to the same bits: a row is divided into blocks, whose elements
// are added in turn; the totals of the blocks are summed up in the same way; and each sum within a block
// is added to the sum of the blocks before it. So rounding errors grow with the depth of the tree.
constexpr size_t kBlock = 16;
// Blocks that are summed side by side. An addition waits for the one before it, so that the additions
// of one block alone would leave the processor idle.
constexpr size_t kChains = 8;

// Adds up `kCount` blocks and calls store(chain, i, sum) with each sum.
template <size_t kCount, typename T, typename Store>
inline void SumBlocks(const T* in, const Store& store) {
  T sums[kCount] = {};
  for (size_t i = 0; i < kBlock; ++i) {
    for (size_t chain = 0; chain < kCount; ++chain) {
      sums[chain] += in[chain * kBlock + i];
      store(chain, i, sums[chain]);
    }
  }
}

// Sums n elements. `scratch` has room for an eighth as many.
template <typename T>
void SumRow(size_t n, const T* in, T* out, T* scratch) {
  const size_t blocks = (n - 1) / kBlock, whole = blocks / kChains * kChains;
  // The totals of all blocks but the last one, whose length may be another.
  T* const totals = scratch;
  const auto store_totals = [&](size_t first) {
    return [&totals, first](size_t chain, size_t i, T sum) {
      if (i == kBlock - 1) totals[first + chain] = sum;
    };
  };
  for (size_t b = 0; b < whole; b += kChains) {
    SumBlocks<kChains>(in + b * kBlock, store_totals(b));
  }
  for (size_t b = whole; b < blocks; ++b) SumBlocks<1>(in + b * kBlock, store_totals(b));
  if (blocks > 0) SumRow<T>(blocks, totals, totals, scratch + blocks);
  const auto before = [&](size_t block) { return block == 0 ? T(0) : totals[block - 1]; };
  for (size_t b = 0; b < whole; b += kChains) {
    T* const to = out + b * kBlock;
    SumBlocks<kChains>(in + b * kBlock, [&](size_t chain, size_t i, T sum) {
      to[chain * kBlock + i] = before(b + chain) + sum;
    });
  }
  for (size_t b = whole; b <= blocks; ++b) {
    T sum = 0;
    for (size_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i) {
      sum += in[i];
      out[i] = before(b) + sum;
    }
  }
}

template <typename T>
void SumRows(ffi::ThreadPool& pool, ffi::AnyBuffer in, ffi::AnyBuffer out, size_t n) {
  const auto* from = static_cast<const T*>(in.untyped_data());
  auto* to = static_cast<T*>(out.untyped_data());
  ForEachRow(pool, in.element_count() / n, n, [&](size_t row) {
    const std::unique_ptr<T[]> scratch(new T[n / 8 + 1]);
    SumRow(n, from + row * n, to + row * n, scratch.get());
  });
}

ffi::Error CumulativeSum(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out,
                         int64_t length) {
  switch (in.element_type()) {
    case ffi::S8:
    case ffi::U8: SumRows<uint8_t>(pool, in, *out, length); break;
    case ffi::S16:
    case ffi::U16: SumRows<uint16_t>(pool, in, *out, length); break;
    case ffi::S32:
    case ffi::U32: SumRows<uint32_t>(pool, in, *out, length); break;
    case ffi::S64:
    case ffi::U64: SumRows<uint64_t>(pool, in, *out, length); break;
    case ffi::F32: SumRows<float>(pool, in, *out, length); break;
    case ffi::F64: SumRows<double>(pool, in, *out, length); break;
    default: return ffi::Error::InvalidArgument("ricci_native sums no such elements");
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciCumulativeSum, ricci::CumulativeSum, RICCI_BIND_ROWS)
