"""Checks in each execution of jaxprs that are not wrapped in ``checkify``."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ricci_ir import Jaxpr, config, convert_constvars, ensure_compile_time_eval
from ricci_lax.staged_calls._staged_call import jit_p

from ._checkify import div_checks, index_checks, nan_checks
from ._error import error_of
from ._exceptions import JaxException
from ._log import Log
from ._slots import slots_of

__all__ = ["find_error"]

_kinds = {"nan": nan_checks, "divide": div_checks, "oob": index_checks}
_options = [config.state(f"jax_error_checking_behavior_{kind}") for kind in _kinds]


def find_error(jaxpr: Jaxpr, args: Sequence[Any], **kinds: bool) -> JaxException | None:
    """Run a jaxpr with checks, and return its first error; ``None`` if there is none.

    Args:
      jaxpr: the jaxpr.
      args: a value for each of its arguments.
      kinds: the errors to check for: ``nan``, ``divide`` (division by zero), ``oob`` (indices
        out of bounds).
    """
    enabled = frozenset().union(*(_kinds[kind] for kind, enable in kinds.items() if enable))
    checked = Log(enabled).checked(jaxpr)
    if not checked.effects:
        return None
    operands = [*checked.jaxpr.consts, *args]
    with ExitStack() as stack:
        stack.enter_context(ensure_compile_time_eval())
        for option in _options:  # off, so that the checked jaxpr is not checked again
            stack.enter_context(option("ignore"))
        program = convert_constvars(checked.jaxpr)
        results = jit_p.bind(*operands, jaxpr=program, name="checked")
        slots = slots_of(checked.effects, results[: checked.leaf_count])
        return error_of(slots, checked.sites).get_exception()
