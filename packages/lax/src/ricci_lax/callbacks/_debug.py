"""``debug.callback``, ``debug.print`` and ``debug.log``: inspect values at run time."""

import builtins
import logging
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Any, overload

import numpy as np

import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_autodiff import Tape
from ricci_batching import Axis
from ricci_lax.effects._tokens import debug_effect, debug_set, ordered_debug_effect
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._callback import FlatCallback, host_arrays, with_static
from ._vmap_methods import unrolled

__all__ = ["debug_callback", "debug_callback_p", "debug_log", "debug_print", "debug_print_p"]

logger = logging.getLogger("ricci.debug")
# Messages are for whoever has a handler, whatever level the root logger has.
logger.setLevel(logging.INFO)


# Rules that the primitives share: they call a Python function, and have no results.


def _jvp_of(primitive: ir.Primitive) -> Callable[..., Any]:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: object) -> tuple[list, list]:
        primitive.bind(*primals, **params)
        return [], []

    return jvp


def _linearize_of(primitive: ir.Primitive) -> Callable[..., Any]:
    def linearize(tape: Tape, primals: Sequence[Any], tangents: Sequence[Any], **params: object):
        primitive.bind(*primals, **params)
        return [], []

    return linearize


def _batch_of(primitive: ir.Primitive) -> Callable[..., Any]:
    def batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: object):
        unrolled(axis, args, dims, partial(primitive.bind, **params))
        return [], []

    return batch


def _lower(
    ctx: hlo.Lowering, operands: Sequence[hlo.Value], call: Callable[..., Any], partitioned: bool
) -> list[hlo.Value]:
    def fun(*arrays: ir.ArrayLike) -> tuple:
        call(*arrays)
        return ()

    outs = list(ctx.outs)
    write = partial(
        hlo.host_call, fun=fun, outs=outs, has_side_effect=True, partitioned=partitioned
    )
    if ctx.module.num_partitions == 1 or not hlo.axes_left():
        return write(ctx, operands=operands)
    if outs:
        raise ValueError(
            "debug.callback and debug.print: ordered effects are not supported in a shard_map over "
            f"some axes of a mesh, here without {', '.join(map(repr, hlo.axes_left()))}. Use "
            "ordered=False, or let the shard_map work on all axes."
        )
    hlo.once_along(ctx, operands, lambda inner, *xs: write(inner, operands=xs))
    return []


_shared: dict[str, Any] = {
    "abstract_eval": lambda *avals, **params: [],
    "multiple_results": True,
    "memo": False,
    "jvp": ir.derived(_jvp_of),
    "linearize": ir.derived(_linearize_of),
    # The backward pass does not have the values of linear operands: nothing is called.
    "transpose": lambda cts, *args, **params: [None] * len(args),
    "batch": ir.derived(_batch_of),
    "order": hlo.tokens_at(0),
}


# Callbacks


def _run_callback(*args: ir.ArrayLike, callback: FlatCallback, **params: object) -> list[Any]:
    callback(*host_arrays(args))
    return []


debug_callback_p: ir.Primitive = ir.define(
    "debug_callback",
    sharding=ir.by_program,
    effects=lambda params: frozenset({params["effect"]}),
    lower=lambda ctx, *xs, callback, effect, partitioned: _lower(ctx, xs, callback, partitioned),
    host=_run_callback,
    **_shared,
)


if TYPE_CHECKING:

    @overload
    def debug_callback(
        callback: Callable[..., object],
        *args: ir.PyTree,
        ordered: bool = False,
        partitioned: bool = False,
        **kwargs: object,
    ) -> None: ...
    @overload
    def debug_callback(
        callback: None = None, *, ordered: bool = False, partitioned: bool = False
    ) -> Callable[..., None]: ...


