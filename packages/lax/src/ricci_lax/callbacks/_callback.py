"""``pure_callback`` and ``io_callback``: calls of Python functions from executables."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax.effects._tokens import io_set
from ricci_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value, axes_left, host_call, tokens_at

from ._vmap_methods import by_vmap_method, check_vmap_method, sequentially, vmap_methods

__all__ = ["io_callback", "io_callback_p", "pure_callback", "pure_callback_p"]
_log = logging.getLogger("ricci.callbacks")


class FlatCallback:
    """A Python function of pytrees, called with flat arrays.

    Two are equal if they call one function with arguments of one structure.

    Args:
      callback_func: the function.
      in_tree: the structure of its arguments, ``(args, kwargs)``.
      static: its arguments that are not arrays, with their positions.
    """

    __slots__ = ("callback_func", "in_tree", "static")

    def __init__(self, callback_func: Callable, in_tree: PyTreeDef, static: tuple = ()):
        self.callback_func = callback_func
        self.in_tree = in_tree
        self.static = static

    def __call__(self, *arrays: ir.ArrayLike) -> ir.PyTree:
        """Call the function, and return its result unchanged."""
        args, kwargs = tree_unflatten(self.in_tree, with_static(arrays, self.static))
        return self.callback_func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is FlatCallback
            and self.callback_func == other.callback_func
            and self.in_tree == other.in_tree
            and self.static == other.static
        )

    def __hash__(self) -> int:
        try:
            return hash(self.callback_func)
        except TypeError:
            return id(self.callback_func)

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree})"


def with_static(arrays: Sequence[Any], static: Sequence[tuple[int, Any]]) -> list[Any]:
    """Flat arguments: the arrays, and the static ones in their places."""
    leaves = list(arrays)
    for position, value in static:
        leaves.insert(position, value)
    return leaves


def name_of(fun: object) -> str:
    """The name of a function for messages."""
    return getattr(fun, "__name__", None) or repr(fun)


# Running


def host_arrays(args: Sequence[Any]) -> list[Any]:
    """Convert operands to arrays of the backend."""
    return [
        x
        if hasattr(type(x), "aval")
        else ir.backend().array(np.asarray(x, ir.get_aval(x).dtype), ir.get_aval(x))  # pyright: ignore
        for x in args
    ]


def checked_results(
    what: str, callback: FlatCallback, out: ir.PyTree, avals: Sequence[Any]
) -> list[np.ndarray]:
    """The result of a callback as NumPy arrays, checked against the types that were declared.

    Raises:
      CallbackError: if there are more or fewer arrays, or one is of another type.
    """
    leaves = tree_flatten(out)[0]
    name = name_of(callback.callback_func)
    if len(leaves) != len(avals):
        raise ir.CallbackError(
            f"{what}: {name} returned {len(leaves)} arrays, but result_shape_dtypes has "
            f"{len(avals)}. Return the structure that result_shape_dtypes has."
        )
    results = []
    for i, (leaf, aval) in enumerate(zip(leaves, avals, strict=True)):
        value = np.asarray(leaf)
        # NumPy computes in 64 bits by default: results are narrowed as any array of the user's
        # would be.
        if value.dtype != aval.dtype and ir.canonicalize_dtype(value.dtype) == aval.dtype:
            value = value.astype(aval.dtype)
        if value.shape != aval.shape or value.dtype != aval.dtype:
            paths = tree_flatten_with_path(out)[0]
            raise ir.CallbackError(
                f"{what}: {name} returned the wrong type for result #{i}{keystr(paths[i][0])}:\n"
                f"  Expected: {aval.str_short()}\n"
                f"  Actual: {value.dtype.name}[{','.join(map(str, value.shape))}]\n"
                "Convert it in the callback, or say so in result_shape_dtypes."
            )
        results.append(value)
    return results


def _logged(what: str, callback: FlatCallback, *arrays: ir.ArrayLike) -> ir.PyTree:
    """Call the function, and log its exception, which the runtime replaces by another."""
    try:
        return callback(*arrays)
    except Exception:
        _log.exception("%s of %s failed", what, name_of(callback.callback_func))
        raise


def _runner(what: str) -> Callable[..., list[Any]]:
    """Make the eager rule, which calls the function immediately."""

    def run(
        *args: ir.ArrayLike, callback: FlatCallback, result_avals: tuple, **params: object
    ) -> list[Any]:
        try:
            out = _logged(what, callback, *map(_strong, host_arrays(args)))
        except Exception as error:
            name = name_of(callback.callback_func)
            raise ir.CallbackError(
                f"{what}: {name} failed. {type(error).__name__}: {error}"
            ) from error
        return checked_results(what, callback, out, result_avals)

    return run


def _strong(x: ir.Array) -> ir.Array:
    """An array that is not weakly typed."""
    return ir.backend().array(np.asarray(x), x.aval.update(weak_type=False)) if x.weak_type else x


def _writer(what: str) -> Callable[..., list[Value]]:
    """Make the lowering rule: the executable calls the function on the host."""

    def lower(
        ctx: Lowering,
        *operands: Value,
        callback: FlatCallback,
        result_avals: tuple,
        sharding: object,
        ordered: bool = False,
        **params: object,
    ) -> list[Value]:
        outs = list(ctx.outs)
        effectful = what == "io_callback"
        # A pure function without results need not be called.
        if not outs and not effectful:
            return []
        if axes_left():
            raise NotImplementedError(
                f"{what}: callbacks are only supported where a shard_map works on all mesh axes, "
                f"but this one leaves {', '.join(map(repr, axes_left()))} to the compiler. Leave "
                f"out axis_names, or call {name_of(callback.callback_func)} outside of the "
                "shard_map."
            )
        fun = lambda *arrays: checked_results(
            what, callback, _logged(what, callback, *arrays), result_avals
        )
        return host_call(
            ctx, fun, operands, outs, has_side_effect=effectful, device=_device_of(sharding)
        )

    return lower


def _device_of(sharding: Any) -> int:
    if sharding is None:
        return 0
    (device,) = sharding.device_set
    return device.id


# Batching


def _pure_batch(axis, args, dims, *, callback, result_avals, sharding, vmap_method):
    params = {"callback": callback, "sharding": sharding, "vmap_method": vmap_method}
    if vmap_method is None:
        raise NotImplementedError(
            "pure_callback has no vmap_method, which says how vmap calls "
            f"{name_of(callback.callback_func)} for a batch. Pass one of "
            f"{', '.join(map(repr, vmap_methods))}."
        )
    apply = lambda avals, _, *xs: pure_callback_p.bind(*xs, result_avals=avals, **params)
    return by_vmap_method(axis, args, dims, vmap_method, result_avals, apply)


def _io_batch(axis, args, dims, *, ordered, **params):
    if ordered:
        raise ValueError(
            "io_callback(..., ordered=True) cannot be used under vmap: the examples of a batch "
            "have no order. Use ordered=False, or loop over them with lax.map or lax.scan."
        )
    apply = lambda *xs: io_callback_p.bind(*xs, ordered=ordered, **params)
    return sequentially(axis, args, dims, apply, False)


# The primitives

_no_pure_derivative = ir.unsupported(
    "the derivative of a Python function is not known. Wrap the function that calls it in "
    "custom_jvp or custom_vjp, and give its derivative there",
    ValueError,
)
_no_io_derivative = ir.unsupported(
    "the derivative of a Python function is not known. Stop the gradient of its arguments with "
    "lax.stop_gradient, or give a derivative with custom_jvp or custom_vjp",
    ValueError,
)

pure_callback_p: ir.Primitive = ir.define(
    "pure_callback",
    sharding=ir.without_sharding,
    abstract_eval=lambda *avals, result_avals, **_: list(result_avals),
    multiple_results=True,
    memo=False,
    jvp=_no_pure_derivative,
    linearize=_no_pure_derivative,
    transpose=_no_pure_derivative,
    batch=_pure_batch,
    lower=_writer("pure_callback"),
    host=_runner("pure_callback"),
)

io_callback_p: ir.Primitive = ir.define(
    "io_callback",
    sharding=ir.without_sharding,
    abstract_eval=lambda *avals, result_avals, **_: list(result_avals),
    multiple_results=True,
    memo=False,
    effects=lambda params: io_set[params["ordered"]],
    jvp=_no_io_derivative,
    linearize=_no_io_derivative,
    transpose=_no_io_derivative,
    batch=_io_batch,
    lower=_writer("io_callback"),
    order=tokens_at(0),
    host=_runner("io_callback"),
)


# The functions


def _result_types(
    what: str, result_shape_dtypes: ir.PyTree
) -> tuple[tuple[ir.ShapedArray, ...], PyTreeDef]:
    """The declared types of a callback's results, checked, and their structure."""
    leaves, tree = tree_flatten(result_shape_dtypes)
    avals = []
    for i, leaf in enumerate(leaves):
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            path = keystr(tree_flatten_with_path(result_shape_dtypes)[0][i][0])
            raise TypeError(
                f"{what}: result_shape_dtypes{path} must have a shape and a dtype, got "
                f"{leaf!r:.60} of type {type(leaf).__name__}. Pass ShapeDtypeStruct(shape, dtype)."
            )
        if ir.canonicalize_dtype(leaf.dtype) != np.dtype(leaf.dtype):
            path = keystr(tree_flatten_with_path(result_shape_dtypes)[0][i][0])
            raise ValueError(
                f"{what}: result_shape_dtypes{path} has the 64-bit dtype {np.dtype(leaf.dtype)}, "
                f"and 64-bit types are off. Ask for {ir.canonicalize_dtype(leaf.dtype)}, or switch "
                "them on with enable_x64."
            )
        avals.append(ir.ShapedArray(tuple(leaf.shape), np.dtype(leaf.dtype)))
    return tuple(avals), tree


