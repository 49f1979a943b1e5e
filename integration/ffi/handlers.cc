// Functions that the tests of jax.ffi call: they scale, tell their attributes, keep a state, fail.

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static std::atomic<int> calls = 0;
extern "C" int CallCount() { return calls; }

// y = scale * x, on as many elements as both have.
static ffi::Error ScaleImpl(float scale, In x, Out y) {
  ++calls;
  for (size_t i = 0; i < x.element_count() && i < y->element_count(); ++i) {
    y->typed_data()[i] = scale * x.typed_data()[i];
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Scale, ScaleImpl,
                              ffi::Ffi::Bind().Attr<float>("scale").Arg<In>().Ret<In>());

// The elements in the order in which they lie in memory: the result has another layout.
static ffi::Error CopyImpl(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Copy, CopyImpl, ffi::Ffi::Bind().Arg<In>().Ret<In>());

// Whether the result lies where the operand does.
static ffi::Error SameImpl(In x, Out y) {
  const bool same = x.untyped_data() == y->untyped_data();
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] = same;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Same, SameImpl, ffi::Ffi::Bind().Arg<In>().Ret<In>());

// The sum of attributes of all types.
static ffi::Error SumImpl(ffi::Dictionary all, Out y) {
  double sum = 0;
  if (auto value = all.get<bool>("flag"); value.has_value()) sum += *value;
  if (auto value = all.get<int32_t>("i32"); value.has_value()) sum += *value;
  if (auto value = all.get<int64_t>("i64"); value.has_value()) sum += *value;
  if (auto value = all.get<uint8_t>("u8"); value.has_value()) sum += *value;
  if (auto value = all.get<float>("f32"); value.has_value()) sum += *value;
  if (auto value = all.get<double>("f64"); value.has_value()) sum += *value;
  if (auto value = all.get<std::string_view>("text"); value.has_value()) sum += value->size();
  if (auto value = all.get<ffi::Span<const int64_t>>("span"); value.has_value()) {
    for (int64_t x : *value) sum += x;
  }
  if (auto value = all.get<ffi::Dictionary>("inner"); value.has_value()) {
    if (auto inner = value->get<int64_t>("i64"); inner.has_value()) sum += *inner;
  }
  y->typed_data()[0] = sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Sum, SumImpl, ffi::Ffi::Bind().Attrs().Ret<In>());

static ffi::Error CountImpl(In x) {
  ++calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Count, CountImpl, ffi::Ffi::Bind().Arg<In>());

static ffi::Error CountInOrderImpl(ffi::Token, In x, ffi::Result<ffi::Token>, Out y) {
  y->typed_data()[0] = x.typed_data()[0] + calls++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CountInOrder, CountInOrderImpl,
    ffi::Ffi::Bind().Arg<ffi::Token>().Arg<In>().Ret<ffi::Token>().Ret<In>());

static ffi::Error FailImpl(In x, Out y) {
  return ffi::Error(ffi::ErrorCode::kInvalidArgument, "x must be sorted");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Fail, FailImpl, ffi::Ffi::Bind().Arg<In>().Ret<In>());

static ffi::Error ThrowImpl(In x, Out y) { throw std::runtime_error("thrown in C++"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Throw, ThrowImpl, ffi::Ffi::Bind().Arg<In>().Ret<In>());

// A function of the convention before the typed one.
extern "C" void AddOne(void* out, const void** in) {
  static_cast<float*>(out)[0] = static_cast<const float*>(in[0])[0] + 1;
}

// A state that is made once for a program, and counts the program's runs.
struct Runs {
  static ffi::TypeId id;
  int count = 0;
};
ffi::TypeId Runs::id = {};
static ffi::TypeInfo runs_info = ffi::MakeTypeInfo<Runs>();
extern "C" ffi::TypeId* RunsId() { return &Runs::id; }
extern "C" ffi::TypeInfo* RunsInfo() { return &runs_info; }

static ffi::ErrorOr<std::unique_ptr<Runs>> MakeRunsImpl() { return std::make_unique<Runs>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(MakeRuns, MakeRunsImpl, ffi::Ffi::BindInstantiate());

static ffi::Error CountRunsImpl(Runs* runs, Out y) {
  y->typed_data()[0] = ++runs->count;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CountRuns, CountRunsImpl,
                              ffi::Ffi::Bind().Ctx<ffi::State<Runs>>().Ret<In>());
