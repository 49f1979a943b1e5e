"""Errors that every program is checked for (``jax_error_checking_behavior_*``)."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import Jaxpr, config, error_checks

_options = {
    kind: config.state(f"jax_error_checking_behavior_{kind}") for kind in ("nan", "divide", "oob")
}


def checks_errors() -> bool:
    """Whether programs are checked in this thread."""
    return any(option.value == "raise" for option in _options.values())


def check_errors(jaxpr: Jaxpr, name: str, args: Sequence[Any]) -> None:
    """Raise an error if an operation of a program goes wrong in a way that options forbid.

    Args:
      jaxpr: the program.
      name: what it is called.
      args: its arguments, which may not have been donated yet.

    Raises:
      ValueError: saying what went wrong.
    """
    kinds = {kind: option.value == "raise" for kind, option in _options.items()}
    error = error_checks.find(jaxpr, args, **kinds)
    if error is not None:
        raise ValueError(f"jit({name}): {error}") from error