def _operands(
    what: str, callback: object, args: tuple, kwargs: dict
) -> tuple[list[Any], PyTreeDef]:
    """The leaves of the arguments, checked to be arrays, and their structure."""
    if not callable(callback):
        raise TypeError(
            f"{what}: the first argument must be a function, got {callback!r:.60} of type "
            f"{type(callback).__name__}."
        )
    leaves, tree = tree_flatten((args, kwargs))
    for i, leaf in enumerate(leaves):
        try:
            ir.get_aval(leaf)
        except TypeError:
            path = keystr(tree_flatten_with_path((args, kwargs))[0][i][0])
            raise TypeError(
                f"{what}: (args, kwargs){path} is {leaf!r:.60}, of type {type(leaf).__name__}, "
                "which is not an array. Pass it to the callback with functools.partial."
            ) from None
    return leaves, tree


@ir.api_boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: ir.PyTree,
    *args: ir.PyTree,
    sharding: object = None,
    vmap_method: str | None = None,
    **kwargs: object,
) -> ir.PyTree:
    """Call a pure Python function from an executable.

    The call may be left out if its results are unused, or made several times.

    Args:
      callback: a function of pytrees of arrays; it returns arrays, or what NumPy makes arrays of.
      result_shape_dtypes: the types of its results, a pytree of ``ShapeDtypeStruct`` or arrays.
      args, kwargs: its arguments, pytrees of arrays.
      sharding: on several devices, a sharding on the one device that calls.
      vmap_method: how ``vmap`` calls it: once for each example (``"sequential"``,
        ``"sequential_unrolled"``); or once for all, with a leading batch dimension on every
        argument, of size 1 where it is not mapped (``"expand_dims"``), of full size
        (``"broadcast_all"``), or left out there (``"legacy_vectorized"``).

    Returns:
      The result of ``callback``, in the structure of ``result_shape_dtypes``: arrays of the shapes
      and dtypes specified there.

    Raises:
      ValueError: for another ``vmap_method``; when differentiated.
      TypeError: if ``callback`` is not callable, or an argument not an array.
      RuntimeError: when run, if ``callback`` raises or returns other types.

    Example:
      A function of NumPy inside a compiled function. Its derivative is given by a rule, since it
      cannot be derived.

      >>> import numpy as np
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @ricci.custom_jvp
      ... def interpolate(x):
      ...     result = ricci.ShapeDtypeStruct(x.shape, x.dtype)
      ...     at = lambda x: np.interp(x, [0.0, 1.0], [0.0, 2.0]).astype(x.dtype)
      ...     return ricci.pure_callback(at, result, x, vmap_method="expand_dims")
      >>> interpolate.defjvps(lambda t, out, x: jnp.where((x > 0) & (x < 1), 2.0, 0.0) * t)
      >>> ricci.jit(ricci.vmap(interpolate))(jnp.array([0.25, 0.5, 7.0])).tolist()
      [0.5, 1.0, 2.0]
      >>> float(ricci.grad(interpolate)(jnp.array(0.5)))
      2.0

    Notes:
      The result's dtype must be the one that is stated: NumPy computes in float64, so convert.

      Side effects may be lost, since the compiler may drop or repeat the call: use ``io_callback``
      for these.

    See also:
      ``io_callback``, ``debug.callback``; ``ffi``, for compiled functions.
    """
    check_vmap_method("pure_callback", vmap_method)
    leaves, tree = _operands("pure_callback", callback, args, kwargs)
    avals, out_tree = _result_types("pure_callback", result_shape_dtypes)
    outs = pure_callback_p.bind(
        *leaves,
        callback=FlatCallback(callback, tree),
        result_avals=avals,
        sharding=_checked_sharding("pure_callback", sharding),
        vmap_method=vmap_method,
    )
    return tree_unflatten(out_tree, outs)


