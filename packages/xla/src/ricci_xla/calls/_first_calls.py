"""Compute the first few calls of a simple operation with NumPy, before it is compiled.

Scripts begin with many operations that run once or twice, for example to initialize parameters, and
compiling one takes a thousand times longer than computing it. So an operation for which NumPy gives
the same bits as XLA (its ``exact`` rule) is compiled only when it is called more than ``CALLS``
times.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, ArrayLike, Primitive, ShapedArray
from ricci_xla.arrays import ArrayImpl, array_from_host
from ricci_xla.compile._value_checks import checks_errors, checks_results
from ricci_xla.devices import Device, device_mesh, get_default_device
from ricci_xla.devices._jaxlib_options import transfers_are_guarded

# The number of calls of an operation, with operands of the same types, that NumPy computes.
CALLS = 3
_MAX_SIZE = 1 << 14  # the most elements of an operand or a result
_DTYPES = frozenset(
    map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))
)


def compute(
    primitive: Primitive, avals: tuple[Any, ...], args: Sequence[ArrayLike], params: dict[str, Any]
) -> list[Array] | None:
    """Compute an operation with NumPy; return ``None`` if its result might differ from XLA's.

    NumPy is not used if results are checked, if a transfer guard would report copies that XLA does
    not make, for committed arrays, other devices than the CPU, large arrays, and subnormal numbers,
    which XLA flushes to zero.

    Args:
      primitive, params: the operation.
      avals: the types of its operands.
      args: the operands: arrays, NumPy arrays or scalars.
    """
    rule = ir.exact_rules.get(primitive)
    if rule is None or checks_results() or ir.debug_key_reuse.value or ir.no_execution.value:
        return None
    if checks_errors():
        return None
    if transfers_are_guarded():  # NumPy's operands and results are copied
        return None
    if device_mesh.value is not None:  # results go to all of its devices
        return None
    device = get_default_device()
    if device.platform != "cpu" or not all(_is_on(x, device) for x in args):
        return None
    if device.process_index != device.client.process_index():  # another process's device
        return None
    many = primitive.multiple_results
    outs: Any = primitive.result_avals(avals, params)
    outs = outs if many else [outs]
    if not all(map(_is_simple, (*avals, *outs))):
        return None
    operands = [np.asarray(x, aval.dtype) for x, aval in zip(args, avals, strict=True)]
    with np.errstate(all="ignore"):
        results = rule(*operands, **params)
    if results is NotImplemented:
        return None
    results = list(results) if many else [results]
    if any(_has_subnormals(x) for x in (*operands, *results)):
        return None
    # Results are copied: one may be a view of an operand, whose memory can be donated later.
    return [
        array_from_host(np.array(x, aval.dtype), aval)
        for x, aval in zip(results, outs, strict=True)
    ]


def _is_on(x: ArrayLike, device: Device) -> bool:
    """Whether an operand is an uncommitted array on a device, or a NumPy array or a scalar."""
    if isinstance(x, ArrayImpl):
        return not x.committed and not x.is_deleted() and x.devices() == {device}
    return isinstance(x, np.ndarray | np.generic | bool | int | float)


def _is_simple(aval: object) -> bool:
    return type(aval) is ShapedArray and aval.dtype in _DTYPES and aval.size <= _MAX_SIZE


def _has_subnormals(x: np.ndarray) -> bool:
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return False
    size = np.abs(x)
    return bool(np.any((size > 0) & (size < np.finfo(x.dtype).smallest_normal)))
