"""The name stack of operations: the scopes that the user entered, and the transformations.

It is ``context.name_stack``, outermost first: strings, of which those of type ``Transformation``
name a transformation. Equations store the stack that they were traced in.
"""

from collections.abc import Callable, Sequence
from typing import Self

from ricci_ir._traceback_filtering import looks_like

from ._trace import ContextBlock, context

__all__ = ["is_differentiated", "is_transposed", "jvp_stack", "named_call", "named_scope"]
__all__ += ["NameStack", "scope_path", "Transformation", "transposed_stack", "vmap_stack"]


class Transformation(str):
    """The name of a transformation on the stack; it encloses the scope that comes after it.

    Attributes:
      size: the number of examples, for a ``vmap``.
    """

    __slots__ = ("size",)

    size: int | None

    def __new__(cls, name: str, size: int | None = None) -> "Transformation":
        transformation = str.__new__(cls, name)
        transformation.size = size
        return transformation


class NameStack(tuple):
    """Names of scopes and transformations, outermost first.

    Example:
      >>> from ricci.extend.source_info_util import NameStack
      >>> stack = NameStack(("layer",)).transform("jvp").extend("norm")
      >>> print(stack, len(stack))
      layer/jvp(norm) 3
    """

    __slots__ = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The names in a plain tuple."""
        return tuple(self)

    def extend(self, name: str) -> "NameStack":
        """The stack with one more scope inside."""
        return NameStack((*self, name))

    def transform(self, name: str) -> "NameStack":
        """The stack with a transformation inside, which encloses the scope that follows."""
        return NameStack((*self, Transformation(name)))

    def __add__(self, other: tuple[str, ...]) -> "NameStack":  # pyright: ignore
        return NameStack((*self, *other))

    def __str__(self) -> str:
        return scope_path(self)


class _Entered(ContextBlock):
    """A name on the stack inside a ``with`` block."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        super().__init__()
        self.name: str = name

    def __enter__(self) -> Self:
        stack = context.name_stack
        self._enter(stack)
        context.name_stack = (*stack, self.name)
        return self

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.name_stack = previous


class named_scope(_Entered):
    """Name the operations traced inside a ``with`` block or by a decorated function.

    Args:
      name: the name in profiles and in the metadata of compiled programs.

    Raises:
      TypeError: if the name is not a string.

    Example:
      Operations have the name in printed programs and in profiles:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def f(x):
      ...     with ricci.named_scope("attention"):
      ...         return jnp.sin(x)
      >>> text = ricci.jit(f).lower(1.0).as_text(debug_info=True)
      >>> "attention/sin" in text
      True
    """

    __slots__ = ()

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"named_scope: the name must be a string, got {name!r}")
        super().__init__(name)

    def __call__[**P, R](self, fun: Callable[P, R]) -> Callable[P, R]:
        name = self.name

        @looks_like(fun)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            with _Entered(name):  # one for each call: calls may be nested
                return fun(*args, **kwargs)

        return named


def named_call[**P, R](fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Wrap a function so that its operations are in a scope named after it.

    Args:
      fun: any function.
      name: the scope's name; by default the function's.

    Returns:
      A function of the same arguments and results.

    Raises:
      TypeError: if the name is not a string.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> block = ricci.named_call(lambda x: jnp.sin(x), name="block")
      >>> "block" in ricci.jit(lambda x: block(x)).lower(1.0).as_text(debug_info=True)
      True
    """
    return named_scope(getattr(fun, "__name__", type(fun).__name__) if name is None else name)(fun)


_jvp, _transpose = Transformation("jvp"), Transformation("transpose")


def jvp_stack(outer: tuple[str, ...]) -> tuple[str, ...]:
    """The stack of names, under ``outer``, for operations that are differentiated."""
    return (*outer, _jvp)


def vmap_stack(outer: tuple[str, ...], size: int) -> tuple[str, ...]:
    """The stack of names, under ``outer``, for a ``vmap`` over ``size`` examples."""
    return (*outer, Transformation("vmap", size))


def is_differentiated(names: Sequence[str]) -> bool:
    """Whether a stack of names is that of the forward pass of a differentiated function."""
    return _contains(names, _jvp) and not _contains(names, _transpose)


def is_transposed(names: Sequence[str]) -> bool:
    """Whether a stack of names is that of a backward pass."""
    return _contains(names, _transpose)


def _contains(names: Sequence[str], transformation: Transformation) -> bool:
    return any(type(name) is Transformation and name == transformation for name in names)


def transposed_stack(outer: tuple[str, ...], recorded: tuple[str, ...]) -> tuple[str, ...]:
    """The stack of names, under ``outer``, for the transpose of an equation with ``recorded``."""
    count = len(outer)
    inner = recorded[count:] if recorded[:count] == outer else ()
    return (*outer, _transpose, *inner)


def scope_path(names: Sequence[str]) -> str:
    """A stack of names as one string.

    Example:
      >>> from ricci_ir import Transformation, scope_path
      >>> scope_path(("layer", Transformation("transpose"), Transformation("jvp"), "norm", "sum"))
      'layer/transpose(jvp(norm))/sum'
    """
    parts: list[str] = []
    opened: list[str] = []
    for name in names:
        if type(name) is Transformation:
            opened.append(name)
        else:
            parts.append(_enclosed(opened, name))
            opened = []
    if opened:
        parts.append(_enclosed(opened, ""))
    return "/".join(parts)


def _enclosed(opened: Sequence[str], name: str) -> str:
    return f"{''.join(f'{o}(' for o in opened)}{name}{')' * len(opened)}"