@ir.api_boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: ir.PyTree,
    *args: ir.PyTree,
    sharding: object = None,
    ordered: bool = False,
    **kwargs: object,
) -> ir.PyTree:
    """Call a Python function with side effects from an executable, once in each execution.

    Args:
      callback: a function of pytrees of arrays; it returns arrays, or what NumPy makes arrays of.
      result_shape_dtypes: the types of its results, a pytree of ``ShapeDtypeStruct`` or arrays;
        ``None`` if it has no results.
      args, kwargs: its arguments, pytrees of arrays.
      sharding: on several devices, a sharding on the one device that calls.
      ordered: whether such calls are made in program order, also across executions.

    Returns:
      The result of ``callback``, in the structure of ``result_shape_dtypes``.

    Raises:
      ValueError: when differentiated; under ``vmap`` if ``ordered``.
      TypeError: if ``callback`` is not callable, or an argument not an array.
      RuntimeError: when run, if ``callback`` raises or returns other types.

    Example:
      Reading a batch inside of a compiled loop; each call gives the next one, in order.

      >>> import numpy as np
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> from ricci.experimental import io_callback
      >>> batches = iter(np.arange(6, dtype=np.float32).reshape(3, 2))
      >>> @ricci.jit
      ... def total():
      ...     struct = ricci.ShapeDtypeStruct((2,), jnp.float32)
      ...     def step(_, total):
      ...         return total + io_callback(lambda: next(batches), struct, ordered=True)
      ...     return lax.fori_loop(0, 3, step, jnp.zeros(2))
      >>> total().tolist()
      [6.0, 9.0]

    See also:
      ``pure_callback``, for functions without side effects.
    """
    leaves, tree = _operands("io_callback", callback, args, kwargs)
    avals, out_tree = _result_types("io_callback", result_shape_dtypes)
    outs = io_callback_p.bind(
        *leaves,
        callback=FlatCallback(callback, tree),
        result_avals=avals,
        sharding=_checked_sharding("io_callback", sharding),
        ordered=bool(ordered),
    )
    return tree_unflatten(out_tree, outs)


def _checked_sharding(what: str, sharding: object) -> Any:
    if sharding is None or len(getattr(sharding, "device_set", ())) == 1:
        return sharding
    raise NotImplementedError(
        f"{what}: sharding={sharding!r:.80} must be on one device, the one that makes the call: "
        "pass SingleDeviceSharding(device)."
    )
