// Rows of one array as separate arrays, and the array of separate rows.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "handler.h"
#include "parallel.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// Bytes below which the calling thread copies all rows by itself.
constexpr size_t kLeastSharedBytes = size_t{1} << 20;

// Calls copy(row) for each row, in chunks that the threads share where the rows are large.
template <typename Copy>
void ForEachCopy(ffi::ThreadPool& pool, size_t count, size_t bytes, const Copy& copy) {
  const size_t most = count * bytes < kLeastSharedBytes ? 1 : pool.num_threads();
  const size_t chunks = std::min<size_t>(count, std::max<size_t>(most, 1));
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    for (size_t row = count * chunk / chunks; row < count * (chunk + 1) / chunks; ++row) copy(row);
  });
}

ffi::Error Stack(ffi::ThreadPool pool, ffi::RemainingArgs rows, ffi::Result<ffi::AnyBuffer> stack) {
  char* const to = static_cast<char*>(stack->untyped_data());
  const size_t bytes = rows.size() ? stack->size_bytes() / rows.size() : 0;
  ForEachCopy(pool, rows.size(), bytes, [&](size_t row) {
    std::memcpy(to + row * bytes, rows.get<ffi::AnyBuffer>(row)->untyped_data(), bytes);
  });
  return ffi::Error::Success();
}

ffi::Error Unstack(ffi::ThreadPool pool, ffi::AnyBuffer stack, ffi::RemainingRets rows) {
  const char* const from = static_cast<const char*>(stack.untyped_data());
  const size_t bytes = rows.size() ? stack.size_bytes() / rows.size() : 0;
  ForEachCopy(pool, rows.size(), bytes, [&](size_t row) {
    std::memcpy((*rows.get<ffi::AnyBuffer>(row))->untyped_data(), from + row * bytes, bytes);
  });
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

RICCI_HANDLER(RicciStack, ricci::Stack, RICCI_BIND.RemainingArgs().Ret<xla::ffi::AnyBuffer>())
RICCI_HANDLER(RicciUnstack, ricci::Unstack,
              RICCI_BIND.Arg<xla::ffi::AnyBuffer>().RemainingRets())
