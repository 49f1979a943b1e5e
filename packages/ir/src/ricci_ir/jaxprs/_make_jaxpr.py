"""``make_jaxpr`` and ``eval_shape``: the jaxpr of a function of pytrees, and its result types."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import ricci_pytree as pytree
from ricci_ir._argnums import resolve_argnums
from ricci_ir._config import debug_key_reuse, no_tracing
from ricci_ir._errors import UnexpectedTracerError
from ricci_ir._key_checks import check_key_reuse
from ricci_ir._traceback_filtering import api_boundary
from ricci_ir.traces import (
    Array,
    ArrayLike,
    PyTree,
    check_distinct,
    context,
    extend_axes,
    set_trace,
)
from ricci_ir.types import (
    AbstractValue,
    ShapedArray,
    ShapeDtypeStruct,
    argument_aval,
    described_type,
    result_aval,
)

from ._jaxpr import DebugInfo, Jaxpr
from ._staged_call import describers
from ._staging import JaxprTrace, TypeTrace, trace_to_jaxpr

__all__ = ["check_pair", "check_results", "eval_shape", "make_jaxpr"]

# Positions and names of static arguments.
type _Static = tuple[tuple[int, ...], tuple[str, ...]]
_NO_STATIC: _Static = ((), ())

if TYPE_CHECKING:

    @overload
    def make_jaxpr(
        fun: Callable[..., Any],
        static_argnums: int | Sequence[int] = (),
        axis_env: Sequence[tuple[Any, int]] | None = None,
        return_shape: Literal[False] = False,
    ) -> Callable[..., Jaxpr]: ...
    @overload
    def make_jaxpr(
        fun: Callable[..., Any],
        static_argnums: int | Sequence[int] = (),
        axis_env: Sequence[tuple[Any, int]] | None = None,
        *,
        return_shape: Literal[True],
    ) -> Callable[..., tuple[Jaxpr, Any]]: ...


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return a function that traces ``fun`` and returns its jaxpr instead of its result.

    Args:
      fun: a function of pytrees of arrays.
      static_argnums: positions of arguments that are passed unchanged, also where a call passes
        them by name; they must be hashable.
      axis_env: names and sizes of axes that collectives in ``fun`` may refer to.
      return_shape: whether to return a pytree of ``ShapeDtypeStruct`` as well.

    Returns:
      A function of ``fun``'s arguments (or of anything with ``shape`` and ``dtype`` in place of
      arrays) that returns a ``Jaxpr``, or a jaxpr and the shapes of the result.

    Raises:
      TypeError: if an argument or a result is not an array.
      ValueError: if ``fun`` has no such argument, or a static argument is not hashable.

    Example:
      The jaxpr of a gradient, as ``jit`` would compile it:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ricci.make_jaxpr(ricci.grad(lambda x: jnp.sin(x) * 2.0))(1.0)
      { lambda ; a:f32[]. let
          b:f32[] = sin a
          c:f32[] = cos a
          _:f32[] = mul b 2.0:f32[]
          d:f32[] = mul 1.0:f32[] 2.0:f32[]
          e:f32[] = mul d c
        in (e,) }

    Notes:
      Arrays that the function closes over are constants of the jaxpr, in ``jaxpr.consts``. Nothing
      is compiled or computed.

    See also:
      ``eval_shape``, for types alone; ``jit(f).trace(...)`` and ``.lower(...)``, for the later
      stages.
    """
    _check_callable(fun)
    static = resolve_argnums(fun, "static", static_argnums)
    axes = None if axis_env is None else [(name, size) for name, size in axis_env]

    @api_boundary
    def jaxpr_fun(*args: object, **kwargs: object) -> Any:
        if axes is None:
            jaxpr, out_tree = _trace(fun, static, args, kwargs)
        else:
            with extend_axes(axes):
                jaxpr, out_tree = _trace(fun, static, args, kwargs)
        if debug_key_reuse.value:
            check_key_reuse.call(jaxpr)
        return (jaxpr, _described(jaxpr, out_tree)) if return_shape else jaxpr

    jaxpr_fun.__name__ = jaxpr_fun.__qualname__ = f"make_jaxpr({_name(fun)})"
    return jaxpr_fun


@overload
def eval_shape(
    fun: Callable[[Array], ArrayLike], x: Array | ShapeDtypeStruct, /
) -> ShapeDtypeStruct: ...
@overload
def eval_shape(
    fun: Callable[..., ArrayLike], *args: object, **kwargs: object
) -> ShapeDtypeStruct: ...
@overload
def eval_shape[K](
    fun: Callable[..., dict[K, Array]], *args: object, **kwargs: object
) -> dict[K, ShapeDtypeStruct]: ...
@overload
def eval_shape(
    fun: Callable[..., list[Array]], *args: object, **kwargs: object
) -> list[ShapeDtypeStruct]: ...
@overload
def eval_shape(fun: Callable[..., Any], *args: object, **kwargs: object) -> PyTree: ...
@api_boundary
def eval_shape(fun: Callable[..., Any], *args: object, **kwargs: object) -> PyTree:
    """The shapes and dtypes of the results of ``fun(*args, **kwargs)``, without computing them.

    Args:
      fun: a function of pytrees of arrays.
      args, kwargs: its arguments; anything with ``shape`` and ``dtype`` may stand for an array.

    Returns:
      A pytree like the result, with a ``ShapeDtypeStruct`` in place of each array. Those of a
      jitted function have the shardings that its ``out_shardings`` give.

    Raises:
      TypeError: if an argument or a result is not an array.

    Example:
      The parameters of a large network, without making them; a shape error shows at once:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def init(key):
      ...     w = ricci.random.normal(key, (50000, 4096))
      ...     return {"w": w, "b": jnp.zeros(4096, jnp.bfloat16)}
      >>> types = ricci.eval_shape(init, ricci.random.key(0))
      >>> types["w"]
      ShapeDtypeStruct(shape=(50000, 4096), dtype=float32)
      >>> sum(t.size * t.dtype.itemsize for t in ricci.tree.leaves(types))
      819208192
    """
    _check_callable(fun)
    describe = describers.get(type(fun))
    if describe is not None:
        try:
            return describe(fun, *args, **kwargs)
        except UnexpectedTracerError:
            # Inside of this trace, a tracer of a trace that has ended is an operand with a type.
            with set_trace(TypeTrace(context.trace)):
                return describe(fun, *args, **kwargs)
    return _described(*_trace(fun, _NO_STATIC, args, kwargs, TypeTrace))


