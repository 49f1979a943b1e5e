"""Calls of the host on one device of several: their annotations and types."""

from collections.abc import Sequence

from ricci_ir import AbstractValue, ExtendedDType, ShapedArray

from ._lowering import Lowering
from ._values import Value

__all__ = ["on_one_device", "physical", "replicated"]


def replicated(ctx: Lowering, x: Value) -> Value:
    """Copy a result of one device to all; unconstrained, the others would hold zeros."""
    aval = physical(x.aval)
    if not (ctx.module.shardy and isinstance(aval, ShapedArray)):
        return x
    # Any mesh does, for no dimension is sharded over it.
    meshes = ctx.module.meshes.values()
    symbol = next(iter(meshes), None) or ctx.module.mesh([("devices", ctx.module.num_partitions)])
    return ctx.constrained(x, f"<@{symbol}, [{', '.join(['{}'] * aval.ndim)}]>")


def physical(aval: AbstractValue) -> AbstractValue:
    """Return the type of the array that is passed, whose dtype is neither extended nor weak."""
    if not isinstance(aval, ShapedArray):
        return aval
    extended = isinstance(aval.dtype, ExtendedDType)
    physical: ShapedArray = aval.dtype.physical_aval(aval) if extended else aval
    return physical.update(weak_type=False)


def on_one_device(ctx: Lowering, outs: Sequence[AbstractValue], device: int) -> str:
    """Return the attribute that places a call, its operands and its results on one device."""
    module = ctx.module
    # GSPMD takes the device's number itself, Shardy a mesh of that one device.
    if not module.shardy:
        return f'mhlo.sharding = "{{maximal device={device}}}"'
    symbol = module.single_device_mesh(device)
    each = ", ".join([f"<@{symbol}, []>"] * max(1, len(outs)))
    return f"sdy.sharding = #sdy.sharding_per_value<[{each}]>"
