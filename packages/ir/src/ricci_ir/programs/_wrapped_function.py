"""Functions with transformations around them, as code written for ``linear_util`` passes them on.

Ricci's own transformations are plain functions; this is for interpreters written outside.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from ricci_pytree import argument_paths, tree_flatten, tree_unflatten

from ._jaxpr import DebugInfo, unknown_debug_info

__all__ = [
    "argnums_partial",
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "merge_linear_aux",
    "safe_map",
    "Store",
    "StoreException",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
    "WrappedFun",
]


class StoreException(Exception):
    """What a transformation found out was asked for before the function was called."""


class Store:
    """Holds what one call of a function found out."""

    __slots__ = ("_value",)

    def __init__(self):
        self._value: tuple[Any, ...] = ()

    def store(self, value: Any) -> None:
        """Set the value.

        Raises:
          StoreException: if there is one already.
        """
        if self._value:
            raise StoreException("the function has been called before: its store holds a value")
        self._value = (value,)

    def __call__(self) -> Any:
        if not self._value:
            raise StoreException("the function has not been called: its store is empty")
        return self._value[0]


class WrappedFun:
    """A function, with fixed keyword arguments, and the transformations around it.

    Attributes:
      f: the function.
      params: keyword arguments that it is always called with.
      transforms: ``(transformation, static arguments)``, the outermost first.
      debug_info: what it is called in messages.
    """

    __slots__ = ("_call", "debug_info", "f", "params", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        params: Mapping[str, Any],
        transforms: tuple[tuple[Callable, tuple], ...],
        call: Callable[..., Any],
        debug_info: DebugInfo,
    ):
        self.f = f
        self.params = dict(params)
        self.transforms = transforms
        self._call = call
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function through its transformations."""
        return self._call(*args, **kwargs)

    def wrap(self, transform: Callable, static: tuple, call: Callable[..., Any]) -> "WrappedFun":
        """The function with one transformation more, which ``call`` carries out."""
        transforms = ((transform, static), *self.transforms)
        return WrappedFun(self.f, self.params, transforms, call, self.debug_info)

    def replace_debug_info(self, debug_info: DebugInfo) -> "WrappedFun":
        """The same function with another description."""
        return WrappedFun(self.f, self.params, self.transforms, self._call, debug_info)

    def _key(self) -> tuple:
        return self.f, tuple(self.params.items()), self.transforms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = [getattr(t, "__name__", str(t)) for t, _ in self.transforms]
        return f"WrappedFun({'/'.join((*names, self.__name__))})"


