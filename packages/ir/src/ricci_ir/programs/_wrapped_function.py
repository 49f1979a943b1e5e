"""Functions with a list of transformations around them: the interface of ``linear_util``.

Interpreters written outside of Ricci use it. Ricci's own transformations are plain functions.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from ricci_pytree import PyTreeDef, argument_paths, tree_flatten, tree_unflatten

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
    """A ``Store`` was read while empty, or written twice."""


class Store:
    """A cell for a side result of one call of a function, such as its output tree."""

    __slots__ = ("_value",)

    def __init__(self):
        self._value: tuple[Any, ...] = ()

    def store(self, value: object) -> None:
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


type Transforms = tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]
"""Transformations with their static arguments."""


class WrappedFun:
    """A function, with fixed keyword arguments, and the transformations around it.

    Attributes:
      f: the function.
      params: keyword arguments that it is always called with.
      transforms: ``(transformation, static arguments)``, the outermost first.
      debug_info: its name and those of its arguments, for messages.
    """

    __slots__ = ("_call", "debug_info", "f", "params", "transforms")

    f: Callable[..., Any]
    params: dict[str, Any]
    transforms: Transforms
    debug_info: DebugInfo

    def __init__(
        self,
        f: Callable[..., Any],
        params: Mapping[str, Any],
        transforms: Transforms,
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

    def wrap(
        self, transform: Callable, static: tuple[Any, ...], call: Callable[..., Any]
    ) -> "WrappedFun":
        """The function with one more transformation; ``call`` is the transformed function."""
        transforms = ((transform, static), *self.transforms)
        return WrappedFun(self.f, self.params, transforms, call, self.debug_info)

    def replace_debug_info(self, debug_info: DebugInfo) -> "WrappedFun":
        """The same function with another description."""
        return WrappedFun(self.f, self.params, self.transforms, self._call, debug_info)

    def _key(self) -> tuple[Any, ...]:
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
    """A ``WrappedFun`` without transformations.

    Args:
      f: the function.
      params: keyword arguments that it is always called with.
      debug_info: its name and those of its arguments, for messages.

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
      The transformed function, and a function that returns the value that ``gen`` has stored.
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
      The transformed function, and a function that returns ``aux`` after a call of it.
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
    """The stored value of whichever of two transformed functions was called.

    Returns:
      Whether it was the first one, and its value.

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
def flatten_fun(f: Callable, store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """``flatten_fun(fun, in_tree)`` gives a function of the leaves of ``(args, kwargs)``.

    The second result of it returns the tree of the function's result after a call.
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    results, out_tree = tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return results


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable, store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """``flatten_fun_nokwargs(fun, in_tree)`` gives a function of the leaves of ``args``.

    The second result of it returns the tree of the function's result after a call.
    """
    results, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return results


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix all positional arguments except some.

    Args:
      f: the function.
      dyn_argnums: the positions of the dynamic arguments, which are not fixed.
      args: the values of all arguments.
      require_static_args_hashable: whether the fixed arguments must be hashable.

    Returns:
      A function of the dynamic arguments, and their values.

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
    """The names of a function and of its arguments' leaves, for messages.

    Args:
      traced_for: the transformation.
      fun, args, kwargs: the function and the arguments of a call.
      static_argnums, static_argnames: the arguments that are not arrays; they get no names.

    Example:
      >>> debug_info("jit", lambda x, n: x, (1.0, 2), {}, static_argnums=(1,)).arg_names
      ('x',)
    """
    static = {n % len(args) for n in static_argnums} if args else set()
    # None has no leaves, so it can stand in the place of a static argument.
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
