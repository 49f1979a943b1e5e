// Pages of memory.

#ifndef RICCI_NATIVE_PAGES_H_
#define RICCI_NATIVE_PAGES_H_

#include <cstddef>

namespace ricci {

// Asks for huge pages for memory of 32 MiB or more to which nothing has been written yet: it has no
// pages. Malloc keeps smaller memory.
void AdviseHugePages(void* memory, size_t bytes);

}  // namespace ricci

#endif  // RICCI_NATIVE_PAGES_H_
