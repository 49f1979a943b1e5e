// Vectors of elements, and functions for one instruction set.

#ifndef RICCI_NATIVE_VECTORS_H_
#define RICCI_NATIVE_VECTORS_H_

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define RICCI_TARGET(name) __attribute__((target(name)))
#define RICCI_HAS_TARGETS 1
#else
#define RICCI_HAS_TARGETS 0
#endif
#ifndef RICCI_INLINE
#define RICCI_INLINE inline __attribute__((always_inline))
#endif

namespace ricci {

// A vector of so many bytes, anywhere in memory.
template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

// The bytes of the processor's vectors.
inline int VectorBytes() {
#if RICCI_HAS_TARGETS
  if (__builtin_cpu_supports("x86-64-v4")) return 64;
  if (__builtin_cpu_supports("x86-64-v3")) return 32;
#endif
  return 16;
}

}  // namespace ricci

#endif  // RICCI_NATIVE_VECTORS_H_