@ir.api_boundary
def debug_callback(
    callback: Callable[..., object] | None = None,
    *args: ir.PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: object,
) -> Any:
    """Call a Python function whenever execution reaches this call, with the values at this point.

    Results do not depend on it. Under ``vmap`` it is called for each example; under
    differentiation it is called with the primals, in the forward pass.

    Args:
      callback: the function to call; its result is ignored. If it is left out, ``debug_callback``
        returns itself with the options set.
      args, kwargs: its arguments: pytrees of arrays, and of anything else that is passed as it is.
      ordered: whether such calls are made in program order, also across executions.
      partitioned: on several devices, whether each calls with its shard of the
        arguments; by default one calls with the whole arrays.

    Returns:
      ``None``; without ``callback``, a function like ``debug.callback`` with the options set.

    Raises:
      TypeError: if ``callback`` is not a function.

    Example:
      Gradients that are collected as they are computed:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> norms = []
      >>> @ricci.jit
      ... def step(w):
      ...     gradient = ricci.grad(lambda w: jnp.sum(w**2))(w)
      ...     largest = jnp.max(gradient)
      ...     ricci.debug.callback(lambda g: norms.append(float(g)), largest, ordered=True)
      ...     return w - 0.25 * gradient
      >>> _ = step(step(jnp.array([4.0, 2.0])))
      >>> ricci.effects_barrier()
      >>> norms
      [8.0, 4.0]
    """
    if callback is None:
        return partial(debug_callback, ordered=ordered, partitioned=partitioned)
    if not callable(callback):
        raise TypeError(
            "debug.callback: the first argument must be a function, got "
            f"{callback!r:.60} of type {type(callback).__name__}."
        )
    arrays, static, tree = _split_static(args, kwargs)
    debug_callback_p.bind(
        *arrays,
        callback=FlatCallback(callback, tree, static),
        effect=ordered_debug_effect if ordered else debug_effect,
        partitioned=bool(partitioned),
    )
    return None


def _split_static(args: tuple, kwargs: dict) -> tuple[list[Any], tuple, PyTreeDef]:
    """The arrays among the leaves; the others, with their positions; and the structure."""
    leaves, tree = tree_flatten((args, kwargs))
    arrays, static = [], []
    for i, leaf in enumerate(leaves):
        try:
            ir.get_aval(leaf)
            arrays.append(leaf)
        except TypeError:
            static.append((i, leaf))
    return arrays, tuple(static), tree


# Printing


