// Memory of large results in huge pages.

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>

#include "handler.h"
#include "pages.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {

void AdviseHugePages(void* memory, size_t bytes) {
#ifdef __linux__
  if (bytes < size_t{1} << 25) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (start + page - 1) / page * page, last = (start + bytes) / page * page;
  // Where the system has no such pages, the memory is as good as before.
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

namespace {

namespace ffi = xla::ffi;

// Asks for huge pages for the memory of its result, which stays as it is.
ffi::Error HugePages(ffi::ThreadPool, ffi::Result<ffi::AnyBuffer> memory, int64_t) {
  AdviseHugePages(memory->untyped_data(), memory->size_bytes());
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
