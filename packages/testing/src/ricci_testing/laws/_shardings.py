"""The law of sharding rules: they propagate the shardings of operands, or raise."""

from collections.abc import Sequence
from typing import Any, ClassVar

import ricci_ir as ir
from ricci_testing.examples._example import Example

from ._types import in_example_precision


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
