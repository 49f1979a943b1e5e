// A loop over chunks of work, shared with the threads of XLA's pool.

#ifndef RICCI_NATIVE_PARALLEL_H_
#define RICCI_NATIVE_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "xla/ffi/api/ffi.h"

namespace ricci {

// Runs body(chunk) for each of `count` chunks and returns when all are done.
//
// The calling thread takes chunks as well and never waits for a task of the pool to begin, so that
// this cannot deadlock where the caller is itself a thread of the pool and all others are busy: a
// task that begins when no chunks are left ends at once. An exception of the body is thrown again here.
inline void ForEachChunk(xla::ffi::ThreadPool& pool, int64_t count,
                         const std::function<void(int64_t)>& body) {
  struct Shared {
    std::function<void(int64_t)> body;
    int64_t count;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable all_done;
    int64_t done = 0;
    std::exception_ptr error;
  };
  const int64_t helpers = std::min(pool.num_threads(), count) - 1;
  if (helpers < 1) {
    for (int64_t chunk = 0; chunk < count; ++chunk) body(chunk);
    return;
  }
  auto shared = std::make_shared<Shared>();
  shared->body = body;
  shared->count = count;
  auto work = [shared] {
    for (int64_t chunk; (chunk = shared->next.fetch_add(1)) < shared->count;) {
      std::exception_ptr error;
      try {
        shared->body(chunk);
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard<std::mutex> lock(shared->mutex);
      if (error) shared->error = error;
      if (++shared->done == shared->count) shared->all_done.notify_all();
    }
  };
  for (int64_t i = 0; i < helpers; ++i) pool.Schedule(std::function<void()>(work));
  work();
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->all_done.wait(lock, [&] { return shared->done == shared->count; });
  if (shared->error) std::rethrow_exception(shared->error);
}

// Calls body(first, count) for ranges of the rows of n elements. Arrays below `kLeastShared` elements
// are left to the calling thread.
constexpr size_t kLeastShared = size_t{1} << 15;

template <typename Body>
void ForEachRange(xla::ffi::ThreadPool& pool, size_t rows, size_t n, const Body& body) {
  const bool shared = rows * n >= kLeastShared && pool.num_threads() > 1;
  const size_t chunks = std::min<size_t>(rows, shared ? 4 * pool.num_threads() : 1);
  ForEachChunk(pool, chunks, [&](int64_t chunk) {
    const size_t first = rows * chunk / chunks;
    body(first, rows * (chunk + 1) / chunks - first);
  });
}

// Calls body(row) for each row, as ForEachRange.
template <typename Body>
void ForEachRow(xla::ffi::ThreadPool& pool, size_t rows, size_t n, const Body& body) {
  ForEachRange(pool, rows, n, [&](size_t first, size_t count) {
    for (size_t row = first; row < first + count; ++row) body(row);
  });
}

}  // namespace ricci

#endif  // RICCI_NATIVE_PARALLEL_H_
