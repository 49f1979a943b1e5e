"""Check every call for errors (``jax_error_checking_behavior_*``)."""

from collections.abc import Sequence

from ricci_ir import ArrayLike, Jaxpr, config, first_error

_nan = config.state("jax_error_checking_behavior_nan")
_divide = config.state("jax_error_checking_behavior_divide")
_oob = config.state("jax_error_checking_behavior_oob")


def checks_errors() -> bool:
    """Whether calls are checked for any error in this thread."""
    return _nan.value == "raise" or _divide.value == "raise" or _oob.value == "raise"


def check_errors(jaxpr: Jaxpr, name: str, args: Sequence[ArrayLike]) -> None:
    """Raise an error if a call has a NaN, a division by zero or an index out of bounds.

    It evaluates the jaxpr with the checks that the options select.

    Args:
      jaxpr: the jaxpr.
      name: the function's name.
      args: the arguments, which must not have been donated yet.

    Raises:
      ValueError: if there is such an error, with the operation and its position.
    """
    error = first_error.call(
        jaxpr,
        args,
        nan=_nan.value == "raise",
        divide=_divide.value == "raise",
        oob=_oob.value == "raise",
    )
    if error is not None:
        raise ValueError(f"jit({name}): {error}") from error
