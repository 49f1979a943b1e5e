"""The hooks that check jaxprs for reused random keys (``jax_debug_key_reuse``); backends call them.

Both raise ``KeyReuseError``, and do nothing where no package of random numbers is imported.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ._hook import Hook

__all__ = ["check_key_reuse", "mark_used_keys"]

# Checks a jaxpr by itself.
check_key_reuse: Hook[Callable[[Any], object]] = Hook(
    "checks of random keys", provided_by="ricci_random", default=lambda jaxpr: None
)

# ``(jaxpr, name, args, results)``: marks the keys that a call uses as used. ``args`` are its
# constants and its arguments, ``results`` is empty in the call before it runs.
mark_used_keys: Hook[Callable[[Any, str, Sequence[Any], Sequence[Any]], object]] = Hook(
    "marks of random keys",
    provided_by="ricci_random",
    default=lambda jaxpr, name, args, results: None,
)
