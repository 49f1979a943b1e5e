"""Checks of a call's results for NaN and infinities, and of all its operations for errors.

If ``jax_debug_nans`` or ``jax_debug_infs`` finds any, the call's operations run again one at a time
to find the first that produces one. The error names that operation, its operands and the user's
line.

The options ``jax_error_checking_behavior_*`` check a call before it runs, for NaN, divisions by
zero and indices out of bounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_xla.arrays._array import parts


def checks_results() -> bool:
    """Whether results are checked in this thread."""
    return ir.debug_nans.value or ir.debug_infs.value


def check_results(
    jaxpr: ir.Jaxpr | None, name: str, args: Sequence[Any], results: Sequence[Any]
) -> None:
    """Raise an error if a result has NaN or infinities and the options forbid them.

    Args:
      jaxpr: the jaxpr of the call; ``None`` if its executable was loaded without one.
      name: the function's name.
      args: the arguments. Unless they were deleted, the jaxpr runs again on them, one operation at
        a time.
      results: the results.

    Raises:
      FloatingPointError: if there is one, with the operation and the user's line.
    """
    kind = next(filter(None, map(_invalid, results)), None)
    if kind is None:
        return
    if jaxpr is None:
        raise FloatingPointError(
            f"invalid value ({kind}) encountered in a result of {name}. Its operations are not "
            "known, since the function was loaded compiled. Call the jitted function to find it."
        )
    # The other processes may have found nothing, and would not run the operations again with us.
    shared = any(not x.sharding.is_fully_addressable for x in args if hasattr(x, "sharding"))
    if shared:
        raise FloatingPointError(
            f"invalid value ({kind}) encountered in a result of jit({name}), in a part that this "
            "process holds. The operation is not looked for, since other processes hold parts of "
            "the arguments. Call checkify, or the function on one process, to find it."
        )
    if not any(hasattr(x, "is_deleted") and x.is_deleted() for x in args):
        report = ir.non_finite_report.call(jaxpr, args, inf=kind == "inf")
        if report is not None:
            origin = "an argument" if report.operation == "argument" else report.operation
            raise FloatingPointError(
                ir.explained(f"invalid value ({kind}) encountered in {origin}\n{report}", "nan")
            )
    raise FloatingPointError(
        f"invalid value ({kind}) encountered in a result of jit({name}). No single operation of it "
        "produces one: either a constant is returned, or it comes from how XLA rearranged the "
        "operations."
    )


def check_host_results(primitive: ir.Primitive, results: Sequence[Any]) -> None:
    """Raise an error if a Python function that an operation called returned a forbidden value.

    The function is not called again to look for the origin.

    Raises:
      FloatingPointError: if it did, with the user's line.
    """
    kind = next(filter(None, map(_invalid, results)), None)
    if kind is None:
        return
    code, instruction = (ir.context.origin or ir.caller_source(2))[:2]
    source = ir.Source(code, instruction)
    at = f" at {ir.shown_file(source.file)}:{source.line} ({source.function})" if code else ""
    raise FloatingPointError(
        ir.explained(
            f"invalid value ({kind}) encountered in {primitive}\n"
            f"{kind} from {primitive}{at}: the Python function that it called returned it",
            "nan",
        )
    )


def _invalid(result: Any) -> str | None:
    """Return the kind of forbidden value in an array: ``"nan"``, ``"inf"`` or ``None``."""
    dtype = getattr(result, "dtype", None)
    if not isinstance(dtype, np.dtype) or not ir.issubdtype(dtype, np.inexact):
        return None
    # Only the shards of this process can be read.
    for part in parts(result):
        values = np.asarray(part)
        if ir.debug_nans.value and np.isnan(values).any():
            return "nan"
        if ir.debug_infs.value and np.isinf(values).any():
            return "inf"
    return None


_nan = ir.config.state("jax_error_checking_behavior_nan")
_divide = ir.config.state("jax_error_checking_behavior_divide")
_oob = ir.config.state("jax_error_checking_behavior_oob")


def checks_errors() -> bool:
    """Whether calls are checked for any error in this thread."""
    return _nan.value == "raise" or _divide.value == "raise" or _oob.value == "raise"


def check_errors(jaxpr: ir.Jaxpr, name: str, args: Sequence[ir.ArrayLike]) -> None:
    """Raise an error if a call has a NaN, a division by zero or an index out of bounds.

    It evaluates the jaxpr with the checks that the options select.

    Args:
      jaxpr: the jaxpr.
      name: the function's name.
      args: the arguments, which must not have been donated yet.

    Raises:
      ValueError: if there is such an error, with the operation and its position.
    """
    error = ir.first_error.call(
        jaxpr,
        args,
        nan=_nan.value == "raise",
        divide=_divide.value == "raise",
        oob=_oob.value == "raise",
    )
    if error is not None:
        raise ValueError(f"jit({name}): {error}") from error
