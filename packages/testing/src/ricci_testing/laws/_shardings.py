"""The laws of ``sharding`` rules, which propagate or raise, and of ``sums`` rules."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import ricci_ir as ir
from ricci_testing.examples._example import Example

from ._types import assert_results_close, in_example_precision


class _Mesh:
    """The attributes of a mesh that sharding rules read."""

    shape: ClassVar[dict[str, int]] = {"x": 2}
    axis_names = ("x",)


_mesh = _Mesh()


@in_example_precision
def check_shardings(primitive: ir.Primitive, example: Example) -> str | None:
    """Check that sharded operands give sharded results or an error, and the same shapes.

    Each dimension of each operand is sharded in turn. So the primitive's rule must assign a factor
    to every dimension, and must not shard indivisible dimensions.

    Raises:
      AssertionError: if the results' types differ in more than their shardings.
    """
    avals: list[Any] = list(map(ir.get_aval, example.args))
    if example.axes or not all(isinstance(aval, ir.ShapedArray) for aval in avals):
        return "its operands have named axes or are not arrays"
    plain = example.result_avals(primitive)
    for i, aval in enumerate(avals):
        for dim, size in enumerate(aval.shape):
            if size % 2 or not size:
                continue
            parts = tuple(("x",) if d == dim else () for d in range(aval.ndim))
            sharded = aval.with_sharding(ir.make_type_sharding(_mesh, parts))
            _check(primitive, example, [*avals[:i], sharded, *avals[i + 1 :]], plain)
    varying = [
        a.with_sharding(ir.TypeSharding(None, ((),) * a.ndim, frozenset("x"))) for a in avals
    ]
    if varying:
        _check(primitive, example, varying, plain)
    return None


def _check(
    primitive: ir.Primitive, example: Example, avals: Sequence[Any], plain: Sequence[Any]
) -> None:
    try:
        with ir.extend_axes(_mesh.shape.items()):
            result_avals = primitive.result_avals(tuple(avals), example.params)
    except ir.ShardingTypeError:
        return
    results = result_avals if primitive.multiple_results else [result_avals]
    for result, expected in zip(results, plain, strict=True):
        if getattr(result, "plain", result) is not expected:
            raise AssertionError(
                f"with operands of types {[a.str_short(True) for a in avals]} the result is "
                f"{result}, expected {expected} with any sharding"
            )
        for size, part in zip(result.shape, _parts(result), strict=True):
            if part and size % 2:
                raise AssertionError(f"{result} shards an indivisible dimension")


def _parts(aval: Any) -> Any:
    sharding = aval.type_sharding
    return ((),) * aval.ndim if sharding is None else sharding.parts


@in_example_precision
def check_unreduced(primitive: ir.Primitive, example: Example) -> str | None:
    """Check that the results of partial sums add up to the result of their sum.

    Each operand that may be unreduced is split into two terms; the others are not changed.

    Raises:
      AssertionError: if they do not.
    """
    avals: list[Any] = list(map(ir.get_aval, example.args))
    rule: ir.SumsOfBlock = ir.sum_rules.get(primitive)
    if callable(rule):
        rule = rule(*avals, **example.params)
    if rule is None or rule.terms == "none":
        return "it does not accept unreduced operands"
    if not all(isinstance(a, ir.ShapedArray) and ir.issubdtype(a.dtype, np.inexact) for a in avals):
        return "its operands are not floating-point numbers"
    positions = range(len(avals))
    by_rule = {"all": [positions], "one": [[i] for i in positions], "first": [[0]]}
    for chosen in by_rule[rule.terms]:
        whole, left, right = (list(example.args) for _ in range(3))
        for i in chosen:
            operand = np.asarray(example.args[i])
            # Small integers, whose sums are exact in every dtype.
            first = (np.arange(operand.size).reshape(operand.shape) % 5 - 2).astype(operand.dtype)
            second = np.flip(first).astype(operand.dtype)
            left[i], right[i], whole[i] = first, second, first + second
        # Some dtypes have no negative numbers, and give NaN for them in either order.
        with np.errstate(invalid="ignore"):
            _compare(primitive, example, [left, right, whole], f"operands {tuple(chosen)}")
    return None


def _compare(
    primitive: ir.Primitive, example: Example, operands: Sequence[Sequence[Any]], operand_names: str
) -> None:
    """Compare the sum of the terms' results with the result of their sum."""
    left, right, whole = (example.bind(primitive, *args) for args in operands)
    for one, other, total in zip(left, right, whole, strict=True):
        actual = np.asarray(one) + np.asarray(other)
        what = f"the sum of the results of terms in {operand_names}"
        assert_results_close(actual, np.asarray(total), what, 8.0)
