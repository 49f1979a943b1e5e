"""Errors that every program is checked for (``jax_error_checking_behavior_*``)."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import Jaxpr, config, error_checks

_nan = config.state("jax_error_checking_behavior_nan")
_divide = config.state("jax_error_checking_behavior_divide")
_oob = config.state("jax_error_checking_behavior_oob")


def checks_errors() -> bool:
    """Whether programs are checked in this thread."""
    return _nan.value == "raise" or _divide.value == "raise" or _oob.value == "raise"


def check_errors(jaxpr: Jaxpr, name: str, args: Sequence[Any]) -> None:
    """Raise an error if an operation of a program goes wrong in a way that options forbid.

    Args:
      jaxpr: the program.
      name: what it is called.
      args: its arguments, which may not have been donated yet.

    Raises:
      ValueError: saying what went wrong.
    """
    error = error_checks.find(
        jaxpr,
        args,
        nan=_nan.value == "raise",
        divide=_divide.value == "raise",
        oob=_oob.value == "raise",
    )
    if error is not None:
        raise ValueError(f"jit({name}): {error}") from error
