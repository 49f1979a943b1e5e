"""Factories for elementwise primitives, and for the public functions that apply them.

Operands have one rank, with sizes of 1 repeated, or are scalars, which fit any shape. A tangent of
a smaller operand must be repeated (``repeat_to``) and its cotangent summed (``sum_to``). A rule
need not call these where it multiplies by something of the full shape.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import numpy as np

import ricci_ir as ir
from ricci_autodiff import linear, not_linear, per_operand, per_operand_with_result, zero_derivative
from ricci_batching import elementwise
from ricci_lax import structure
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.structure import _operand_types, broadcast_in_dim
from ricci_stablehlo import Lowering, Value, tensor_type


def scalar(value: complex, dtype: np.dtype, weak: bool = False) -> ir.ArrayLike:
    """A constant of a dtype, as a scalar that is a literal in jaxprs.

    Args:
      value: a Python number.
      dtype: the dtype; the value is rounded to it.
      weak: whether the constant is weakly typed. It is then a Python number, if Python numbers
        of its kind have that dtype.

    Example:
      >>> import numpy as np
      >>> from ricci_lax.elementwise._factories import scalar
      >>> scalar(2, np.dtype("float32"))
      np.float32(2.0)
    """
    if ir.is_symbolic_dim(value):
        return ir.primitives["convert_element_type"].bind(
            value, new_dtype=dtype, weak_type=weak, sharding=None
        )
    # A Python scalar stands for a weakly typed constant, if it has just this dtype.
    if weak:
        cls = ir.scalar_type_of(dtype)
        if ir.python_scalar_dtype(cls) == dtype:
            return cls(value)
    # Zeros are equal whatever their signs are, and are told apart by their text.
    rounded = _rounded(value, dtype) if value else _rounded(value, dtype, repr(value))
    return rounded if dtype.itemsize < 8 else ir.unnarrowed(rounded)


@lru_cache(maxsize=4096)
def _rounded(value: complex, dtype: np.dtype, text: str = "") -> ir.ArrayLike:
    return np.asarray(value).astype(dtype)[()]


def scalar_like(x: ir.ArrayLike, value: complex) -> ir.ArrayLike:
    """A constant of the dtype of ``x``, weakly typed if ``x`` is."""
    aval = _operand_types.array_aval(x)
    return scalar(value, aval.dtype, aval.weak_type)


def strong_like(x: ir.ArrayLike, value: complex) -> ir.ArrayLike:
    """A constant of the dtype of ``x``, weakly typed only if ``x`` is a weakly typed scalar.

    JAX has such constants in some derivatives, which are then not weak for arrays that are.
    """
    aval = _operand_types.array_aval(x)
    return scalar(value, aval.dtype, aval.weak_type and not aval.shape)


def filled_like(x: ir.ArrayLike, value: complex, weak: bool | None = None) -> ir.Array:
    """An array of the type of ``x``, or of another weak type, whose elements are all ``value``."""
    aval = _operand_types.array_aval(x)
    weak = aval.weak_type if weak is None else weak
    sharding = aval.type_sharding
    place = aval.sharding if sharding is not None and sharding.is_sharded else None
    return broadcast_in_dim(scalar(value, aval.dtype, weak), aval.shape, (), out_sharding=place)


def operands(*xs: ir.ArrayLike) -> tuple[ir.ArrayLike, ...]:
    """The operands, with Python numbers converted to the dtype of the first array among them.

    For functions that, unlike those of ``jax.lax``, let Python numbers take the arrays' dtype.

    Example:
      >>> import numpy as np
      >>> from ricci_lax.elementwise._factories import operands
      >>> operands(np.float16([1.0]), 2)
      (array([1.], dtype=float16), np.float16(2.0))
    """
    # The common case: arrays only.
    if not any(type(x) in _python_scalars for x in xs):
        return xs
    avals = [_operand_types.array_aval(x) for x in xs if type(x) not in _python_scalars]
    if not avals:
        return xs
    dtype, weak = avals[0].dtype, avals[0].weak_type
    return tuple(
        scalar(cast(complex, x), dtype, weak) if type(x) in _python_scalars else x for x in xs
    )


_python_scalars = frozenset({bool, int, float, complex})


def repeat_to(x: ir.ArrayLike, shape: ir.Shape) -> ir.ArrayLike:
    """``x``, which is a scalar or has sizes of 1 where ``shape`` has others, in that shape."""
    x_shape = _operand_types.shape_of(x)
    if x_shape == shape:
        return x
    # Dimensions of size 1 are dropped first, so that only new dimensions are repeated.
    equal = tuple(i for i, size in enumerate(x_shape) if size == shape[i])
    return broadcast_in_dim(structure.reshape(x, tuple(x_shape[i] for i in equal)), shape, equal)


def sum_to(ct: ir.ArrayLike, shape: ir.Shape) -> ir.ArrayLike:
    """The cotangent of an operand of shape ``shape`` that was repeated to the shape of ``ct``."""
    ct_shape = _operand_types.shape_of(ct)
    if ct_shape == shape:
        return ct
    # A scalar fits any shape, also of another rank, so that all dimensions are summed.
    if not shape:
        return structure.reduce_sum(ct, tuple(range(len(ct_shape))))
    axes = tuple(i for i, size in enumerate(ct_shape) if size != shape[i])
    return structure.reshape(structure.reduce_sum(ct, axes), shape)


class UnaryFunction(Protocol):
    """An elementwise function of one array."""

    def __call__(self, x: ir.ArrayLike, /) -> ir.Array: ...


class BinaryFunction(Protocol):
    """An elementwise function of two arrays, whose shapes broadcast."""

    def __call__(self, x: ir.ArrayLike, y: ir.ArrayLike, /) -> ir.Array: ...


def nary_aval(
    name: str, accepted: Sequence[type], result_dtype: Callable[[np.dtype], np.dtype] | None = None
) -> Callable[..., ir.ShapedArray]:
    """Abstract evaluation of an elementwise operation on operands of one dtype.

    Args:
      result_dtype: maps the operands' dtype to the result's, if that is another.
    """

    def abstract_eval(*avals: ir.ShapedArray, **params: object) -> ir.ShapedArray:
        for aval in avals:
            _operand_types.check_dtype(name, aval, accepted)
        _operand_types.check_same_dtype(name, *avals)
        dtype = avals[0].dtype
        return ir.ShapedArray(
            _operand_types.broadcast_result_shape(name, *avals),
            dtype if result_dtype is None else result_dtype(dtype),
            all(aval.weak_type for aval in avals),
        )

    return abstract_eval


def to_bool(dtype: np.dtype) -> np.dtype:
    """The result dtype of predicates."""
    return np.dtype(bool)


def real_part(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers of a dtype; real dtypes unchanged."""
    return _real_parts.get(dtype, dtype)


