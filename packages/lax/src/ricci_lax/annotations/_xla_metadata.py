"""Attributes of operations for XLA, and the calls of jaxprs that carry them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import elementwise
from ricci_lax.control_flow._bodies import leaf_avals, trace_body
from ricci_lax.staged_calls._staged_call import call_rules
from ricci_pytree import argument_paths, tree_flatten, tree_map, tree_unflatten
from ricci_stablehlo import (
    Lowering,
    Metadata,
    Value,
    annotate_value,
    merged_metadata,
    thread_tokens,
    tokens_at,
)

__all__ = ["annotated_call", "call_annotated", "fuse_limit", "must_fuse_call", "set_xla_metadata"]
__all__ += ["xla_metadata_call", "xla_metadata_call2", "xla_metadata_call_p"]
__all__ += ["xla_metadata_value_p"]


def annotated_call(
    name: str,
    lower: Callable[..., Sequence[Value]],
    derived: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> ir.Primitive:
    """A primitive that calls its ``jaxpr``; derivatives and batches of a call bind it again.

    Operands: the jaxpr's arguments.

    Args:
      name: the primitive's name.
      lower: ``lower(ctx, *operands, jaxpr, **params)``.
      derived: returns the parameters of the call that computes only tangents or cotangents, for
        those of the call that is differentiated.

    Returns:
      The primitive.
    """

    primitive = ir.define(
        name,
        abstract_eval=lambda *avals, jaxpr, **_: jaxpr.out_avals,
        multiple_results=True,
        sharding=ir.by_program,
        memo=False,
        effects=lambda params: params["jaxpr"].effects,
        **call_rules(lambda: primitive, "jaxpr", derived),
        lower=lower,
        program=lambda *, jaxpr, **_: (jaxpr, name),
        dead_code=ir.live_call,
        order=tokens_at(0, jaxpr=lambda eqn, effects: thread_tokens(eqn.params["jaxpr"], effects)),
    )
    return primitive


def call_annotated(primitive: ir.Primitive, fun: Callable[..., Any], **params: object) -> Any:
    """A function that calls ``fun`` by a primitive of ``annotated_call``.

    Args:
      primitive: the primitive.
      fun: a function of pytrees of arrays.
      params: the primitive's parameters besides ``jaxpr``.

    Returns:
      A function of the same arguments and results.
    """
    unpacked = lambda args, options: fun(*args, **options)
    unpacked = ir.looks_like(fun)(unpacked)

    @ir.looks_like(fun)
    def call(*args: object, **options: object) -> Any:
        leaves, tree = tree_flatten((args, options))
        paths = lambda: argument_paths(args, options, fun)
        avals = leaf_avals(primitive.name, paths, leaves)
        body = trace_body(primitive.name, unpacked, tree, avals, allowed=None)
        outs = primitive.bind(*body.consts, *leaves, jaxpr=body.jaxpr, **params)
        return tree_unflatten(body.out_tree, outs)

    return call


def _texts(what: str, metadata: Mapping[str, Any]) -> Metadata:
    """Attributes as texts, sorted by name."""
    for name, value in metadata.items():
        if not isinstance(value, str | bool | int | float):
            raise TypeError(
                f"{what}: expected a string, a bool, an int or a float as the value of {name!r}, "
                f"got {value!r} of type {type(value).__name__}"
            )
    text = lambda value: str(value).lower() if isinstance(value, bool) else str(value)
    return tuple(sorted((name, text(value)) for name, value in metadata.items()))


def _value_lower(ctx: Lowering, x: Value, *, xla_metadata_kvs: Metadata) -> Value:
    metadata = merged_metadata(ir.operation_metadata.value, xla_metadata_kvs)
    annotate_value(ctx.operations, x, metadata)
    return x


xla_metadata_value_p: ir.Primitive = ir.define(
    "xla_metadata_value",
    sharding=ir.by_element,
    abstract_eval=lambda x, *, xla_metadata_kvs: x,
    jvp=linear,
    transpose=lambda ct, x, *, xla_metadata_kvs: [ct],
    batch=elementwise,
    lower=_value_lower,
    reference=lambda x, *, xla_metadata_kvs: x,
)


def _call_lower(
    ctx: Lowering, *operands: Value, jaxpr: ir.Jaxpr, xla_metadata: Metadata, ad_metadata: object
) -> list[Value]:
    # The operations inside have only the attributes that they were traced with.
    return ctx.call(jaxpr, "xla_metadata_call", operands, xla_metadata)


def _of_derivative(params: dict[str, Any]) -> dict[str, Any]:
    ad_metadata = params["ad_metadata"]
    # The derivative of a derivative keeps the attributes, so that the choice is made once.
    if ad_metadata == "same":
        return params
    return {"xla_metadata": ad_metadata, "ad_metadata": "same"}


xla_metadata_call_p: ir.Primitive = annotated_call("xla_metadata_call", _call_lower, _of_derivative)


@overload
def set_xla_metadata(x: None = None, **kwargs: object) -> Any: ...
@overload
def set_xla_metadata[T](x: T, **kwargs: object) -> T: ...
def set_xla_metadata(x: object = None, **kwargs: Any) -> Any:
    """Set attributes of operations that XLA reads: its ``frontend_attributes``.

    Attributes do not change results.

    Args:
      x: values, a pytree of arrays. The operations that compute them get the attributes, and the
        values are returned. Without it, the call is a context manager: operations that are traced
        inside of it get them, and those derived from these.
      kwargs: the attributes: strings, Booleans or numbers.

    Returns:
      The values, or a context manager.

    Raises:
      TypeError: if an attribute is none of these, or a leaf of ``x`` is not an array.

    Example:
      >>> from ricci import lax
      >>> with lax.set_xla_metadata(note="slow"):
      ...     y = lax.sin(0.0)
      >>> float(lax.set_xla_metadata(y, note="result"))
      0.0
    """
    metadata = _texts("set_xla_metadata", kwargs)
    if x is None:
        return _setting(metadata)

    def annotate(leaf: object) -> Any:
        ir.get_aval(leaf)
        if not metadata or not isinstance(leaf, ir.Tracer):
            return leaf  # it is computed already
        return xla_metadata_value_p.bind(leaf, xla_metadata_kvs=metadata)

    return tree_map(annotate, x)


@contextmanager
def _setting(metadata: Metadata) -> Iterator[None]:
    with ir.operation_metadata(merged_metadata(ir.operation_metadata.value, metadata)):
        yield


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: object) -> Any:
    """A function whose calls have attributes that XLA reads, and so have those of its derivatives.

    Args:
      f: a function of pytrees of arrays; without it, a decorator is returned.
      meta: the attributes of the call: strings, Booleans or numbers.

    Returns:
      A function of the same arguments and results, or a decorator.

    Raises:
      TypeError: if an attribute is none of these.

    Example:
      >>> from ricci import lax
      >>> f = lax.xla_metadata_call(lax.sin, note="slow")
      >>> float(f(0.0))
      0.0
    """
    if f is None:
        return lambda f: xla_metadata_call(f, **meta)
    return xla_metadata_call2(f, meta)


def xla_metadata_call2(
    f: Callable[..., Any] | None = None,
    /,
    metadata: Mapping[str, Any] | None = None,
    *,
    ad_metadata: Literal["same", "drop"] | Mapping[str, Any] = "same",
) -> Any:
    """``xla_metadata_call`` with separate attributes for the calls in derivatives.

    Args:
      f: a function of pytrees of arrays; without it, a decorator is returned.
      metadata: the attributes of the call.
      ad_metadata: those of calls that compute only tangents or cotangents: the ``"same"``, none
        (``"drop"``), or others.

    Returns:
      A function of the same arguments and results, or a decorator.

    Raises:
      TypeError: if an attribute is not a string, Boolean or number, or ``ad_metadata`` is none of
        these.

    Example:
      >>> from ricci.experimental.xla_metadata import xla_metadata_call2
      >>> f = xla_metadata_call2(lambda x: 2.0 * x, {"note": "slow"}, ad_metadata="drop")
      >>> float(f(3.0))
      6.0
    """
    if f is None:
        return lambda f: xla_metadata_call2(f, metadata, ad_metadata=ad_metadata)
    if ad_metadata == "drop":
        ad_metadata = {}
    if ad_metadata != "same" and not isinstance(ad_metadata, Mapping):
        raise TypeError(
            f"xla_metadata_call2: ad_metadata: expected 'same', 'drop' or a dict, got "
            f"{ad_metadata!r}"
        )
    what = "xla_metadata_call"
    texts = "same" if ad_metadata == "same" else _texts(what, ad_metadata)
    return call_annotated(
        xla_metadata_call_p, f, xla_metadata=_texts(what, metadata or {}), ad_metadata=texts
    )


def must_fuse_call(identifier: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Ask XLA to fuse the operations of a function into one: a decorator.

    Args:
      identifier: the name of the fusion.

    Returns:
      The decorator.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.xla_metadata import must_fuse_call
      >>> @must_fuse_call("softplus")
      ... def softplus(x):
      ...     return jnp.log1p(jnp.exp(x))
      >>> round(float(softplus(0.0)), 4)
      0.6931
    """
    return xla_metadata_call(MUST_FUSE=identifier)


def fuse_limit() -> Any:
    """Ask XLA not to fuse the operations inside with those outside: a context manager.

    Returns:
      The context manager.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.xla_metadata import fuse_limit
      >>> @ricci.jit
      ... def f(x):
      ...     with fuse_limit():
      ...         y = jnp.sin(x)
      ...     return y + 1.0
      >>> float(f(0.0))
      1.0
    """
    return set_xla_metadata(FUSE_LIMIT="true")
