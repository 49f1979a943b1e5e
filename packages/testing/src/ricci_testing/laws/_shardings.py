"""The law of types that say how arrays lie on a mesh."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ricci_ir import (
    Primitive,
    ShapedArray,
    ShardingTypeError,
    TypeSharding,
    extend_axes,
    get_aval,
    make_type_sharding,
)
from ricci_testing.examples._example import Example

from ._types import in_its_precision


class _Mesh:
    """What rules read of a mesh."""

    shape: ClassVar[dict[str, int]] = {"x": 2}
    axis_names = ("x",)


_mesh = _Mesh()


@in_its_precision
def check_shardings(primitive: Primitive, example: Example) -> str | None:
    """A mesh axis that divides an operand divides the results, or is refused; shapes stay.

    Each dimension of each operand is divided in turn. So the rule of the primitive gives a factor
    to every dimension, and does not divide what cannot be divided.

    Raises:
      AssertionError: if the types of the results are others but for their shardings.
    """
    avals: list[Any] = list(map(get_aval, example.args))
    if example.axes or not all(isinstance(aval, ShapedArray) for aval in avals):
        return "its operands are members of named axes, or no arrays"
    plain = example.result_avals(primitive)
    for i, aval in enumerate(avals):
        for dim, size in enumerate(aval.shape):
            if size % 2 or not size:
                continue
            parts = tuple(("x",) if d == dim else () for d in range(aval.ndim))
            divided = aval.with_sharding(make_type_sharding(_mesh, parts))
            _check(primitive, example, [*avals[:i], divided, *avals[i + 1 :]], plain)
    varying = [a.with_sharding(TypeSharding(None, ((),) * a.ndim, frozenset("x"))) for a in avals]
    if varying:
        _check(primitive, example, varying, plain)
    return None


def _check(
    primitive: Primitive, example: Example, avals: Sequence[Any], plain: Sequence[Any]
) -> None:
    try:
        with extend_axes(_mesh.shape.items()):
            found = primitive.result_avals(tuple(avals), example.params)
    except ShardingTypeError:
        return
    results = found if primitive.multiple_results else [found]
    for result, expected in zip(results, plain, strict=True):
        if getattr(result, "plain", result) is not expected:
            raise AssertionError(
                f"with operands of types {[a.str_short(True) for a in avals]} the result is "
                f"{result}, which is another type than {expected}"
            )
        for size, part in zip(result.shape, _parts(result), strict=True):
            if part and size % 2:
                raise AssertionError(f"{result} divides a dimension that cannot be divided")


def _parts(aval: Any) -> Any:
    sharding = aval.type_sharding
    return ((),) * aval.ndim if sharding is None else sharding.parts
