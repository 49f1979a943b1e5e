// Root-mean-square normalization, and its derivative, on NVIDIA GPUs: the functions of rms_norm.cc
// for float32, with the same operands and results.

#include <cstdint>
#include <string>

#include "cuda_runtime.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

struct Sizes {
  int64_t rows, weights, length;
};

// The sum of `value` over the threads of a block, in every thread.
__device__ float BlockSum(float value) {
  __shared__ float partial[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  __syncthreads();  // the sums of the call before have been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp];
  return sum;
}

// A block works on a row.
__global__ void Forward(Sizes sizes, float eps, const float* x, const float* weight, float* y,
                        float* inv) {
  const int64_t row = blockIdx.x, n = sizes.length;
  const float* in = x + row * n;
  const float* scale = weight + row / (sizes.rows / sizes.weights) * n;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += in[i] * in[i];
  const float factor = rsqrtf(BlockSum(sum) / n + eps);
  if (threadIdx.x == 0) inv[row] = factor;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) y[row * n + i] = in[i] * factor * scale[i];
}

__global__ void BackwardOfRows(Sizes sizes, const float* x, const float* weight, const float* inv,
                               const float* ct, float* dx) {
  const int64_t row = blockIdx.x, n = sizes.length, at = row * n;
  const float* scale = weight + row / (sizes.rows / sizes.weights) * n;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += ct[at + i] * scale[i] * x[at + i];
  const float factor = inv[row];
  const float cubed = factor * factor * factor * BlockSum(sum) / n;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    dx[at + i] = factor * scale[i] * ct[at + i] - x[at + i] * cubed;
  }
}

// A thread sums an element of the weight over its rows, always in the same order, so that results
// are the same in every run.
__global__ void BackwardOfWeight(Sizes sizes, const float* x, const float* inv, const float* ct,
                                 float* dweight) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (i >= sizes.weights * sizes.length) return;
  const int64_t n = sizes.length, repeats = sizes.rows / sizes.weights;
  const int64_t first = i / n * repeats;
  float sum = 0;
  for (int64_t row = first; row < first + repeats; ++row) {
    sum += x[row * n + i % n] * inv[row] * ct[row * n + i % n];
  }
  dweight[i] = sum;
}

ffi::ErrorOr<Sizes> SizesOf(const ffi::Buffer<ffi::F32>& x, const ffi::Buffer<ffi::F32>& weight) {
  if (x.dimensions().size() == 0 || weight.dimensions().size() == 0 ||
      x.dimensions().back() != weight.dimensions().back()) {
    return ffi::Unexpected(
        ffi::Error::InvalidArgument("x and weight must have the same last dimension"));
  }
  auto rows = [](const ffi::Buffer<ffi::F32>& array) {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < array.dimensions().size(); ++i) count *= array.dimensions()[i];
    return count;
  };
  Sizes sizes{rows(x), rows(weight), x.dimensions().back()};
  if (sizes.rows != 0 && (sizes.weights == 0 || sizes.rows % sizes.weights != 0)) {
    return ffi::Unexpected(
        ffi::Error::InvalidArgument("the rows of the weight do not divide those of x"));
  }
  return sizes;
}

ffi::Error LastError() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return ffi::Error::Success();
  return ffi::Error::Internal(std::string("CUDA: ") + cudaGetErrorString(error));
}

ffi::Error ForwardImpl(cudaStream_t stream, double eps, ffi::Buffer<ffi::F32> x,
                       ffi::Buffer<ffi::F32> weight, ffi::ResultBuffer<ffi::F32> y,
                       ffi::ResultBuffer<ffi::F32> inv) {
  ffi::ErrorOr<Sizes> sizes = SizesOf(x, weight);
  if (sizes.has_error()) return sizes.error();
  if (sizes->rows == 0) return ffi::Error::Success();
  Forward<<<sizes->rows, kThreads, 0, stream>>>(*sizes, static_cast<float>(eps), x.typed_data(),
                                                weight.typed_data(), y->typed_data(),
                                                inv->typed_data());
  return LastError();
}

ffi::Error BackwardImpl(cudaStream_t stream, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> weight,
                        ffi::Buffer<ffi::F32> inv, ffi::Buffer<ffi::F32> ct,
                        ffi::ResultBuffer<ffi::F32> dx, ffi::ResultBuffer<ffi::F32> dweight) {
  ffi::ErrorOr<Sizes> sizes = SizesOf(x, weight);
  if (sizes.has_error()) return sizes.error();
  const int64_t elements = sizes->weights * sizes->length;
  if (sizes->rows != 0) {
    BackwardOfRows<<<sizes->rows, kThreads, 0, stream>>>(*sizes, x.typed_data(),
                                                         weight.typed_data(), inv.typed_data(),
                                                         ct.typed_data(), dx->typed_data());
  }
  if (elements != 0) {
    BackwardOfWeight<<<(elements + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        *sizes, x.typed_data(), inv.typed_data(), ct.typed_data(), dweight->typed_data());
  }
  return LastError();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNorm, ForwardImpl,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<double>("eps")
                                  .Arg<ffi::Buffer<ffi::F32>>()    // x
                                  .Arg<ffi::Buffer<ffi::F32>>()    // weight
                                  .Ret<ffi::Buffer<ffi::F32>>()    // y
                                  .Ret<ffi::Buffer<ffi::F32>>(),   // inv
                              {ffi::Traits::kCmdBufferCompatible});

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormGrad, BackwardImpl,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()    // x
                                  .Arg<ffi::Buffer<ffi::F32>>()    // weight
                                  .Arg<ffi::Buffer<ffi::F32>>()    // inv
                                  .Arg<ffi::Buffer<ffi::F32>>()    // ct
                                  .Ret<ffi::Buffer<ffi::F32>>()    // dx
                                  .Ret<ffi::Buffer<ffi::F32>>(),   // dweight
                              {ffi::Traits::kCmdBufferCompatible});
