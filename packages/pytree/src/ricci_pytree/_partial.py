"""`Partial`, a partial application that is a container of its arguments."""

import functools
from collections.abc import Callable
from typing import Any, final

from . import _errors
from ._errors import passes_errors
from ._registry import register_pytree_node


@final
class _Opaque:
    """A callable that hides a `functools.partial` from `functools.partial`."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: object, **kw: object) -> Any:
        return self.fun(*args, **kw)

    def __eq__(self, other: object) -> bool:
        return self.fun == other.fun if isinstance(other, _Opaque) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self) -> str:
        return f"opaque({self.fun!r})"


@final
class Partial(functools.partial[Any]):
    """A `functools.partial` that is a container: its arguments are children, its function static.

    So a function with bound arrays can be an argument of a transformed function.

    Args:
      func: the function.
      args, kw: the arguments that are bound. They are the children.

    Example:
      A function with an array bound to it, as an argument of a jitted function. Another array does
      not compile it again.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.tree_util import Partial
      >>> def scale(factor, x):
      ...     return factor * x
      >>> @ricci.jit
      ... def twice(f, x):
      ...     return f(f(x))
      >>> twice(Partial(scale, jnp.array(3.0)), 2.0).tolist()
      18.0

    Notes:
      The function is static: a new lambda in each call compiles each time.

    Source: ``jax.tree_util.Partial``.
    """

    @passes_errors
    def __new__(cls, func: Callable[..., Any], /, *args: object, **kw: object) -> "Partial":
        # functools.partial would merge the arguments of a partial `func` into its own, and make
        # them children. They belong to the function, which is static.
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        try:
            return super().__new__(cls, func, *args, **kw)
        except TypeError as error:
            _errors.leave(error)
            raise


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
