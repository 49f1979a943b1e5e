"""Checks of every execution (``jax_error_checking_behavior_*``), imported on first use."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ricci_ir import Jaxpr, first_error


@first_error.provide
def find_error(jaxpr: Jaxpr, args: Sequence[Any], **kinds: bool) -> Exception | None:
    """The first error in a jaxpr; see ``checkify.find_error``."""
    return import_module("ricci_lax.checkify").find_error(jaxpr, args, **kinds)