def wrap_init(
    f: Callable[..., Any],
    params: Mapping[str, Any] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> WrappedFun:
    """A function, ready to have transformations put around it.

    Args:
      f: the function.
      params: keyword arguments that it is always called with.
      debug_info: what it is called in messages.

    Example:
      >>> wrap_init(lambda x, y: x + y, {"y": 2}).call_wrapped(1)
      3
    """
    fixed = dict(params or {})
    call = (lambda *args, **kwargs: f(*args, **{**fixed, **kwargs})) if fixed else f
    return WrappedFun(f, fixed, (), call, debug_info or unknown_debug_info)


def transformation2(gen: Callable[..., Any], *rest: Any) -> Any:
    """Put a transformation around a function.

    Args:
      gen: called as ``gen(f, *static, *args, **kwargs)``, where ``f`` is the function so far.
      rest: the ``WrappedFun`` and the transformation's static arguments; without them, returns a
        function of them, so that this can be used as a decorator.
    """

    def around(fun: WrappedFun, *static: Any) -> WrappedFun:
        call = lambda *args, **kwargs: gen(fun.call_wrapped, *static, *args, **kwargs)
        return fun.wrap(gen, static, call)

    return around(*rest) if rest else around


def transformation_with_aux2(gen: Callable[..., Any], *rest: Any) -> Any:
    """Like ``transformation2`` for ``gen(f, store, *static, *args, **kwargs)``.

    Returns:
      The function, and a function that gives what ``gen`` put into the store.
    """

    def around(fun: WrappedFun, *static: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        call = lambda *args, **kwargs: gen(fun.call_wrapped, store, *static, *args, **kwargs)
        return fun.wrap(gen, static, call), store

    return around(*rest) if rest else around


def _through(gen: Generator, f: Callable[..., Any]) -> Any:
    args, kwargs = next(gen)
    return gen.send(f(*args, **kwargs))


def transformation(gen: Callable[..., Generator], *rest: Any) -> Any:
    """Put a transformation that is written as a generator around a function.

    Args:
      gen: called as ``gen(*static, *args, **kwargs)``, yields the arguments for the function, as
        ``(args, kwargs)``, is sent its result, and yields the transformed result.
      rest: the ``WrappedFun`` and the transformation's static arguments; without them, returns a
        function of them, so that this can be used as a decorator.

    Example:
      >>> @transformation
      ... def scaled(factor, x):
      ...     result = yield (x * factor,), {}
      ...     yield [result]
      >>> scaled(wrap_init(lambda x: x + 1), 10).call_wrapped(2)
      [21]
    """

    def around(fun: WrappedFun, *static: Any) -> WrappedFun:
        call = lambda *args, **kwargs: _through(gen(*static, *args, **kwargs), fun.call_wrapped)
        return fun.wrap(gen, static, call)

    return around(*rest) if rest else around


def transformation_with_aux(gen: Callable[..., Generator], *rest: Any) -> Any:
    """Like ``transformation`` for a generator that yields ``(result, aux)`` in the end.

    Returns:
      The function, and a function that gives ``aux`` once that has been called.
    """

    def around(fun: WrappedFun, *static: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()

        def call(*args: Any, **kwargs: Any) -> Any:
            result, aux = _through(gen(*static, *args, **kwargs), fun.call_wrapped)
            store.store(aux)
            return result

        return fun.wrap(gen, static, call), store

    return around(*rest) if rest else around


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether it is the first of two functions that was called, and what that one found out.

    Raises:
      StoreException: if neither was called, or both.
    """
    try:
        found = aux1()
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return True, found
    raise StoreException("both functions have been called")


@transformation_with_aux2
def flatten_fun(f: Callable, store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
    """``flatten_fun(fun, in_tree)``: a function of leaves of ``(args, kwargs)``, its out tree."""
    args, kwargs = tree_unflatten(in_tree, leaves)
    results, out_tree = tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return results


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable, store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
    """``flatten_fun_nokwargs(fun, in_tree)``: a function of leaves of ``args``, its out tree."""
    results, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return results


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix all positional arguments but some.

    Args:
      f: the function.
      dyn_argnums: the positions of the arguments that stay.
      args: all of its arguments.
      require_static_args_hashable: whether the fixed ones must be hashable.

    Returns:
      A function of the arguments that stay, and their values.

    Raises:
      ValueError: if a fixed argument is not hashable.
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    kept = [n % len(args) for n in numbers]
    fixed = [None if i in kept else x for i, x in enumerate(args)]
    for i, value in enumerate(fixed):
        if require_static_args_hashable and type(value).__hash__ is None:
            raise ValueError(
                f"argument {i} of {f.__name__} is static, but of type {type(value).__name__}, "
                "which cannot be hashed. Pass a hashable equivalent, such as a tuple for a list."
            )

    def call(*dynamic: Any, **kwargs: Any) -> Any:
        full = list(fixed)
        for position, value in zip(kept, dynamic, strict=True):
            full[position] = value
        return f.call_wrapped(*full, **kwargs)

    return f.wrap(argnums_partial, (tuple(kept),), call), tuple(args[n] for n in kept)


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
) -> DebugInfo:
    """What a function is called in messages, and its arguments.

    Args:
      traced_for: the transformation.
      fun, args, kwargs: a call.
      static_argnums, static_argnames: the arguments that are no arrays; they are left out.

    Example:
      >>> debug_info("jit", lambda x, n: x, (1.0, 2), {}, static_argnums=(1,)).arg_names
      ('x',)
    """
    static = {n % len(args) for n in static_argnums} if args else set()
    # None has no leaves, so that it keeps the place of a static argument.
    dynamic = tuple(None if i in static else x for i, x in enumerate(args))
    options = {k: v for k, v in kwargs.items() if k not in static_argnames}
    name = getattr(fun, "__name__", type(fun).__name__)
    return DebugInfo(traced_for, name, tuple(argument_paths(dynamic, options, fun)))


def safe_map(f: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
    """``map`` as a list, for sequences of one length.

    Raises:
      ValueError: if their lengths differ.
    """
    return [f(*xs) for xs in zip(*sequences, strict=True)]
