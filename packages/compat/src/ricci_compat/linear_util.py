"""Functions with a list of transformations around them: ``jax.extend.linear_util``.

Ricci's own transformations are plain functions.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import wraps
from typing import Any

from ricci_ir import DebugInfo, TracedFunctions, unknown_debug_info
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

# Entries of one function, which is limited so that a cache keyed by ever new static
# arguments does not grow without bound.
_LIMIT = 256


class StoreException(Exception):
    """A ``Store`` was read while empty, or written twice."""


class Store:
    """A cell that one call of a function fills with a side result, such as its output tree."""

    __slots__ = ("_value",)

    _value: tuple[Any, ...]

    def __init__(self):
        # Empty, or the value in a tuple: None is a value like any other.
        self._value: tuple[Any, ...] = ()

    def store(self, value: object) -> None:
        """Set the value.

        Raises:
          StoreException: if it is set already.
        """
        if self._value:
            raise StoreException("the function has been called before: its store holds a value")
        self._value = (value,)

    def reset(self) -> None:
        """Empty the cell."""
        self._value = ()

    def __bool__(self) -> bool:
        return bool(self._value)

    def __call__(self) -> Any:
        if not self._value:
            raise StoreException("the function has not been called: its store is empty")
        return self._value[0]


class EqualStore(Store):
    """A cell that may be set again to an equal value."""

    __slots__ = ()

    def store(self, value: object) -> None:
        """Set the value.

        Raises:
          StoreException: if it has another value.
        """
        if self._value and self._value[0] != value:
            raise StoreException(
                f"the store holds {self._value[0]!r}, and another call gives {value!r}"
            )
        self._value = self._value or (value,)


type Transforms = tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]
"""Transformations with their static arguments."""


class WrappedFun:
    """A function, with fixed keyword arguments, and the transformations around it.

    Attributes:
      f: the function.
      params: keyword arguments of every call.
      transforms: ``(transformation, static arguments)``, the outermost first.
      stores: for each transformation the cell for its side result; ``None`` if it has none.
      debug_info: its name and those of its arguments, for messages.
    """

    __slots__ = ("_call", "debug_info", "f", "params", "stores", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        params: Mapping[str, Any],
        transforms: Transforms,
        call: Callable[..., Any],
        debug_info: DebugInfo,
        stores: tuple[Store | None, ...] = (),
    ):
        self.f: Callable[..., Any] = f
        self.params: dict[str, Any] = dict(params)
        self.transforms: Transforms = transforms
        self.stores: tuple[Store | None, ...] = stores
        self._call = call
        self.debug_info: DebugInfo = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def call_wrapped(self, *args: object, **kwargs: object) -> Any:
        """Call the function through its transformations."""
        return self._call(*args, **kwargs)

    def call_again(self, *args: object) -> Sequence[Any]:
        """Call the function, whose stores may hold the side results of an earlier call."""
        for store in self.stores:
            if store is not None:
                store.reset()
        return self._call(*args)

    def wrap(
        self,
        transform: Callable,
        static: tuple[Any, ...],
        call: Callable[..., Any],
        store: Store | None = None,
    ) -> "WrappedFun":
        """The function with one more transformation.

        Args:
          transform, static: the transformation and its static arguments.
          call: the transformed function.
          store: the cell for the transformation's side result.
        """
        transforms, stores = ((transform, static), *self.transforms), (store, *self.stores)
        return WrappedFun(self.f, self.params, transforms, call, self.debug_info, stores)

    def populate_stores(self, stores: Sequence[Store | None]) -> None:
        """Copy the side results of a call of an equal function from its ``stores``."""
        for mine, theirs in zip(self.stores, stores, strict=True):
            if mine is not None and theirs:
                mine.store(theirs())

    def replace_debug_info(self, debug_info: DebugInfo) -> "WrappedFun":
        """The same function with another description."""
        return WrappedFun(self.f, self.params, self.transforms, self._call, debug_info, self.stores)

    def _key(self) -> tuple[Any, ...]:
        # Without stores, debug_info and _call: they differ between calls of ``wrap`` with equal
        # arguments, and two functions that are made in the same way must hit the same cache entry.
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
      params: keyword arguments of every call.
      debug_info: its name and those of its arguments, for messages.

    Returns:
      The ``WrappedFun``.

    Example:
      >>> from ricci.extend.linear_util import wrap_init
      >>> wrap_init(lambda x, y: x + y, {"y": 2}).call_wrapped(1)
      3
    """
    fixed = dict(params or {})
    call = (lambda *args, **kwargs: f(*args, **{**fixed, **kwargs})) if fixed else f
    return WrappedFun(f, fixed, (), call, debug_info or unknown_debug_info)


def transformation2(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any
) -> Any:
    """Put a transformation around a function.

    Args:
      gen: called as ``gen(f, *static, *args, **kwargs)``, where ``f`` is the function so far.
      fun, gen_static_args: the function and the transformation's static arguments; without them,
        returns a function of them, so that this can be used as a decorator.
    """

    def around(fun: WrappedFun, *static: object) -> WrappedFun:
        call = lambda *args, **kwargs: gen(fun.call_wrapped, *static, *args, **kwargs)
        return fun.wrap(gen, static, call)

    return around if fun is None else around(fun, *gen_static_args)


