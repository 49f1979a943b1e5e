"""Checking every program for errors (``jax_error_checking_behavior_*``)."""

from collections.abc import Sequence

from ricci_ir import ArrayLike, Jaxpr, config, error_checks

_nan = config.state("jax_error_checking_behavior_nan")
_divide = config.state("jax_error_checking_behavior_divide")
_oob = config.state("jax_error_checking_behavior_oob")


def checks_errors() -> bool:
    """Whether programs are checked for any error in this thread."""
    return _nan.value == "raise" or _divide.value == "raise" or _oob.value == "raise"


def check_errors(jaxpr: Jaxpr, name: str, args: Sequence[ArrayLike]) -> None:
    """Raise an error if a program has a NaN, a division by zero or an index out of bounds.

    Only those that the options ask for are looked for.

    Args:
      jaxpr: the program.
      name: its name.
      args: its arguments. They must not have been donated yet, since the program runs on them.

    Raises:
      ValueError: if there is such an error, with the operation and its position.
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
