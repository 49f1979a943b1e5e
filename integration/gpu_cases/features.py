"""Features of a GPU beside computing: memory, transfers, callbacks, export, profiles, kernels.

A function returns facts, which both sides must share.
"""

import glob
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import io_callback, rnn, sparse
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.sharding import SingleDeviceSharding

AXPY = """
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
__global__ void axpy(const float* x, float* y, float a, size_t n) {
  size_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 1;
}
static ffi::Error Run(cudaStream_t stream, float a, ffi::Buffer<ffi::F32> x,
                      ffi::ResultBuffer<ffi::F32> y) {
  size_t n = x.element_count();
  axpy<<<(n + 255) / 256, 256, 0, stream>>>(x.typed_data(), y->typed_data(), a, n);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Axpy, Run, ffi::Ffi::Bind()
  .Ctx<ffi::PlatformStream<cudaStream_t>>().Attr<float>("a")
  .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""
HUGE = 1 << 38  # a terabyte of float32


def on_gpu() -> bool:
    """Whether the default device is not a CPU."""
    return jax.devices()[0].platform != "cpu"


def memory(kind):
    """Return a sharding in a memory of the first device; in its own where it has no other."""
    return SingleDeviceSharding(jax.devices()[0], memory_kind=kind if on_gpu() else None)


def donation():
    """A donated buffer is deleted, and is the result's."""
    x = jnp.ones(1 << 20)
    pointer = x.unsafe_buffer_pointer()
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return [x.is_deleted(), y.unsafe_buffer_pointer() == pointer]


def memory_statistics():
    """The statistics of the memory grow by an array's bytes."""
    device = jax.devices()[0]
    before = (device.memory_stats() or {}).get("bytes_in_use", 0)
    x = jnp.ones(1 << 22).block_until_ready()
    after = (device.memory_stats() or {}).get("bytes_in_use", 0)
    return [after - before in (0, x.nbytes), after > before or not on_gpu()]


def out_of_memory():
    """Too large an array is an error, after which the device can be used."""
    if not on_gpu():
        return "only on a GPU"
    try:
        jnp.zeros(HUGE).block_until_ready()
    except Exception as error:  # noqa: BLE001 - its class and text are compared
        text = str(error)
        return [type(error).__name__, "RESOURCE_EXHAUSTED" in text, float(jnp.ones(4).sum())]
    return "no error"


def pinned_host():
    """Arrays go to the host's memory and back, as arguments and results."""
    host, device = memory("pinned_host"), memory("device")
    put = jax.device_put(jnp.arange(8.0), host)
    out = jax.jit(lambda x: x * 2, out_shardings=host)(jnp.arange(4.0))
    back = jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device) + 1)(put)
    moved = jax.device_put(put, device) * 2
    kinds = [str(x.sharding.memory_kind) for x in (put, out)]
    return [kinds, *(np.asarray(x).tolist() for x in (out, back, moved))]


def offloaded_residuals():
    """Residuals of a checkpoint may be in the host's memory."""
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["inner"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    twice = jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x), "inner")), policy=policy)
    return round(float(jax.jit(jax.grad(lambda x: twice(x).sum()))(jnp.ones(4)).sum()), 5)


def exported():
    """An exported function of several platforms is called, also one with a kernel."""
    results = []
    for function in (lambda x: jnp.sin(x) @ x.T, jnp.linalg.cholesky):
        shape = jax.ShapeDtypeStruct((3, 3), np.float32)
        program = jax.export.export(jax.jit(function), platforms=["cpu", "cuda"])(shape)
        program = jax.export.deserialize(program.serialize())
        called = program.call(4 * jnp.eye(3))
        results.append([list(program.platforms), round(float(called.sum()), 4)])
    return results


def serialized():
    """An executable is serialized, loaded and run."""
    compiled = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(4)).compile()
    return round(float(deserialize_and_load(*serialize(compiled))(jnp.ones(4)).sum()), 4)


def callbacks():
    """Callbacks are called, ordered ones in order, and their errors arrive."""
    seen: list[float] = []
    note = lambda x: seen.append(float(x))

    def ordered(x):
        for i in range(3):
            io_callback(note, None, x + i, ordered=True)
        jax.debug.callback(note, x + 10)
        return x

    jax.jit(ordered)(np.float32(0)).block_until_ready()
    jax.effects_barrier()

    def fail(x):
        raise ValueError("from the host")

    try:
        shape = jax.ShapeDtypeStruct((), np.float32)
        jax.jit(lambda x: jax.pure_callback(fail, shape, x))(np.float32(1)).block_until_ready()
    except Exception as error:  # noqa: BLE001 - its text is compared
        return [sorted(seen), "from the host" in str(error)]
    return [sorted(seen), "no error"]


def nans():
    """A NaN is an error where it is asked for."""
    with jax.debug_nans(True):
        try:
            jax.jit(jnp.log)(np.float32(-1)).block_until_ready()
        except FloatingPointError:
            return "FloatingPointError"
    return "no error"


