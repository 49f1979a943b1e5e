"""Looking for NaN and infinities in results (``jax_debug_nans``, ``jax_debug_infs``).

Where a program's results have some, its operations are run one at a time to find the first that
makes them, so that the error names it and the user's line, and says what went in.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import (
    Jaxpr,
    debug_infs,
    debug_nans,
    issubdtype,
    non_finite_reports,
)
from ricci_xla.arrays._pieces import parts


def checks_results() -> bool:
    """Whether results are looked at in this thread."""
    return debug_nans.value or debug_infs.value


def check_results(jaxpr: Jaxpr, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise an error if a result has NaN or infinities and the options forbid them.

    Args:
      jaxpr: the program that gave the results.
      name: what it is called.
      args: its arguments; if they are still there it is run again, one operation at a time.

    Raises:
      FloatingPointError: naming the operation, and the user's line.
    """
    what = next(filter(None, map(_invalid, results)), None)
    if what is None:
        return
    if not any(hasattr(x, "is_deleted") and x.is_deleted() for x in args):
        report = non_finite_reports.explain(jaxpr, args, inf=what == "inf")
        if report is not None:
            raise FloatingPointError(
                f"invalid value ({what}) encountered in {report.operation}\n{report}"
            )
    raise FloatingPointError(
        f"invalid value ({what}) encountered in a result of jit({name}). Its operations run one at "
        "a time give none: it is a constant that is returned as it is, or comes from how XLA "
        "rearranged the operations."
    )


def _invalid(result: Any) -> str | None:
    """What is wrong with an array: ``"nan"``, ``"inf"`` or nothing."""
    dtype = getattr(result, "dtype", None)
    if not isinstance(dtype, np.dtype) or not issubdtype(dtype, np.inexact):
        return None
    for part in parts(result):
        values = np.asarray(part)
        if debug_nans.value and np.isnan(values).any():
            return "nan"
        if debug_infs.value and np.isinf(values).any():
            return "inf"
    return None
