"""Composite operations: a named operation, with a decomposition for compilers without it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._by_operation import evaluated_by_operation

__all__ = ["composite"]

_valid_name = r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+"


class HashableArray:
    """A NumPy array as a hashable parameter of a primitive; compared by value."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray):
        # A private copy that cannot be written, since its hash must not change.
        self.array = array.copy()
        self.array.setflags(write=False)

    def _key(self) -> tuple:
        return self.array.shape, self.array.dtype, self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableArray) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"HashableArray({self.array!r})"


def attribute(value: object) -> str:
    """A Python value, or a tree of them, as the text of an MLIR attribute.

    Raises:
      TypeError: if a part cannot be an attribute.

    Example:
      >>> from ricci_lax.staged_calls._composite import attribute
      >>> attribute({"size": 3, "scales": (1.5, 2.0)})
      '{scales = [1.5 : f64, 2.0 : f64], size = 3 : i64}'
    """
    if isinstance(value, HashableArray):
        value = value.array
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, str | bytes):
        return hlo.string(value if isinstance(value, str) else value.decode())
    if isinstance(value, Mapping):
        return f"{{{attribute_fields(value)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(attribute, value))}]"
    if isinstance(value, np.dtype):
        return hlo.element_type(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "U":
        return f"{hlo.dense(value)} : {hlo.tensor_type(ir.ShapedArray(value.shape, value.dtype))}"
    # The number inside of ``dense<…>``, as MLIR writes it.
    if isinstance(value, int | float | np.number) and np.asarray(value).dtype.kind != "c":
        scalar = np.asarray(value)
        return f"{hlo.dense(scalar)[6:-1]} : {hlo.element_type(scalar.dtype)}"
    raise TypeError(
        f"composite: the attribute {value!r}, of type {type(value).__name__}, has no form in "
        "StableHLO. Attributes are numbers, strings, dtypes, NumPy arrays, and lists and dicts of "
        "these; arrays that are computed must be arguments."
    )


def attribute_fields(values: Mapping[str, Any]) -> str:
    """The fields of a dictionary attribute, by name; those that are ``None`` are left out."""
    fields = sorted((key, value) for key, value in values.items() if value is not None)
    return ", ".join(f"{key} = {attribute(value)}" for key, value in fields)


def lower_composite(
    ctx: hlo.Lowering,
    name: str,
    operands: Sequence[hlo.Value],
    jaxpr: ir.Jaxpr,
    fields: str,
    version: int = 0,
) -> list[hlo.Value]:
    """Write ``stablehlo.composite``, and a private function with its decomposition.

    Args:
      name: the operation's name, in a namespace.
      jaxpr: the decomposition, which computes the same.
      fields: the attributes, from ``attribute_fields``.
      version: the operation's version.

    Raises:
      ValueError: if the name has no namespace.
    """
    if not re.fullmatch(_valid_name, name):
        raise ValueError(
            f"composite: {name!r} is not a valid operation name. Give it a namespace, as in "
            "'my_namespace.my_op'; parts consist of letters, digits and underscores."
        )
    if ctx.dimensions_of(jaxpr):  # a composite operation has no operands for dimensions
        return ctx.call(jaxpr, name, operands)
    symbol, outs = ctx.module.function_for(jaxpr, name), jaxpr.out_avals
    attributes = [f"composite_attributes = {{{fields}}}"] if fields else []
    attributes.append(f"decomposition = @{symbol}")
    if version:
        attributes.append(f"version = {version} : i32")
    return ctx.append(
        "stablehlo.composite",
        f" {hlo.string(name)} {', '.join(map(str, operands))}",
        outs,
        hlo.signature(operands, outs),
        annotations=", ".join(attributes),
    )


def _composite_lower(
    ctx: hlo.Lowering, *operands: hlo.Value, call_jaxpr, name, version, attributes
):
    values = {key: tree_unflatten(tree, leaves) for key, leaves, tree in attributes}
    return lower_composite(ctx, name, operands, call_jaxpr, attribute_fields(values), version)


composite_p = ir.define(
    "composite",
    abstract_eval=lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    jvp=ir.unsupported(
        "an operation may be more than its decomposition, so that its derivative is not known; "
        "give it one with custom_jvp or custom_vjp around the composite",
        ValueError,
    ),
    transpose=ir.unsupported(
        "an operation may be more than its decomposition, so that it is not known to be linear"
    ),
    batch=ir.unsupported(
        "a compiler that knows the operation may know no batch of it; map over its decomposition "
        "instead, or give it a batched form with custom_vmap"
    ),
    lower=_composite_lower,
    shown=lambda **params: sorted(params.items()),
)


def composite[**P, R](decomposition: Callable[P, R], name: str, version: int = 0) -> Callable[P, R]:
    """Make a function one named operation, for compilers with a better implementation.

    Args:
      decomposition: a function of pytrees of arrays, which computes the same. Its keyword
        arguments are attributes of the operation: numbers, strings, dtypes, NumPy arrays, and
        lists and dicts of these.
      name: the operation's name, in a namespace: ``"my_namespace.my_op"``.
      version: the version of the operation.

    Returns:
      A function with the signature of ``decomposition``. It raises ``UnexpectedTracerError`` if
      an attribute, or a value that the decomposition closes over, is traced; and ``ValueError`` or
      ``NotImplementedError`` if it is differentiated or mapped over.

    Raises:
      TypeError: if ``decomposition`` is not a function.

    Example:
      The module names the operation, and has its decomposition:

      >>> import ricci
      >>> from ricci import lax
      >>> scaled_sum = lax.composite(lambda x, y, *, by: x * by + y, "example.scaled_sum")
      >>> float(scaled_sum(1.0, 2.0, by=3.0))
      5.0
      >>> text = ricci.jit(lambda x, y: scaled_sum(x, y, by=3.0)).lower(1.0, 2.0).as_text()
      >>> 'stablehlo.composite "example.scaled_sum"' in text
      True

    Source: StableHLO ``composite``.
    """

    if not callable(decomposition):
        raise TypeError(f"composite: the decomposition must be a function, got {decomposition!r}.")

    @ir.looks_like(decomposition)
    def call(*args: P.args, **attributes: P.kwargs) -> R:
        leaves, tree = tree_flatten(args)
        out_tree: Any = None

        def flat(*xs: ir.Array) -> list[Any]:
            nonlocal out_tree
            results, out_tree = tree_flatten(decomposition(*tree_unflatten(tree, xs), **attributes))
            return results

        fields = tuple((key, *_attribute_leaves(name, key, v)) for key, v in attributes.items())
        jaxpr = ir.trace_to_jaxpr(flat, [ir.get_aval(x) for x in leaves])
        if any(isinstance(x, ir.Tracer) for x in jaxpr.consts):
            raise ir.UnexpectedTracerError(
                f"composite {name!r}: its decomposition closes over a traced value. Pass that as "
                "an argument: the operation may depend on its arguments only."
            )
        operands = [*jaxpr.consts, *leaves]
        closed = ir.convert_constvars(jaxpr)
        results = evaluated_by_operation(closed, operands)
        if results is None:
            results = composite_p.bind(
                *operands, call_jaxpr=closed, name=name, version=version, attributes=fields
            )
        return tree_unflatten(out_tree, results)

    return call


def _attribute_leaves(name: str, key: str, value: ir.PyTree) -> tuple[tuple, PyTreeDef]:
    """An attribute as hashable leaves, and their structure."""
    leaves, tree = tree_flatten(value)
    for leaf in leaves:
        if isinstance(leaf, ir.Tracer):
            raise ir.UnexpectedTracerError(
                f"composite {name!r}: its attribute {key!r} is a traced value. Pass that as an "
                "argument, or use a NumPy array: attributes must be known while tracing."
            )
    hashable = (HashableArray(x) if isinstance(x, np.ndarray) else x for x in leaves)
    return tuple(hashable), tree