def complex_of(dtype: np.dtype) -> np.dtype:
    """The dtype of complex numbers whose parts have a dtype; complex dtypes unchanged."""
    return _complexes.get(dtype, dtype)


_complexes = {
    np.dtype("float32"): np.dtype("complex64"),
    np.dtype("float64"): np.dtype("complex128"),
}
_real_parts = {c: r for r, c in _complexes.items()}


def in_full_shape(ctx: Lowering, operands: Sequence[Value]) -> list[Value]:
    """The operands repeated to the shape of the result."""
    shape = ctx.outs[0].shape
    return [x if x.aval.shape == shape else ctx.broadcast_to(x, shape) for x in operands]


def lower_to(op: str) -> Callable[..., Value]:
    """The lowering to a StableHLO or CHLO operation on operands of full shape."""
    # CHLO's operations are printed with the types of all operands, StableHLO's in a short form.
    if not op.startswith("chlo."):
        return lambda ctx, *xs, **_: ctx.emit(op, in_full_shape(ctx, xs), ctx.outs[0])

    def lower(ctx: Lowering, *xs: Value, **params: object) -> Value:
        out = ctx.out
        full = in_full_shape(ctx, xs)
        types = f"{', '.join(tensor_type(x.aval) for x in full)} -> {tensor_type(out)}"
        return ctx.emit(op, full, out, types=types)

    return lower


def _without_params(rule: Callable[..., ir.ArrayLike] | None) -> Callable[..., ir.ArrayLike] | None:
    """A derivative rule that ignores the primitive's parameters."""
    return None if rule is None else lambda t, *xs, **_: rule(t, *xs)


