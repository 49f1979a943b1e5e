// The functions that the library exports: handlers of XLA's calls.

#ifndef RICCI_NATIVE_HANDLER_H_
#define RICCI_NATIVE_HANDLER_H_

#include "xla/ffi/api/ffi.h"

// Exports a function as a handler. The binding begins with RICCI_BIND.
#define RICCI_HANDLER(name, function, binding)         \
  _Pragma("GCC visibility push(default)")              \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, binding); \
  _Pragma("GCC visibility pop")

// Every handler takes XLA's threads, and most the length of a row after their operands and results.
#define RICCI_BIND xla::ffi::Ffi::Bind().Ctx<xla::ffi::ThreadPool>()

// The binding of a function of one operand and one result.
#define RICCI_BIND_ROWS \
  RICCI_BIND.Arg<xla::ffi::AnyBuffer>().Ret<xla::ffi::AnyBuffer>().Attr<int64_t>("length")

#endif  // RICCI_NATIVE_HANDLER_H_