def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: WrappedFun | None = None,
    *gen_static_args: Any,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> Any:
    """Like ``transformation2`` for ``gen(f, store, *static, *args, **kwargs)``.

    Args:
      gen, fun, gen_static_args: see ``transformation2``.
      use_eq_store: whether ``gen`` may store a value again, if it equals the first one. Else a
        function that stores something can be called once.
      unk_names: accepted for compatibility, and ignored.

    Returns:
      The transformed function, and a function that returns the value that ``gen`` has stored.
    """

    def around(
        fun: WrappedFun,
        *gen_static_args: object,
        use_eq_store: bool = use_eq_store,
        unk_names: bool = False,
    ) -> tuple[WrappedFun, Callable[[], Any]]:
        store, static = EqualStore() if use_eq_store else Store(), gen_static_args
        call = lambda *args, **kwargs: gen(fun.call_wrapped, store, *static, *args, **kwargs)
        return fun.wrap(gen, static, call, store), store

    return around if fun is None else around(fun, *gen_static_args)


# A generator's transformation in two steps: it yields the inner call's arguments, and is sent the
# result, for which it yields its own.
def _through(gen: Generator, f: Callable[..., Any]) -> Any:
    args, kwargs = next(gen)
    return gen.send(f(*args, **kwargs))


def transformation(
    gen: Callable[..., Generator], fun: WrappedFun | None = None, *gen_static_args: Any
) -> Any:
    """Put a transformation that is written as a generator around a function.

    Args:
      gen: called as ``gen(*static, *args, **kwargs)``, yields the arguments for the function, as
        ``(args, kwargs)``, is sent its result, and yields the transformed result.
      fun, gen_static_args: the function and the transformation's static arguments; without them,
        returns a function of them, so that this can be used as a decorator.

    Example:
      >>> from ricci.extend.linear_util import transformation, wrap_init
      >>> @transformation
      ... def scaled(factor, x):
      ...     result = yield (x * factor,), {}
      ...     yield [result]
      >>> scaled(wrap_init(lambda x: x + 1), 10).call_wrapped(2)
      [21]
    """

    def around(fun: WrappedFun, *static: object) -> WrappedFun:
        call = lambda *args, **kwargs: _through(gen(*static, *args, **kwargs), fun.call_wrapped)
        return fun.wrap(gen, static, call)

    return around if fun is None else around(fun, *gen_static_args)


def transformation_with_aux(
    gen: Callable[..., Generator], fun: WrappedFun | None = None, *gen_static_args: Any
) -> Any:
    """Like ``transformation`` for a generator that yields ``(result, aux)`` in the end.

    Returns:
      The transformed function, and a function that returns ``aux`` after a call of it.
    """

    def around(fun: WrappedFun, *static: object) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()

        def call(*args: object, **kwargs: object) -> Any:
            result, aux = _through(gen(*static, *args, **kwargs), fun.call_wrapped)
            store.store(aux)
            return result

        return fun.wrap(gen, static, call, store), store

    return around if fun is None else around(fun, *gen_static_args)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """The stored value of whichever of two transformed functions was called.

    Returns:
      Whether it was the first one, and its value. A function with a derivative rule is traced for
      its types before its rule is called: so where both were called, the first one's value.

    Raises:
      StoreException: if neither was called.
    """
    try:
        return True, aux1()
    except StoreException:
        return False, aux2()


@transformation_with_aux2
def flatten_fun(f: Callable, store: Store, in_tree: PyTreeDef, *leaves: object) -> list[Any]:
    """``flatten_fun(fun, in_tree)`` gives a function of the leaves of ``(args, kwargs)``.

    The second result of it returns the tree of the function's result after a call.
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    results, out_tree = tree_flatten(f(*args, **kwargs))
    store.store(out_tree)
    return results


@transformation_with_aux2
def flatten_fun_nokwargs(
    f: Callable, store: Store, in_tree: PyTreeDef, *leaves: object
) -> list[Any]:
    """``flatten_fun_nokwargs(fun, in_tree)`` gives a function of the leaves of ``args``.

    The second result of it returns the tree of the function's result after a call.
    """
    results, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return results


def cache(call: Callable[..., Any], *, explain: object = None) -> Callable[..., Any]:
    """Cache the results of a function of a ``WrappedFun`` and further, hashable, arguments.

    A cached result is returned for an equal function: the same Python function, with the same
    keyword arguments and transformations around it. The side results of these transformations,
    such as an output tree, are then those of the first call. Entries live as long as the function.

    Args:
      call: ``call(fun, *args)``.
      explain: accepted for compatibility; not used.

    Returns:
      The function, with the methods ``cache_clear()`` and ``evict_function(f)``.

    Example:
      >>> from ricci.extend.linear_util import cache, wrap_init
      >>> calls = []
      >>> @cache
      ... def traced(fun, n):
      ...     calls.append(n)
      ...     return fun.call_wrapped(n)
      >>> def double(x):
      ...     return 2 * x
      >>> traced(wrap_init(double), 2), traced(wrap_init(double), 2), calls
      (4, 4, [2])
    """
    # The results by function, which the table holds weakly. The key has no cells: equal functions
    # have different ones, and those of a hit are filled from the cells of the call that is cached.
    tables = [_new_table()]

    @wraps(call)
    def cached(fun: WrappedFun, *args: object) -> Any:
        key = (fun.transforms, tuple(fun.params.items()), args)
        entry = tables[0].recall(fun.f, key)
        if entry is not None:
            result, stores = entry
            fun.populate_stores(stores)
            return result
        result = call(fun, *args)
        tables[0].put(fun.f, key, (result, fun.stores))
        return result

    def cache_clear() -> None:
        tables[0] = _new_table()

    cached.cache_clear = cache_clear  # pyright: ignore[reportAttributeAccessIssue]
    cached.evict_function = lambda f: tables[0].drop(f)  # pyright: ignore[reportAttributeAccessIssue]
    return cached


# For each key a result, and the cells with the side results of the call that gave it.
def _new_table() -> TracedFunctions[Any, tuple[Any, tuple[Store | None, ...]]]:
    return TracedFunctions("results by wrapped function", _LIMIT)
