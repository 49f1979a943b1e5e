"""The first calls of simple operations: computed by NumPy, a thousand times sooner than compiled.

A program starts with many operations that are used once or twice, as when parameters are made. What
NumPy computes to the same bits (the ``exact`` rules) is compiled only when it comes back.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import Primitive, ShapedArray, debug_key_reuse, exact_rules, no_execution
from ricci_xla.arrays._array import ArrayImpl
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.devices._client import get_default_device
from ricci_xla.devices._guards import transfers_are_guarded
from ricci_xla.executables._error_checks import checks_errors
from ricci_xla.executables._nan_checks import checks_results

CALLS = 3  # of one operation on operands of the same types
_LARGEST = 1 << 14  # elements of an operand or a result
_DTYPES = frozenset(
    map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))
)


def compute(
    primitive: Primitive, avals: tuple, args: Sequence[Any], params: dict[str, Any]
) -> list[Any] | None:
    """The results of an operation, computed by NumPy; ``None`` if they must not or cannot be.

    Args:
      primitive, params: the operation.
      avals: the types of its operands.
      args: arrays, NumPy arrays or scalars.
    """
    rule = exact_rules.get(primitive)
    if rule is None or checks_results() or debug_key_reuse.value or no_execution.value:
        return None
    if checks_errors():
        return None
    if transfers_are_guarded():  # NumPy's operands and results are copies
        return None
    device = get_default_device()
    if device.platform != "cpu" or not all(_is_on(x, device) for x in args):
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
    # A result may be a view of an operand, whose memory can be given away later.
    return [
        array_from_host(np.array(x, aval.dtype), aval)
        for x, aval in zip(results, outs, strict=True)
    ]


def _is_on(x: Any, device: Any) -> bool:
    """Whether an operand is an array that is on a device by default, or a NumPy array or scalar."""
    if isinstance(x, ArrayImpl):
        return not x.committed and not x.is_deleted() and x.devices() == {device}
    return isinstance(x, np.ndarray | np.generic | bool | int | float)


def _is_simple(aval: Any) -> bool:
    return type(aval) is ShapedArray and aval.dtype in _DTYPES and aval.size <= _LARGEST


def _has_subnormals(x: Any) -> bool:
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return False
    size = np.abs(x)
    return bool(np.any((size > 0) & (size < np.finfo(x.dtype).smallest_normal)))