def _composed(fun: Callable[..., ir.ArrayLike]) -> Callable[..., np.ndarray]:
    """The reference rule, for backends without a compiler, of a function of other primitives."""

    def rule(*operands: ir.ArrayLike, **params: object) -> np.ndarray:
        with ir.set_trace(ir.eval_trace):
            return np.asarray(fun(*operands, **params))

    return rule


def nary(
    name: str,
    op: str | Callable[..., Value],
    accepted: Sequence[type],
    *derivatives: Callable[..., ir.ArrayLike] | None,
    from_result: bool = False,
    **rules: Any,
) -> ir.Primitive:
    """A primitive that combines its operands element by element.

    Args:
      name: the primitive.
      op: the StableHLO or CHLO operation, or a lowering rule.
      accepted: the kinds of dtype it takes.
      derivatives: one for each operand, ``derivative(t, *operands)``: the tangent times the
        partial derivative. Without any, the derivative is zero everywhere.
      from_result: the derivatives are called as ``derivative(t, result, *operands)``.
      rules: rules that replace the family's.
    """
    if not derivatives:
        jvp: object = zero_derivative
    elif from_result:
        jvp = per_operand_with_result(*map(_without_params, derivatives))
    else:
        jvp = per_operand(*map(_without_params, derivatives))
    composition = getattr(op, "function", None)
    if composition is not None:
        rules = {"reference": _composed(composition), **rules}
    if rules.get("jvp") is linear:
        rules = {"sums": ir.linear_in_all, **rules}
    # Rules that the caller gives come last and win.
    rules = {
        "abstract_eval": nary_aval(name, accepted),
        "jvp": jvp,
        "transpose": not_linear,
        "batch": elementwise,
        "lower": lower_to(op) if isinstance(op, str) else op,
        "checkify": checks_nan,
        "sharding": ir.by_element,
        **rules,
    }
    return ir.define(name, **rules)


_docs = """{summary}

{args}

Returns:
  {returns}

Raises:
  TypeError: {raised}

Example:
  >>> {imports}
  >>> {example}
  {result}
{notes}"""
_of_one = {
    "returns": "An array of the shape of ``x``.",
    "raised": "if the operand is not an array, or its dtype is not accepted.",
    "notes": "",
}
_of_two = {
    "returns": "An array of the operands' shape, with sizes of 1 repeated.",
    "raised": "if the operands' dtypes differ or are not accepted, or their shapes do not fit.",
    "notes": """
Notes:
  The operands are scalars or have one rank, and one dtype. The function of that kind in
  ``ricci.numpy`` adds dimensions, and promotes dtypes.
""",
}


def document[F: Callable[..., Any]](
    function: F, name: str, module: str, summary: str, example: str, args: str
) -> F:
    """Set the name and the documentation of a function made by a factory."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    call, result = example.split(" -> ")
    imports = "from ricci import lax"
    if "jnp." in call:
        imports = f"import ricci.numpy as jnp\n  >>> {imports}"
    facts = {"summary": summary, "args": args, "imports": imports, "example": call}
    by_count = _of_two if args.startswith("Args:\n  x, y:") else _of_one
    function.__doc__ = _docs.format(result=result, **facts, **by_count)
    return function


def unary_function(
    primitive: ir.Primitive, summary: str, example: str, name: str = ""
) -> UnaryFunction:
    """The public function that applies a primitive to one array.

    Args:
      example: a call and its output, ``"float(lax.exp(0.0)) -> 1.0"``.
      name: the function's name, where it is not the primitive's.
    """
    bind = primitive.bind

    def apply(x: ir.ArrayLike) -> ir.Array:
        return bind(x)

    apply.bind = bind  # pyright: ignore[reportFunctionMemberAccess]
    name = name or primitive.name
    return document(apply, name, "ricci_lax", summary, example, "Args:\n  x: an array.")


def binary_function(
    primitive: ir.Primitive, summary: str, example: str, name: str = ""
) -> BinaryFunction:
    """The public function that applies a primitive to two arrays; see ``unary_function``."""
    bind = primitive.bind

    def apply(x: ir.ArrayLike, y: ir.ArrayLike) -> ir.Array:
        return bind(x, y)

    apply.bind = bind  # pyright: ignore[reportFunctionMemberAccess]
    name = name or primitive.name
    return document(apply, name, "ricci_lax", summary, example, "Args:\n  x, y: arrays.")