def compiled_kernel():
    """A kernel that nvcc has compiled is called, and batched."""
    if not on_gpu():
        return "only on a GPU"
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "axpy.cu", folder / "axpy.so"
    source.write_text(AXPY)
    device: Any = jax.devices()[0]
    major, minor = str(device.compute_capability).split(".")
    command = ["nvcc", "-std=c++17", "-O1", "-shared", "-Xcompiler", "-fPIC"]
    command += ["-I", jax.ffi.include_dir(), f"-arch=sm_{major}{minor}", source, "-o", library]
    subprocess.run(command, check=True, capture_output=True, timeout=90)
    import ctypes  # noqa: PLC0415 - lazy: only where there is a card

    handler = jax.ffi.pycapsule(ctypes.cdll.LoadLibrary(str(library)).Axpy)
    jax.ffi.register_ffi_target("gpu_check_axpy", handler, platform="CUDA")

    def axpy(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        call = jax.ffi.ffi_call("gpu_check_axpy", out, vmap_method="broadcast_all")
        return call(x, a=np.float32(2))

    batch = jax.jit(jax.vmap(axpy))(jnp.ones((2, 3)))
    return [np.asarray(jax.jit(axpy)(jnp.arange(3.0))).tolist(), np.asarray(batch).tolist()]


def profile():
    """A profile has events of the host, and of the card with its kernels."""
    folder = tempfile.mkdtemp()
    x = jnp.ones((1024, 1024))
    multiply = jax.jit(lambda x: jnp.tanh(x @ x))
    multiply(x).block_until_ready()
    with jax.profiler.trace(folder):
        multiply(x).block_until_ready()
    files = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
    data = b"".join(Path(file).read_bytes() for file in files)
    return [len(files), b"/host:CPU" in data, b"/device:GPU" in data]


def devices():
    """The default device's arrays go to the CPU and back."""
    cpu = jax.devices("cpu")[0]
    x = jax.device_put(jnp.arange(4.0), cpu)
    back = jax.device_put(jax.jit(lambda x: x + 1)(x), jax.devices()[0])
    with jax.default_device(cpu):
        made = jnp.ones(2) + 1
    return [back.devices() == {jax.devices()[0]}, made.devices() == {cpu}]


def shards():
    """A map over the shards of one device reduces over it."""
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec
    total = jax.shard_map(
        lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec()
    )
    return np.asarray(jax.jit(total)(jnp.arange(3.0))).tolist()


def _is_close(x, y) -> bool:
    return bool(np.allclose(np.asarray(x), np.asarray(y), rtol=1e-3, atol=1e-4))


def sparse_products():
    """Products of sparse matrices and their gradients, by cuSPARSE, are those of dense ones."""
    numbers = np.random.default_rng(0)
    dense = np.where(numbers.random((40, 30)) < 0.2, numbers.normal(size=(40, 30)), 0)
    dense = dense.astype(np.float32)
    right = [numbers.normal(size=shape).astype(np.float32) for shape in ((30,), (30, 9))]
    same = []
    for form in (sparse.COO, sparse.CSR, sparse.CSC):
        matrix = form.fromdense(dense)
        for x in right:
            gradient = jax.jit(jax.grad(lambda x, m=matrix: jnp.sum((m @ x) ** 2)))(x)
            same += [_is_close(jax.jit(lambda m, x: m @ x)(matrix, x), dense @ x)]
            same += [_is_close(gradient, 2 * dense.T @ (dense @ x))]
    return same


def recurrent_layers():
    """LSTM layers and their gradients, by cuDNN, are those of the loops."""
    numbers = np.random.default_rng(0)
    draw = lambda *shape: numbers.normal(size=shape).astype(np.float32)
    same = []
    lstms: Any = rnn  # types of arguments that come in one tuple cannot be checked
    for both in (False, True):
        sizes = (5, 6, 2)
        rows = sizes[2] * (2 if both else 1)
        weights = draw(lstms.get_num_params_in_lstm(*sizes, both)) / 4
        arrays = (draw(3, 7, 5), draw(rows, 3, 6), draw(rows, 3, 6), weights)
        lengths = np.array([7, 4, 1], np.int32)

        def loops(x, h, c, w, sizes=sizes, both=both, lengths=lengths):
            parts = lstms.unpack_lstm_weights(w, *sizes, both)
            return lstms.lstm_ref(x, h, c, *parts, lengths, *sizes, 0.0, both)

        def layers(*arrays, sizes=sizes, both=both, lengths=lengths):
            return lstms.lstm(*arrays, lengths, *sizes, 0.0, both, "highest")

        outcomes = []
        # JAX has layers on GPUs alone.
        for run in (loops, layers if on_gpu() else loops):
            loss = lambda *arrays, run=run: sum(jnp.sum(jnp.sin(y)) for y in run(*arrays))
            gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(*arrays)
            outcomes.append([*jax.jit(run)(*arrays), *gradients])
        same += [_is_close(x, y) for x, y in zip(*outcomes, strict=True)]
    return same


FEATURES = {
    function.__name__: function
    for function in (
        donation,
        memory_statistics,
        out_of_memory,
        pinned_host,
        offloaded_residuals,
        exported,
        serialized,
        callbacks,
        nans,
        compiled_kernel,
        profile,
        devices,
        shards,
        sparse_products,
        recurrent_layers,
    )
}
