"""Host callbacks: custom calls that run Python functions."""

from collections.abc import Callable, Sequence

from ricci_ir import AbstractValue, ArrayLike, ShapedArray

from ._host_transfers import host_transfers
from ._lowering import Lowering
from ._manual_axes import axes_left, once_along
from ._placed_calls import on_one_device, physical, replicated
from ._values import HostCallback, Value

__all__ = ["host_call", "host_check", "writes_host_checks"]

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
    of jaxlib; for TPUs, the StableHLO operations ``send`` and ``recv``.
    """
    if ctx.platform == "tpu":
        return host_transfers(ctx, fun, operands, outs, partitioned=partitioned, device=device)
    target = _targets.get(ctx.platform)
    if target is None:
        raise NotImplementedError(
            f"Host callbacks are not supported on {ctx.platform}: jaxlib has them for "
            f"{', '.join(_targets)} and tpu only. Call the function outside of jit, on the results."
        )
    if partitioned:
        target = target.replace("xla_ffi_python", "xla_ffi_partitioned_python")
    in_avals = tuple(physical(x.aval) for x in operands)
    module = ctx.module
    module.host_callbacks.append(HostCallback(fun, in_avals, tuple(map(physical, outs))))
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
        result_layouts=[_row_major(physical(aval)) for aval in outs],
        annotations=on_one_device(ctx, outs, device) if on_device else "",
    )
    return [replicated(ctx, x) for x in results] if on_device else results


def writes_host_checks(ctx: Lowering) -> bool:
    """Whether a module may have checks whose failures the host raises.

    Those for other platforms than CPUs, and for other processes, have none.

    Args:
      ctx: the context of the operation.
    """
    if ctx.platform != "cpu":
        return False
    checks = ctx.module.host_checks
    checks.omitted = checks.omitted or not checks.allowed
    return checks.allowed


def host_check(
    ctx: Lowering, failed: Value, operands: Sequence[Value], failure: Callable[..., Exception]
) -> None:
    """Write a check, which calls Python only if it fails.

    Args:
      ctx: the context to write it in, for which ``writes_host_checks`` is true.
      failed: a boolean scalar.
      operands: the operands of ``failure``.
      failure: returns the exception that the caller of the executable raises.
    """
    checks = ctx.module.host_checks
    checks.written = True
    failures = checks.failures

    def record(*arrays: ArrayLike) -> Sequence[ArrayLike]:
        if not failures:
            failures.append(failure(*arrays))
        return ()

    def call(inner: Lowering, *xs: Value) -> list[Value]:
        return host_call(inner, record, xs, [], has_side_effect=True)

    def write(inner: Lowering, flag: Value, *xs: Value) -> list[Value]:
        done = inner.region([], lambda region: call(region, *xs))
        nothing = inner.region([], lambda region: [])
        inner.generic("stablehlo.if", [flag], [], regions=[done, nothing])
        return []

    if ctx.module.num_partitions > 1 and axes_left():
        once_along(ctx, [failed, *operands], write)
    else:
        write(ctx, failed, *operands)


def _row_major(aval: AbstractValue) -> tuple[int, ...]:
    return tuple(reversed(range(aval.ndim))) if isinstance(aval, ShapedArray) else ()
