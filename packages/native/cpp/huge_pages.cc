// Memory of large results in huge pages.

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstdint>

#include "handler.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {
namespace {

namespace ffi = xla::ffi;

// Asks for huge pages for the memory of its result, which stays as it is. Nothing has been written to
// the memory yet: it has no pages.
ffi::Error HugePages(ffi::ThreadPool, ffi::Result<ffi::AnyBuffer> memory, int64_t) {
#ifdef __linux__
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(memory->untyped_data());
  const uintptr_t first = (start + page - 1) / page * page;
  const uintptr_t last = (start + memory->size_bytes()) / page * page;
  // Where the system has no such pages, the memory is as good as before.
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
#endif
  return ffi::Error::Success();
}

// Returns false, which the compiler cannot know.
ffi::Error Never(ffi::ThreadPool, ffi::Result<ffi::AnyBuffer> flag) {
  *static_cast<bool*>(flag->untyped_data()) = false;
  return ffi::Error::Success();
}

}  // namespace
}  // namespace ricci

// The number tells calls apart, as equal ones would be one.
RICCI_HANDLER(RicciHugePages, ricci::HugePages,
              RICCI_BIND.Ret<xla::ffi::AnyBuffer>().Attr<int64_t>("number"))
RICCI_HANDLER(RicciNever, ricci::Never, RICCI_BIND.Ret<xla::ffi::AnyBuffer>())
