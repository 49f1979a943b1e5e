// The order of each element type of XLA.

#ifndef RICCI_NATIVE_ORDERS_H_
#define RICCI_NATIVE_ORDERS_H_

#include "keys.h"
#include "xla/ffi/api/ffi.h"

namespace ricci {

namespace ffi = xla::ffi;

// Calls visit(Order()) with the order of a type; returns whether it has one here.
template <typename Visit>
bool WithOrder(ffi::DataType type, const Visit& visit) {
  switch (type) {
    case ffi::PRED:
    case ffi::U8: visit(UnsignedOrder<uint8_t>()); return true;
    case ffi::U16: visit(UnsignedOrder<uint16_t>()); return true;
    case ffi::U32: visit(UnsignedOrder<uint32_t>()); return true;
    case ffi::U64: visit(UnsignedOrder<uint64_t>()); return true;
    case ffi::S8: visit(SignedOrder<uint8_t>()); return true;
    case ffi::S16: visit(SignedOrder<uint16_t>()); return true;
    case ffi::S32: visit(SignedOrder<uint32_t>()); return true;
    case ffi::S64: visit(SignedOrder<uint64_t>()); return true;
    case ffi::F16: visit(FloatOrder<uint16_t, 0x7c00, 1>()); return true;
    case ffi::BF16: visit(FloatOrder<uint16_t, 0x7f80, 0x80>()); return true;
    case ffi::F32: visit(FloatOrder<uint32_t, 0x7f800000, 0x800000>()); return true;
    case ffi::F64:
      visit(FloatOrder<uint64_t, 0x7ff0000000000000, 0x10000000000000>());
      return true;
    default: return false;
  }
}

}  // namespace ricci

#endif  // RICCI_NATIVE_ORDERS_H_