def _trace(
    fun: Callable[..., Any],
    static: _Static,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kind: type[JaxprTrace] = JaxprTrace,
) -> tuple[Jaxpr, Any]:
    """Return the jaxpr of a call, and the structure of the result.

    Args:
      static: the positions and the names of static arguments.
    """
    if no_tracing.value:
        raise RuntimeError(f"{_name(fun)} cannot be traced: the option jax_no_tracing forbids it.")
    fixed, fixed_options = _static_values(static, args, kwargs, fun)
    # None has no leaves, so it can replace a static argument.
    dynamic = tuple([None if i in fixed else x for i, x in enumerate(args)]) if fixed else args
    if fixed_options:
        kwargs = {name: x for name, x in kwargs.items() if name not in fixed_options}
    leaves, tree = pytree.tree_flatten((dynamic, kwargs))
    paths = pytree.argument_paths(dynamic, kwargs, fun)
    avals = _argument_avals(leaves, paths, fun)
    out_tree: Any = None

    def flat_fun(*flat: object) -> list[Any]:
        nonlocal out_tree
        positional, options = pytree.tree_unflatten(tree, flat)
        if fixed:
            positional = [fixed.get(i, x) for i, x in enumerate(positional)]
        out = fun(*positional, **options, **fixed_options)
        results, out_tree = pytree.tree_flatten(out)
        check_results(_name(fun), results, out)
        return results

    debug_info = DebugInfo("make_jaxpr", _name(fun), tuple(paths))
    jaxpr = trace_to_jaxpr(flat_fun, avals, debug_info, kind=kind)
    check_distinct(_name(fun), [*jaxpr.consts, *leaves], lambda: paths)
    return jaxpr, out_tree


def _static_values(
    static: _Static, args: tuple[Any, ...], kwargs: dict[str, Any], fun: Callable[..., Any]
) -> tuple[dict[int, Any], dict[str, Any]]:
    """Return the values of static arguments of a call, by position and by name."""
    numbers, names = static
    count = len(args)
    # An argument with a default may be missing.
    by_position = {n % count: args[n] for n in numbers if -count <= n < count}
    by_name = {name: kwargs[name] for name in names if name in kwargs}
    for key, value in (*by_position.items(), *by_name.items()):
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"static argument {key} of {_name(fun)} must be hashable, but it is of type "
                f"{type(value).__name__}: {value!r}. Pass a tuple in place of a list, or make it "
                "an argument that is not static."
            ) from None
    return by_position, by_name


def _argument_avals(
    leaves: Sequence[Any], paths: Sequence[str], fun: Callable[..., Any]
) -> list[AbstractValue]:
    avals = []
    for leaf, path in zip(leaves, paths, strict=True):
        try:
            avals.append(argument_aval(leaf))
        except TypeError:
            raise TypeError(
                f"argument {path} of {_name(fun)} cannot be traced as an array: it is of type "
                f"{type(leaf)}. Pass an array, a NumPy array, a Python scalar or a "
                "ShapeDtypeStruct; mark what is not an array as static (static_argnums)."
            ) from None
    return avals


def check_results(subject: str, results: Sequence[object], out: object) -> None:
    """Check that all leaves of a function's result are arrays.

    Args:
      subject: the function's name in messages.
      results: the leaves of the result.
      out: the result itself.

    Raises:
      TypeError: if a leaf is not an array; the message names the first one.
    """
    for i, leaf in enumerate(results):
        try:
            result_aval(leaf)
        except TypeError:
            path = pytree.keystr(pytree.tree_flatten_with_path(out)[0][i][0])
            location = f" at output{path}" if path else ""
            raise TypeError(
                f"{subject} returned a value of type {type(leaf)}{location}, which is not an "
                "array. Return arrays, scalars, or pytrees of them."
            ) from None


def check_pair(
    value: object, subject: str, parts: str, error: type[Exception] = TypeError
) -> tuple[Any, Any]:
    """Return the two elements of a function's result, which must be a pair.

    Args:
      value: the result.
      subject: the function's name in messages.
      parts: the elements' names in messages, such as ``(output, aux)``.
      error: the class of the error for another result.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise error(
            f"{subject} must return a pair {parts}, but it returned {type(value).__name__}."
        )
    return value[0], value[1]


def _described(jaxpr: Jaxpr, out_tree: pytree.PyTreeDef) -> PyTree:
    avals: list[Any] = jaxpr.out_avals
    described = [
        described_type(a) if isinstance(a, ShapedArray) else a  # a token
        for a in avals
    ]
    return pytree.tree_unflatten(out_tree, described)


def _check_callable(fun: object) -> None:
    if not callable(fun):
        raise TypeError(
            f"expected a function, got {fun!r} of type {type(fun).__name__}, which is not callable."
        )


def _name(fun: object) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__
