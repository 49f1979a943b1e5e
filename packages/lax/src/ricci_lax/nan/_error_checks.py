"""Checks of every execution (``jax_error_checking_behavior_*``), imported on first use."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import Jaxpr, first_error


@first_error.provide
def find_error(jaxpr: Jaxpr, args: Sequence[Any], **kinds: bool) -> Exception | None:
    """The first error in a jaxpr; see ``checkify.find_error``."""
    from ricci_lax import checkify  # noqa: PLC0415 - lazy: few programs need it

    return checkify.find_error(jaxpr, args, **kinds)
