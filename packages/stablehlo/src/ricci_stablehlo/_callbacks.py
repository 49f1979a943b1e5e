"""Host callbacks: custom calls that run Python functions."""

from collections.abc import Callable, Sequence

from ricci_ir import AbstractValue, ArrayLike, ExtendedDType, ShapedArray

from ._lowering import Lowering
from ._values import HostCallback, Value

__all__ = ["host_call"]

_targets = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}


def host_call(
    ctx: Lowering,
    fun: Callable[..., Sequence[ArrayLike]],
    operands: Sequence[Value],
    outs: Sequence[AbstractValue],
    *,
    has_side_effect: bool,
    partitioned: bool = False,
    device: int = 0,
) -> list[Value]:
    """Write a call of a Python function, which the caller of the compiler must supply.

    Args:
      ctx: the context to write it in.
      fun: see ``HostCallback``.
      operands: the operands, tokens first.
      outs: the types of the results, tokens first.
      has_side_effect: whether the call is not dead code if its results are unused.
      partitioned: whether each device calls the function with its shard of the operands. By
        default one device does, with the whole operands.
      device: the position of that device among the devices of the executable.

    Raises:
      NotImplementedError: if executables for this platform cannot call Python.

    Source: the custom calls ``xla_ffi_python_cpu_callback`` and ``xla_ffi_python_gpu_callback``
    of jaxlib.
    """
    target = _targets.get(ctx.platform)
    if target is None:
        raise NotImplementedError(
            f"Host callbacks are not supported on {ctx.platform}: jaxlib has them for "
            f"{', '.join(_targets)} only. Call the function outside of jit, on the results."
        )
    if partitioned:
        target = target.replace("xla_ffi_python", "xla_ffi_partitioned_python")
    in_avals = tuple(_physical(x.aval) for x in operands)
    module = ctx.module
    module.host_callbacks.append(HostCallback(fun, in_avals, tuple(map(_physical, outs))))
    # Without a sharding, every partition would call the function. In manual code, each shard makes
    # a call of its own.
    on_device = module.num_partitions > 1 and not module.manual
    results = ctx.custom_call(
        target,
        operands,
        outs,
        backend_config={"index": f"{len(module.host_callbacks) - 1} : ui64"},
        has_side_effect=has_side_effect,
        operand_layouts=[_row_major(aval) for aval in in_avals],
        result_layouts=[_row_major(_physical(aval)) for aval in outs],
        annotations=_on_device(ctx, outs, device) if on_device else "",
    )
    return [_replicated(ctx, x) for x in results] if on_device else results


def _replicated(ctx: Lowering, x: Value) -> Value:
    """Copy a result of one device to all; unconstrained, the others would hold zeros."""
    aval = _physical(x.aval)
    if not (ctx.module.shardy and isinstance(aval, ShapedArray)):
        return x
    # Any mesh does, for no dimension is sharded over it.
    meshes = ctx.module.meshes.values()
    symbol = next(iter(meshes), None) or ctx.module.mesh([("devices", ctx.module.num_partitions)])
    return ctx.constrained(x, f"<@{symbol}, [{', '.join(['{}'] * aval.ndim)}]>")


def _physical(aval: AbstractValue) -> AbstractValue:
    """Return the type of the array that is passed, whose dtype is neither extended nor weak."""
    if not isinstance(aval, ShapedArray):
        return aval
    extended = isinstance(aval.dtype, ExtendedDType)
    physical: ShapedArray = aval.dtype.physical_aval(aval) if extended else aval
    return physical.update(weak_type=False)


def _row_major(aval: AbstractValue) -> tuple[int, ...]:
    return tuple(reversed(range(aval.ndim))) if isinstance(aval, ShapedArray) else ()


def _on_device(ctx: Lowering, outs: Sequence[AbstractValue], device: int) -> str:
    """Return the attribute that places a call, its operands and its results on one device."""
    module = ctx.module
    # GSPMD takes the device's number itself, Shardy a mesh of that one device.
    if not module.shardy:
        return f'mhlo.sharding = "{{maximal device={device}}}"'
    symbol = module.single_device_mesh(device)
    each = ", ".join([f"<@{symbol}, []>"] * max(1, len(outs)))
    return f"sdy.sharding = #sdy.sharding_per_value<[{each}]>"
