"""Checks of programs that are not wrapped in ``checkify``, in each run of them."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ricci_ir import Jaxpr, config, convert_constvars, ensure_compile_time_eval
from ricci_lax.programs._staged_call import jit_p

from ._checkify import div_checks, index_checks, nan_checks
from ._error import error_of
from ._exceptions import JaxException
from ._log import Log
from ._slots import slots_of

_kinds = {"nan": nan_checks, "divide": div_checks, "oob": index_checks}
_options = [config.state(f"jax_error_checking_behavior_{kind}") for kind in _kinds]


def find_error(jaxpr: Jaxpr, args: Sequence[Any], **kinds: bool) -> JaxException | None:
    """Run a program with checks, and return its first error; ``None`` if there is none.

    Args:
      jaxpr: the program.
      args: a value for each of its arguments.
      kinds: which errors to look for: ``nan``, ``divide`` (division by zero), ``oob`` (indices
        out of bounds).
    """
    enabled = frozenset().union(*(_kinds[kind] for kind, wanted in kinds.items() if wanted))
    checked = Log(enabled).checked(jaxpr)
    if not checked.effects:
        return None
    operands = [*checked.jaxpr.consts, *args]
    with ExitStack() as stack:
        stack.enter_context(ensure_compile_time_eval())
        for option in _options:  # off, so that the checked program is not checked again
            stack.enter_context(option("ignore"))
        program = convert_constvars(checked.jaxpr)
        results = jit_p.bind(*operands, jaxpr=program, name="checked")
        slots = slots_of(checked.effects, results[: checked.leaf_count])
        return error_of(slots, checked.sites).get_exception()