class _Checking(Formatter):
    """A formatter that only checks that a format string and its arguments match."""

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[str, int | str]:
        """Check that the argument of a field exists."""
        # Its attributes and items are looked up at run time: it may be traced now.
        name = re.split(r"[.\[]", field_name, maxsplit=1)[0]
        key = int(name) if name.isdigit() else name
        if isinstance(key, int) and key >= len(args):
            raise IndexError(
                f"debug.print: the format string has a place for positional argument {key}, but "
                f"{len(args)} were passed. Pass a value for it, or write {{{{ and }}}} for braces."
            )
        if isinstance(key, str) and key not in kwargs:
            raise KeyError(
                f"debug.print: the format string has a place for {key!r}, which is not among the "
                f"keyword arguments ({', '.join(kwargs) or 'none'})"
            )
        return "", key

    def format_field(self, value: object, format_spec: str) -> str:
        """Return an empty string: values are formatted at run time."""
        return ""

    def check_unused_args(
        self, used_args: Set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Check that each argument has a field."""
        unused = [str(i) for i in range(len(args)) if i not in used_args]
        if unused:
            raise ValueError(
                "debug.print: the format string has no place for positional argument "
                f"{', '.join(unused)}. Write {{}} where each is to appear."
            )
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"debug.print: the format string has no place for {', '.join(names)}. Write "
                f"{{{names[0]}}} where it is to appear, in a plain string: an f-string puts values "
                "in while the function is traced."
            )


def _message(
    arrays: Sequence[Any],
    fmt: str,
    in_tree: PyTreeDef,
    static_args: tuple,
    np_printoptions: tuple,
    has_placeholders: bool,
) -> str:
    args, kwargs = tree_unflatten(in_tree, with_static(arrays, static_args))
    with np.printoptions(**dict(np_printoptions)):
        if has_placeholders:
            return fmt.format(*args, **kwargs)
        named = (f"{name}={value}" for name, value in kwargs.items())
        return " ".join([fmt, *map(str, args), *named])


def _emit(message: str, record: logging.LogRecord | None) -> None:
    if record is None:
        # In one piece: several devices may print at once.
        builtins.print(f"{message}\n", end="")
        return
    formatted = logging.makeLogRecord({**record.__dict__, "msg": message})
    if logger.isEnabledFor(formatted.levelno):
        logger.handle(formatted)


def _run_print(
    *args: ir.ArrayLike,
    logging_record: logging.LogRecord | None,
    ordered: bool,
    partitioned: bool,
    **params: Any,
) -> list[Any]:
    _emit(_message(host_arrays(args), **params), logging_record)
    return []


def _print_lower(
    ctx: hlo.Lowering,
    *operands: hlo.Value,
    logging_record: logging.LogRecord | None,
    ordered: bool,
    partitioned: bool,
    **params: Any,
) -> list[hlo.Value]:
    call = lambda *arrays: _emit(_message(arrays, **params), logging_record)
    return _lower(ctx, operands, call, partitioned)


debug_print_p: ir.Primitive = ir.define(
    "debug_print",
    sharding=ir.by_program,
    effects=lambda params: debug_set[params["ordered"]],
    lower=_print_lower,
    host=_run_print,
    **_shared,
)


if TYPE_CHECKING:

    @overload
    def debug_print(
        fmt: str,
        *args: ir.PyTree,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        _use_logging: bool = False,
        **kwargs: ir.PyTree,
    ) -> None: ...
    @overload
    def debug_print(
        fmt: None = None,
        *,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        _use_logging: bool = False,
    ) -> Callable[..., None]: ...


@ir.api_boundary
def debug_print(
    fmt: str | None = None,
    *args: ir.PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: object,
) -> Any:
    """Print values whenever execution reaches this call.

    Args:
      fmt: a format string as for ``str.format``, not an f-string: values are put in when the
        values are computed. One without placeholders is printed unchanged. If it is left out,
        ``debug_print`` returns itself with the options set.
      args, kwargs: the values to put in: pytrees of arrays, and anything else.
      ordered: whether to print in program order, also across executions.
      partitioned: on several devices, whether each prints its shard of the values; by default
        one prints the whole arrays.
      skip_format_check: accept values for which the format has no placeholder; a format without
        placeholders is followed by the values.

    Returns:
      ``None``; without ``fmt``, a function like ``debug.print`` with the options set.

    Raises:
      TypeError: if ``fmt`` is not a string.
      ValueError: if it has no placeholder for an argument.
      IndexError, KeyError: if it has a placeholder without an argument.

    Example:
      In a compiled loop, for every iteration, in order:

      >>> import ricci
      >>> from ricci import debug, lax
      >>> @ricci.jit
      ... def halve(x):
      ...     def step(i, x):
      ...         debug.print("step {i}: {x:.2f}", i=i, x=x, ordered=True)
      ...         return x / 2
      ...     return lax.fori_loop(0, 3, step, x)
      >>> halve(1.0).block_until_ready()
      step 0: 1.00
      step 1: 0.50
      step 2: 0.25
      Array(0.125, dtype=float32, weak_type=True)

    Notes:
      An f-string is formatted while tracing, and prints tracers; so does ``print``. Printing is
      asynchronous: ``effects_barrier`` waits for pending output. Without ``ordered`` lines may be
      in another order, or from several devices at once.

    See also:
      ``debug.callback``, ``debug.log``, ``debug.breakpoint``.
    """
    if fmt is None:
        return partial(
            debug_print,
            ordered=ordered,
            partitioned=partitioned,
            skip_format_check=skip_format_check,
            _use_logging=_use_logging,
        )
    if not isinstance(fmt, str):
        raise TypeError(
            f"debug.print: the format must be a string, got {type(fmt).__name__}. "
            'Write debug.print("{}", x) to print x.'
        )
    if not skip_format_check:
        _Checking().vformat(fmt, args, kwargs)
    arrays, static, tree = _split_static(args, kwargs)
    debug_print_p.bind(
        *arrays,
        fmt=fmt,
        ordered=bool(ordered),
        partitioned=bool(partitioned),
        in_tree=tree,
        static_args=static,
        np_printoptions=tuple(np.get_printoptions().items()),
        has_placeholders=any(field is not None for _, field, _, _ in Formatter().parse(fmt)),
        logging_record=_record() if _use_logging else None,
    )
    return None


def _record() -> logging.LogRecord:
    source = ir.Source(*ir.caller_source(1))
    return logger.makeRecord(logger.name, logging.INFO, source.file, source.line, "", (), None)


if TYPE_CHECKING:

    @overload
    def debug_log(
        fmt: str,
        *args: ir.PyTree,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        _use_logging: bool = True,
        **kwargs: ir.PyTree,
    ) -> None: ...
    @overload
    def debug_log(
        fmt: None = None,
        *,
        ordered: bool = False,
        partitioned: bool = False,
        skip_format_check: bool = False,
        _use_logging: bool = True,
    ) -> Callable[..., None]: ...


@ir.api_boundary
def debug_log(
    fmt: str | None = None,
    *args: ir.PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = True,
    **kwargs: object,
) -> Any:
    """Log values whenever execution reaches this call: ``debug.print`` to a logger.

    The logger is ``ricci.debug``; messages have level ``INFO`` and the location of this call.

    Args:
      fmt, args, ordered, partitioned, skip_format_check, kwargs: as for ``debug.print``.

    Returns:
      ``None``; without ``fmt``, a function like ``debug.log`` with the options set.

    Example:
      >>> from ricci import debug
      >>> debug.log("loss {}", 1.0)
    """
    return debug_print(
        fmt,
        *args,
        ordered=ordered,
        partitioned=partitioned,
        skip_format_check=skip_format_check,
        _use_logging=_use_logging,
        **kwargs,
    )
