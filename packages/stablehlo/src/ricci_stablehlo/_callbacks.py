"""Custom calls of Python functions on the host."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci_ir import AbstractToken, ExtendedDType

from ._lowering import Lowering, Value

_targets = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}


class HostCallback(NamedTuple):
    """A Python function that a module calls.

    Attributes:
      fun: takes an array for each operand that is no token, and returns a sequence with an array
        for each result that is none.
      in_avals, out_avals: the types of operands and results, tokens among them.
    """

    fun: Callable[..., Sequence[Any]]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]


def host_call(
    ctx: Lowering,
    fun: Callable[..., Sequence[Any]],
    operands: Sequence[Value],
    outs: Sequence[Any],
    *,
    has_side_effect: bool,
    partitioned: bool = False,
    device: int = 0,
) -> list[Value]:
    """Write a call of a Python function; whoever compiles the module must supply it.

    Args:
      fun: see ``HostCallback``.
      operands, outs: what it takes, and the types of what it gives. Tokens come first.
      has_side_effect: whether the call stays though nothing uses its results.
      partitioned: whether each device calls the function with its part of the operands. By
        default one does, with the whole of them.
      device: which one: its position among the program's devices.

    Raises:
      NotImplementedError: if programs for this platform cannot call Python.

    Source: the custom calls ``xla_ffi_python_cpu_callback`` and ``xla_ffi_python_gpu_callback``
    of jaxlib.
    """
    target = _targets.get(ctx.platform)
    if target is None:
        raise NotImplementedError(
            f"programs for {ctx.platform} cannot call Python functions: jaxlib has callbacks for "
            f"{', '.join(_targets)} only. Call the function outside of the program, on its results."
        )
    if partitioned:
        target = target.replace("xla_ffi_python", "xla_ffi_partitioned_python")
    in_avals = tuple(_physical(x.aval) for x in operands)
    module = ctx.module
    module.host_callbacks.append(HostCallback(fun, in_avals, tuple(map(_physical, outs))))
    annotations = ""
    if module.num_partitions > 1 and not module.manual:
        annotations = _on_device(ctx, outs, device)
    return ctx.custom_call(
        target,
        operands,
        outs,
        backend_config={"index": f"{len(module.host_callbacks) - 1} : ui64"},
        has_side_effect=has_side_effect,
        operand_layouts=[_row_major(aval) for aval in in_avals],
        result_layouts=[_row_major(_physical(aval)) for aval in outs],
        annotations=annotations,
    )


def _physical(aval: Any) -> Any:
    """The type of what is passed: that of the arrays behind an extended dtype, and never weak."""
    if isinstance(aval, AbstractToken):
        return aval
    if isinstance(aval.dtype, ExtendedDType):
        aval = aval.dtype.physical_aval(aval)
    return aval.update(weak_type=False)


def _row_major(aval: Any) -> tuple[int, ...]:
    return () if isinstance(aval, AbstractToken) else tuple(reversed(range(len(aval.shape))))


def _on_device(ctx: Lowering, outs: Sequence[Any], device: int) -> str:
    """The attribute that places a call, and all that it takes and gives, on one device."""
    module = ctx.module
    if not module.shardy:
        return f'mhlo.sharding = "{{maximal device={device}}}"'
    symbol = module.single_device_mesh(device)
    each = ", ".join([f"<@{symbol}, []>"] * max(1, len(outs)))
    return f"sdy.sharding = #sdy.sharding_per_value<[{each}]>"
